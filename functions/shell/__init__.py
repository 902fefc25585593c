"""Command lines, read as a shell reads them."""

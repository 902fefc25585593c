"""What rules need of texts."""

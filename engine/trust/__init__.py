"""What of a file that came from elsewhere may act."""

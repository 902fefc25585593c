"""What is done with whole databases, with many of them at once."""

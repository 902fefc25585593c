"""What a model answered, read into commands, and written as them."""

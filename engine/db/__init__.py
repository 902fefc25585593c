"""The file: opening it, its connections, statements, and the threads that share them."""

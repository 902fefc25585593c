"""Skills: read from folders, archives and addresses, and changed."""

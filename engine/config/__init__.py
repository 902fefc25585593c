"""Settings, keys and the user's own folders."""

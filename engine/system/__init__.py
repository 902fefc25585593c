"""What the rest stands on: files on disk, places, processes, secrets, waiting."""

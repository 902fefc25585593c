"""The schema of a file: what a build consists of, made anew, migrated and compared."""

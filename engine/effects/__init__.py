"""Performs effects: writes and removes files, runs processes."""

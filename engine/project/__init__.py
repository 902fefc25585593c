"""A project's folder and its files."""

"""The Python API: open a file, start and follow runs, decide on proposals, query."""

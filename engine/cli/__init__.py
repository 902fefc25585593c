"""The command line: its tree, its words and options, and the files that it means."""

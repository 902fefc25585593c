"""Commands of the command line, in the groups of its help."""

"""The commands of the group Decide, and those below `engine allow`."""

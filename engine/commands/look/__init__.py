"""The commands of the group Look, and those below `engine runs`."""

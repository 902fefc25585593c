"""The commands of the group Look closer."""

"""The commands of the group Automate and serve."""

"""The commands of the group Entries and files."""

"""The commands of the group Knowledge and tools."""

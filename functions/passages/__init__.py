"""The passages of files that may answer a question."""

"""Edits of a text in every notation that models write."""

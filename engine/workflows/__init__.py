"""Workflows: found, read, started and drawn."""

"""Patterns and queries over paths and texts, within limits of time and memory."""

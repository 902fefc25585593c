"""Workflows: their texts, and the graph of their steps."""

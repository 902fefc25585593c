"""Measurements of the engine: `python -m tests.bench`."""

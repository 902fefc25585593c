"""Mutated answers of models against the parser: `python -m tests.fuzz --count 500000`."""

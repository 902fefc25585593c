"""Tools for models that are made of Python functions."""

"""Runs that leave their file: a run as a text, taken from one file and put into another."""

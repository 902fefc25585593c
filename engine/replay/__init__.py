"""Runs that are run again from their record, and how they differ from it."""

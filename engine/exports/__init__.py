"""Exports: the people's views as tables for other programs, as CSV, Parquet or a DuckDB file."""

"""One question over many engine files: their views as one table each, answered by DuckDB of the extra `export`."""

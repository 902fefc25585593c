"""Reports: a run for a person to read and keep, as Markdown, HTML or PDF."""

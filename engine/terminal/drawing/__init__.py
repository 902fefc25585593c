"""Draws Markdown, code, diffs and what a run does as lines for a terminal: texts in, lines out."""

"""Jinja templates: packets, sections, tool documents, personas."""

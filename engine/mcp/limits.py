"""The limits of what a server may send. It is a stranger's program: no list, message, text or time of it is without end.

spec: @mcp_limits
"""

from __future__ import annotations

MESSAGE_BYTES = 8_000_000
"""One message of a server."""
STREAM_BYTES = 256_000_000
"""All that a server sends in answer to one HTTP request, in events."""
FLOOD_MESSAGES = 5_000
FLOOD_SECONDS = 10.0
"""More messages that nobody asked for within this time end the connection."""
MOST_TOOLS = 2_000
"""Tools of one server; the rest is left out."""
MOST_ITEMS = 5_000
"""Resources, templates or prompts of one server."""
MOST_PAGES = 200
DEFINITION_CHARACTERS = 8_000
"""What a model is told of one tool, with its schema."""
DESCRIPTION_CHARACTERS = 2_000
MEANING_CHARACTERS = 500
ARGUMENT_CHARACTERS = 300
"""The description of one argument."""
SCHEMA_LEVELS = 8
SCHEMA_VALUES = 64
"""The values of an enumeration, and the properties of one object in a schema."""
NAME_CHARACTERS = 128
"""A name of a tool or prompt; one that is longer, or not of one line, is left out."""
LOG_LINES = 200
LOG_CHARACTERS = 500
"""What is kept of the log of a server while a run is driven: so many lines, each cut."""
STDERR_LINES = 20
PICTURE_BYTES = 5_000_000

"""How texts of models, files and processes are shown to a client.

What a person decides by is drawn: what would not be seen as itself is an escape (`engine.display.escapes`). In prose only
what controls a terminal is.
"""

from __future__ import annotations

import re

from acp import schema

from engine.display.escapes import drawn

MOST_OUTPUT = 4_000
"""Characters of an output that are shown, the last ones."""
MOST_TEXT = 8_000
"""Characters of any other text that are shown, the first ones."""
_CONTROLS = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x9f]")
_TICKS = re.compile("`+")


def prose(text: str) -> str:
    """What a model says, without what controls a terminal."""
    return _CONTROLS.sub(lambda found: drawn(found[0]), text.replace("\r\n", "\n"))


def title(text: str, most: int = 200) -> str:
    """The first line of a text, drawn, at most `most` characters of it."""
    first, _, rest = drawn(text.strip("\n")).partition("\n")
    return f"{first[: most - 1]}…" if len(first) > most else first + (" …" if rest else "")


def cut(text: str, most: int = MOST_TEXT) -> str:
    """The beginning of a text, and how much is left out."""
    return text if len(text) <= most else f"{text[:most]}\n… {len(text) - most:,} characters more"


def end_of(text: str, most: int = MOST_OUTPUT) -> str:
    """The end of an output, and how much is left out."""
    return text if len(text) <= most else f"… {len(text) - most:,} characters before\n{text[-most:]}"


def fenced(text: str, kind: str = "") -> str:
    """A text in a block of code that it does not contain the end of."""
    fence = "`" * max([3, *(len(ticks) + 1 for ticks in _TICKS.findall(text))])
    return f"{fence}{kind}\n{text.strip(chr(10))}\n{fence}"


def text_content(text: str) -> schema.ContentToolCallContent:
    """A text as content of a tool call."""
    return schema.ContentToolCallContent(type="content", content=schema.TextContentBlock(type="text", text=text))

"""Long texts in pieces, so that all of them can be found: each piece is a few pages, and ends where a line ends."""

from __future__ import annotations

from engine.functions.compact import to_json

PIECE = 4_000
"""How many characters a piece has at most."""
MOST_PIECES = 100
"""How many pieces of a text are made, from its beginning."""


def text_pieces(text: str | None) -> str | None:
    """The pieces of a text as a JSON array of [line, text], the line from 1; a line that is too long is cut."""
    if text is None:
        return None
    pieces: list[list[int | str]] = []
    start, line = 0, 1
    while (start < len(text) or not pieces) and len(pieces) < MOST_PIECES:
        end = start + PIECE
        if end < len(text):
            end = text.rfind("\n", start, end) + 1 or end
        piece = text[start:end]
        pieces.append([line, piece])
        line += piece.count("\n")
        start = end
    return to_json(pieces)

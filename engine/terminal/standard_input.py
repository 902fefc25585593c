"""Reads the text that is piped to `engine run` and joins its prompt, and the one that `engine entry set` writes."""

from __future__ import annotations

import os
import select
import stat
import sys
from pathlib import Path

MOST_BYTES = 1_000_000
"""More is refused: a file is the place for it."""
NOTICE_S, PATIENCE_S = 1.0, 10.0
"""How long a pipe may say nothing until a line tells of it, and in all: a script may have inherited one."""


def piped_text(wanted: bool | None) -> str:
    """The text on stdin where that is a pipe or a regular file, else ''. `wanted` False reads nothing, True waits for ever.

    Where nothing comes through a pipe within 10 s, a line says so and '' is returned; what has begun is read to its end.
    Raises `Overflow` (413) for more than a million bytes, `EngineError` (415) for what is no text.
    """
    from engine.errors import Overflow

    number = None if wanted is False else descriptor()
    if number is None or not (wanted or _speaks(number)):
        return ""
    data = b""
    while piece := os.read(number, 65_536):
        data += piece
        if len(data) > MOST_BYTES:
            raise Overflow(
                f"stdin: is longer than {MOST_BYTES:,} bytes; save it to a file, and name the file in the prompt"
            )
    return _decoded(data, "utf-8-sig", "stdin: is not UTF-8 text; convert it, or say --no-stdin")


def given_text(file: Path | None, most: int) -> str:
    """The text of `file`, as it is; without one that on stdin, which is waited for.

    Raises `Overflow` (413) for more than `most` bytes, `EngineError` (415) for what is no text, `ValidationError` (400)
    where nothing comes on stdin: the program that was to write it may have failed.
    """
    from engine.errors import Overflow, ValidationError

    name = "stdin" if file is None else str(file)
    if file is not None:
        with file.open("rb") as opened:
            data = opened.read(most + 1)
    elif hasattr(sys.stdin, "buffer"):
        data = sys.stdin.buffer.read(most + 1)
    else:
        data = sys.stdin.read().encode()
    if len(data) > most:
        raise Overflow(f"{name}: is longer than {most:,} bytes, the setting file_max_bytes")
    if not data and file is None:
        raise ValidationError('stdin: is empty, so nothing was written; for an empty text give "" as TEXT')
    return _decoded(data, "utf-8", f"{name}: is not UTF-8 text; convert it first")


def _decoded(data: bytes, encoding: str, refusal: str) -> str:
    """The text of `data`; raises `EngineError` (415) with `refusal` for what is none."""
    from engine.errors import EngineError

    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise EngineError(refusal, 415)
    return text


def descriptor() -> int | None:
    """The number of stdin where it is a pipe, a socket or a regular file."""
    try:
        number = sys.stdin.fileno()
        mode = os.fstat(number).st_mode
    except (OSError, ValueError):  # closed, or a text that a test gives
        return None
    return number if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISREG(mode) else None


def _speaks(number: int) -> bool:
    """Whether something, or the end, comes within the time that a pipe has."""
    from .printing import say

    if select.select([number], [], [], NOTICE_S)[0]:
        return True
    say("engine: waiting for text from the pipe; use --no-stdin to ignore it", dim=True)
    if select.select([number], [], [], PATIENCE_S - NOTICE_S)[0]:
        return True
    say(
        f"engine: no text came from the pipe within {PATIENCE_S:g} s, so stdin is ignored; use --stdin to wait for its end",
        "yellow",
    )
    return False

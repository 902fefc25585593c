"""A quirk of a provider's stream: the frames that are sent, and the turn that they mean."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

Calls = tuple[tuple[str, Any], ...]
GET_A: tuple[str, Any] = ("get", {"path": "a.txt"})
GET_B: tuple[str, Any] = ("get", {"path": "b.txt"})
UPDATE = '<update status="200">Done é 😀.</update>'


@dataclass(frozen=True)
class Turn:
    """What an answer means: `usage` is prompt, cached, completion and reasoning tokens; `error` is what its message has."""

    text: str = ""
    thoughts: str = ""
    calls: Calls = ()
    usage: tuple[int | None, int | None, int | None, int | None] = (None, None, None, None)
    cost: float | None = None
    ended: str = "stop"
    error: str = ""
    category: str = ""


@dataclass(frozen=True)
class Quirk:
    """A quirk with the frames that are sent for it. `kind` is the media type."""

    name: str
    frames: tuple[str | bytes, ...]
    turn: Turn
    format: str = "chat"
    kind: str | None = "text/event-stream"
    is_bytes: bool = False
    """Whether the quirk is in the bytes of its lines, so that these are not to be changed."""


A, B = json.dumps(GET_A[1]), json.dumps(GET_B[1])
PLAIN = Turn("Hello", usage=(10, 0, 4, 0))
CUT_ESCAPE = '{"path": "caf\\u00e9 \\"x\\" \\ud83d\\ude00\\n.txt"}'
CUTS = [CUT_ESCAPE[:16], CUT_ESCAPE[16:22], CUT_ESCAPE[22:30], CUT_ESCAPE[30:36], CUT_ESCAPE[36:]]
CUT_CALL = (("get", {"path": 'café "x" 😀\n.txt'}),)


def raw(quirk: Quirk) -> bytes:
    """All bytes of a quirk."""
    return b"".join(each.encode() if isinstance(each, str) else each for each in quirk.frames)

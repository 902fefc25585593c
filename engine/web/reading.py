"""Makes text of a fetched page, in a process of its own that has limits of time and memory and can be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.system.installing import how_to_install

from .failures import WebFailure
from .fetching import Answer
from .network import Deadline

_PROGRAM = Path(__file__).parent / "reading_process.py"
_NEEDED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_MEMORY_BYTES = 2_000_000_000
_LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True)
class Page:
    """The text of a page; its title in one line and its date as YYYY-MM-DD, None where they are unknown."""

    text: str
    title: str | None
    date: str | None


def read(answer: Answer, deadline: Deadline, size: int) -> Page:
    """The text of what was fetched, at most `size` bytes of it.

    Raises `WebFailure` where it has none, and where that takes too long or too much memory.
    """
    too_large = WebFailure("overflow", f"the text of {answer.url} has more than {size} bytes (setting web_max_bytes)")
    reply = _ask(answer, deadline, size)
    if reply.get("large"):
        raise too_large
    if failure := reply.get("failure"):
        hint = f": {how_to_install(extra)}" if (extra := reply.get("extra")) else ""
        raise WebFailure("unsupported", f"{answer.url} {failure}{hint}")
    text = (reply["text"] or "").strip()
    if not text:
        raise WebFailure(
            "unsupported", f"{answer.url} has no text; perhaps scripts make its text, but scripts are not run"
        )
    if len(text.encode(errors="replace")) > size:
        raise too_large
    return Page(text.encode(errors="replace").decode(), one_line(reply["title"]), one_line(reply["date"]))


def one_line(text: object) -> str | None:
    """A title in one line of at most 200 characters, None for an empty one."""
    words = " ".join(text.split()) if isinstance(text, str) else ""
    shown = "".join(letter for letter in words if letter.isprintable())
    return shown[:_LONGEST_TITLE] or None


def _ask(answer: Answer, deadline: Deadline, size: int) -> dict[str, Any]:
    folders = [path for path in sys.path if os.path.isabs(path)]
    limits = json.dumps([folders, _MEMORY_BYTES, max(1, round(deadline.seconds)), size])
    request = {"content_type": answer.content_type, "charset": answer.charset, "url": answer.url}
    with subprocess.Popen(
        [sys.executable or "", "-I", str(_PROGRAM), limits],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in _NEEDED if name in os.environ},
        cwd="/",
        start_new_session=True,  # Ctrl-C of a terminal is for the engine alone
    ) as process:
        try:
            given: bytes | None = json.dumps(request).encode() + b"\n" + (answer.body or b"")
            while True:
                try:
                    said, _ = process.communicate(given, timeout=deadline.tick())
                    break
                except subprocess.TimeoutExpired:
                    given = None
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        return {"failure": "cannot be read: the program that reads it ended early"}
    reply: dict[str, Any] = json.loads(said)
    return reply

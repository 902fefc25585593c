"""The messages of git commits, made of prompts."""

from __future__ import annotations

from .terminals import terminal_text

_SUBJECT = 72
_MOST = 2_000


def commit_message(prompt: str | None, run: str | None) -> str | None:
    """The message of a commit for a prompt: its first line as the subject, all of it below where that is not all."""
    if prompt is None or run is None:
        return None
    text = "".join(each if each.isprintable() or each == "\n" else " " for each in terminal_text(prompt)).strip()
    first = " ".join(next((line for line in text.split("\n") if line.strip()), "edit").split())
    subject = first if len(first) <= _SUBJECT else f"{_cut(first)}…"
    body = "" if " ".join(text.split()) == subject else f"\n\n{text[:_MOST].rstrip()}"
    return f"{subject}{body}\n\nEngine-Run: {run}\n"


def _cut(line: str) -> str:
    """The beginning of a line that is too long, up to the end of a word if there is one."""
    start = line[: _SUBJECT - 1]
    return start.rsplit(" ", 1)[0] if " " in start[20:] else start

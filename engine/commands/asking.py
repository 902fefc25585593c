"""Asks the person at the terminal about the proposals of a run.

spec: @asking
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import typer

from .colouring import coloured, line_painted
from .drawing import drawn_diff, scripts_mixed
from .exits import FAILED, INTERRUPTED
from .hiding import hidden
from .piped import descriptor
from .printing import paint, say, visible
from .screen import screen, show_lines
from .wrapping import wrapped

if TYPE_CHECKING:
    from engine.api.database import Database


def at_terminal() -> bool:
    """Whether a person can be asked: stdin and stderr are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def terminal() -> TextIO | None:
    """Where a person's answers are read: stdin, or the terminal itself where stdin is a pipe or a file; None without one."""
    if not sys.stderr.isatty():
        return None
    if sys.stdin.isatty():
        return sys.stdin
    if descriptor() is None:
        return None
    try:
        opened = open("/dev/tty", encoding=sys.stdin.encoding)  # noqa: SIM115 - read as long as the process lives
        return opened if os.tcgetpgrp(opened.fileno()) == os.getpgrp() else None
    except OSError:
        return None


def asked(source: TextIO, question: str) -> str:
    """The line that the person types behind a question, '' at the end of the input. The question goes to stderr: stdout
    is for what a command prints.
    """
    sys.stderr.write(paint(hidden(question), "yellow", stream=sys.stderr))
    sys.stderr.flush()
    line = source.readline()
    if not line.endswith("\n"):
        say()  # nobody typed the end of the line
    return line


def asked_once(source: TextIO, question: str) -> str:
    """The answer to a question outside of a run, in small letters and without blanks. Ctrl-C ends the command with 130."""
    try:
        return asked(source, question).strip().lower()
    except KeyboardInterrupt:
        say()
        raise typer.Exit(INTERRUPTED) from None


def says_yes(question: str) -> bool:
    """Whether the person at the terminal says yes; anything else is a no."""
    return asked_once(sys.stdin, f"{question} [y/N]: ") in {"y", "yes"}


def end_unless_yes(question: str) -> None:
    """Go on where the person at the terminal says yes; else end the command with 1."""
    if not says_yes(question):
        refuse()


def refuse() -> NoReturn:
    """End a command that the person did not want."""
    say("nothing was changed", dim=True)
    raise typer.Exit(FAILED)


def user_name() -> str:
    """The name of the person at the terminal, as the system knows it; 'client' where it knows none."""
    from getpass import getuser

    try:
        return getuser() or "client"
    except (KeyError, OSError, ImportError):
        return "client"


class AcceptAll:
    """Accepts every proposal that yolo accepts: no question, and nothing that a policy asks about."""

    decided_by = "yolo"

    def __init__(self, db: Database) -> None:
        self._db = db

    def __call__(self, proposal: Mapping[str, Any]) -> bool | None:
        """Decide on one proposal."""
        found = self._db.value("select 1 from _yolo_proposals where proposal_id = ?", (proposal["proposal_id"],))
        return True if found else None


def show_proposal(proposal: Mapping[str, Any], most: int | None = None) -> None:
    """Show a proposal on stderr: its action, then the coloured diff of a change, or the text of a command or question.

    Of more than `most` lines of the screen the first are shown, and how many follow.
    """
    lines = proposal_lines(proposal)
    if proposal["tree"]:
        say(visible(proposal["tree"]), dim=True)
    if proposal["kind"] == "question":
        size = screen()
        say("\n".join(wrapped("\n".join(lines), size and size[0], f"{proposal['action']}: ", "  ")), "cyan")
    elif proposal["kind"] == "process":
        until = ", kept after the task has ended" if proposal["kept"] else ", until the task ends"
        how = f", in the background{until}" if proposal["background"] else ""
        say(f"{proposal['action']}{how}:", "cyan")
        show_lines([f"$ {line}" for line in lines], partial(map, _cyan), lambda rest, _: _cyan(rest), most=most)
    else:
        say(f"{proposal['action']} {visible(proposal['target'] or '')}  {changed_lines(proposal)}".rstrip(), "cyan")
        show_lines(lines, partial(coloured, target=proposal["target"]), line_painted, most=most)
    show_instructions([proposal])
    for note in proposal_notes(proposal):
        say(f"  {note}", "yellow")


def show_instructions(proposals: Sequence[Mapping[str, Any]]) -> None:
    """Show on stderr which AGENTS.md hold for the files of some proposals, if any do."""
    for line in instruction_lines(proposals):
        say(f"  {line}", dim=True)


def changed_lines(proposal: Mapping[str, Any]) -> str:
    """How many lines a change of a file adds and removes, as '+3 -1'; empty for what is no such change."""
    if proposal["kind"] != "file_write":
        return ""
    lines = (proposal["detail"] or "").split("\n")
    # the two lines of the head are none of the text, which may begin like them
    marks = [line[:1] for line in (lines[2:] if lines[0].startswith("--- ") else lines)]
    return f"+{marks.count('+')} -{marks.count('-')}"


def _cyan(text: str) -> str:
    return paint(text, "cyan", stream=sys.stderr)


def proposal_lines(proposal: Mapping[str, Any]) -> list[str]:
    """What a proposal would do, as a person may read it line by line: a diff, a command line or a question."""
    detail = proposal["detail"] or ""
    return drawn_diff(detail) if proposal["kind"] == "file_write" else visible(detail).split("\n")


def instruction_lines(proposals: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line with the AGENTS.md that hold for the files of some proposals, the innermost first; none without any."""
    paths = [path for each in proposals for path in json.loads(each["instructions"] or "[]")]
    inner_first = sorted(dict.fromkeys(paths), key=lambda path: -path.count("/"))
    return [f"instructions: {', '.join(map(visible, inner_first))}"] if paths else []


def proposal_notes(proposal: Mapping[str, Any]) -> list[str]:
    """What a person should know of a command line or a path before deciding."""
    text = proposal["detail"] if proposal["kind"] == "process" else proposal["target"]
    note = None if proposal["kind"] == "question" else scripts_mixed(text or "")
    return [] if note is None else [f"note: {note}"]


def options_of(proposal: Mapping[str, Any]) -> list[str]:
    """The answers that a question suggests; none for another proposal."""
    return [str(option) for option in json.loads(proposal["options"] or "[]")]


def option_lines(proposal: Mapping[str, Any]) -> list[str]:
    """A line with the answers that a question suggests; none without any."""
    options = options_of(proposal)
    return [f"options: {visible('; '.join(options))}"] if options else []

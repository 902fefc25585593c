"""Shows proposals at the terminal: the diff of a change, a command line, a question."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from engine.display.escapes import drawn_diff
from engine.display.proposals import options_of, proposal_notes

from .colours import coloured, line_painted
from .printing import paint, say, visible
from .screen import screen, show_lines
from .wrapping import wrapped

if TYPE_CHECKING:
    from engine.api.database import Database


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


def option_lines(proposal: Mapping[str, Any]) -> list[str]:
    """A line with the answers that a question suggests; none without any."""
    options = options_of(proposal)
    return [f"options: {visible('; '.join(options))}"] if options else []

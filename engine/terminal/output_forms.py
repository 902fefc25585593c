"""The forms in which `engine run` and `engine resume` print: text, one object of JSON, or each event as a line.

spec: @run_output
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from engine.terminal.event_lines import EventLines

_TEXT, _JSON, _EVENTS = "text", "json", "stream-json"


def output_form(form: str, as_json: bool) -> tuple[EventLines | None, bool]:
    """What prints each event if `form` (--output) asks for them, and whether the result is printed as JSON."""
    if form not in (_TEXT, _JSON, _EVENTS) or (as_json and form != _TEXT):
        raise typer.BadParameter("give text, json or stream-json, or --json alone", param_hint="--output")
    if form != _EVENTS:
        return None, as_json or form == _JSON
    from engine.terminal.event_lines import EventLines

    return EventLines(), False

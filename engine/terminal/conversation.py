"""Drives a run that gets its prompts and decisions as lines on stdin, until the input is over.

spec: @run_input
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .driver import drive_run, quieten_libraries
from .exit_codes import INTERRUPTED, exit_code
from .interrupt import Interrupt
from .jobs import ending_with_an_error, stay_attached

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.processes.kept_output import KeptOutput

    from .event_lines import EventLines
    from .input_lines import InputLines


def converse(
    db: Database,
    run: str,
    loop: int,
    inputs: InputLines,
    lines: EventLines,
    prompt: Callable[[str], int],
    *,
    given: Path | None,
    yolo: bool,
    kept: KeptOutput | None,
    wait: bool,
) -> None:
    """Drive prompt number `loop`, then those of `inputs`, which `prompt` gives to the run; exit as the last one ended."""
    quieten_libraries()
    with Interrupt() as interrupt, ending_with_an_error(db):
        inputs.serve(db, run)
        while True:
            lines.begin(db, run, loop)
            status = _drive(db, run, loop, inputs, interrupt, lines, yolo=yolo, kept=kept)
            if interrupt.struck or not inputs.wait(lambda: inputs.prompts or interrupt.struck) or interrupt.struck:
                break
            loop = prompt(inputs.prompts.popleft())
        stay_attached(db, given, interrupt, wait=wait)
    raise typer.Exit(INTERRUPTED if interrupt.struck else status)


def _drive(
    db: Database,
    run: str,
    loop: int,
    inputs: InputLines,
    interrupt: Interrupt,
    lines: EventLines,
    *,
    yolo: bool,
    kept: KeptOutput | None,
) -> int:
    """Drive a prompt until it has ended, waiting for the decisions of the input; returns its exit code."""
    from engine.driving import results, runs

    def goes_on() -> bool:
        return interrupt.struck or runs.goes_on(db, run) or results.result(db, run, loop).status != 202

    while True:
        drive_run(db, run, interrupt, yolo=yolo, kept=kept, tells=lines, asks=False)
        result = results.result(db, run, loop)
        if result.status != 202 or not inputs.wait(goes_on) or interrupt.struck:
            break
    lines.end(result := results.result(db, run, loop))
    return exit_code(result.status, accepted=result.accepted)

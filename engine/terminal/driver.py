"""Drives a run from the terminal: shows its progress, asks about proposals, stops on a signal, prints the answer."""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import typer

from engine.display.demo_mode import hidden
from engine.display.statuses import words_for_end
from engine.functions.counts import counted

from .approvals import Asker
from .exit_codes import INTERRUPTED, exit_code
from .hints import db_flag
from .interrupt import Interrupt
from .jobs import ending_with_an_error, stay_attached
from .narrating import Narrates, here, narrator
from .next_commands import QUEUED, say_how_to_continue, say_how_to_go_on, say_how_to_resolve
from .notifying import LONG_S, notify
from .printing import costs, one_line, print_json_text, print_text, say, visible
from .proposals import AcceptAll
from .questions import terminal
from .wrapping import wrapped

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.contract import OnProposal, Result
    from engine.events import OnEvent
    from engine.processes.kept_output import KeptOutput

    from .event_lines import EventLines


def drive(
    db: Database,
    run: str,
    loop: int | None,
    *,
    given: Path | None,
    yolo: bool = False,
    as_json: bool = False,
    lines: EventLines | None = None,
    kept: KeptOutput | None = None,
    wait: bool = True,
) -> None:
    """Drive `run` until it ends, waits or is interrupted, print the result of its loop `loop`, and exit with its code.

    `given` is the --db of the command line; the commands that are shown while the run waits repeat it. `lines` get the
    events instead of a person, who is not asked then. `kept` is the file of --keep-output. Where commands in the background
    were kept, exit when they have ended, unless `wait` is False.
    """
    from engine.driving import results
    from engine.errors import EngineError, LeaseHeld

    quieten_libraries()
    say_whose_key(db, run)
    told: Narrates | None = None
    began = time.monotonic()
    with Interrupt() as interrupt, ending_with_an_error(db):
        try:
            if lines is None:
                told = narrator(db, run, keeps=sys.stdout.isatty() and not as_json)
                drive_run(db, run, interrupt, yolo=yolo, kept=kept, narrates=told)
            else:
                lines.begin(db, run, loop)
                drive_run(db, run, interrupt, yolo=yolo, kept=kept, tells=lines, asks=False)
        except LeaseHeld:
            status = loop and db.value(_STATUS, (run, loop))
            if not status:
                raise
            if status in _OPEN:
                print_result(db, results.result(db, run, loop), as_json, lines)
                takes = "runs this prompt next" if status == 100 else "runs this prompt now"
                shows = f"to see the result: engine log{db_flag(given)} {run}"
                say(f"another process works on {run} and {takes}; {shows}", "yellow")
                raise typer.Exit(exit_code(100)) from None
        except OSError as error:
            # with SIGHUP the terminal is gone, and cannot be written to
            if not interrupt.struck or error.errno not in (errno.EIO, errno.EPIPE):
                raise
        except EngineError as error:
            advice = f"to continue: engine resume{db_flag(given)} {run}"
            raise EngineError(f"{error.message}; {advice}", error.status) from error
        result = results.result(db, run, loop)
        if told is not None and time.monotonic() - began > LONG_S and not interrupt.struck:
            notify(db, f"{run}: has ended")
        print_result(db, result, as_json, lines, is_drawn=told is not None and told.has_drawn(result.answer))
        say_what_may_lack(db, run, loop)
        say_how_to_continue(db, run, loop, given)
        code = exit_code(result.status, accepted=result.accepted)
        if code == exit_code(202):
            if interrupt.struck:
                say_how_to_go_on(db, run, given)
                code = INTERRUPTED
            else:
                say_how_to_resolve(db, run, given)
        elif (left := db.value(QUEUED, (run,))) and not db.value(_DRIVEN, (run,)):
            say(
                f"{counted(left, 'prompt')} still queued; to run the next prompt: engine resume{db_flag(given)} {run}",
                "yellow",
            )
        stay_attached(db, given, interrupt, wait=wait)
    raise typer.Exit(code)


def drive_run(
    db: Database,
    run: str,
    interrupt: Interrupt,
    *,
    yolo: bool,
    kept: KeptOutput | None,
    narrates: Narrates | None = None,
    tells: OnEvent | None = None,
    asks: bool = True,
) -> None:
    """Drive `run`, show what it does and ask about its proposals; raises `LeaseHeld` (409) while another process does.

    `narrates` shows the events, or `tells` gets them. A person at the terminal decides if it `asks`.
    """
    from engine.driving import runs
    from engine.driving.lease import is_held
    from engine.errors import LeaseHeld

    with narrates or nullcontext():
        person = terminal() if asks and not yolo else None
        hide = narrates.hide if narrates else None
        decide: OnProposal | None = AcceptAll(db) if yolo else Asker(db, interrupt, person, hide) if person else None
        shown = interrupt.heeding(tells or narrates or _nothing)
        before = db.value("select coalesce(max(id), 0) from events")
        while True:
            try:
                runs.drive(db, run, on_event=shown, on_proposal=decide, on_driver=interrupt.take, kept=kept)
                break
            except LeaseHeld:
                if interrupt.struck or is_held(db, run):
                    raise
    say_retention(db, before)


def _nothing(_: object) -> None:
    """Nobody is told."""


def say_retention(db: Database, before: int) -> None:
    """Name the runs that the settings archive_idle_days and retention_days have archived or removed since an event."""
    query = "select detail from events where id > ? and kind = 'retention.applied'"
    for (detail,) in db.tuples(query, (before,)):
        told = json.loads(detail)
        for what, setting in (("archived", "archive_idle_days"), ("removed", "retention_days")):
            if told[what]:
                say(f"{what} as {setting} says: {one_line(', '.join(told[what]), 500)}", dim=True)


def quieten_libraries() -> None:
    """Keep what libraries log off the screen; warnings are off in the whole process."""
    import logging

    logging.lastResort = None  # it prints the records that no handler takes
    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())  # or it is told that there is no handler
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # else the library warns of each process that is started


def say_whose_key(db: Database, run: str) -> None:
    """Name the source of the key that the model of a run gets, unless that is the environment or the user's own store."""
    from engine.keys.providers import PROVIDERS

    query = "select coalesce(m.actual, c.model) from loop_list as c left join models as m on m.alias = c.model "
    actual = db.value(f"{query}where c.run = ? order by c.loop desc limit 1", (run,))
    provider = PROVIDERS.get(str(actual).partition("/")[0])
    if provider is None:
        return
    keys = db.keys_for(run)
    key = keys.find(provider)
    if key is not None and key.source not in ("environment", "user"):
        others = key.source != "named" and any(other.value != key.value for other in keys.all(provider))
        own = "; another key of yours is not used" if others else ""
        say(
            f"key of {provider.name}: {key.source} ({visible(key.place)}){own}",
            "yellow" if others else None,
            dim=not others,
        )
    if keys.unused_address(provider):
        say(f"{provider.url_variable} in .env is not used; set it in the environment", "yellow")
    for reason in keys.passed_over():
        say(visible(reason), "yellow")


def print_result(
    db: Database, result: Result, as_json: bool = False, lines: EventLines | None = None, *, is_drawn: bool = False
) -> None:
    """Print the answer on stdout, unless it `is_drawn` already, and on stderr how the prompt ended and what it took."""
    if lines is not None:
        lines.end(result)
    elif as_json:
        print_json_text(result.to_json())
    elif result.answer and result.status == 406:  # who reads stdout asked for an answer of a form
        say(visible(result.answer))
    elif result.answer and not is_drawn:
        print_answer(result.answer)
    end = one_line(words_for_end(db, result.status, result.reason), 300)
    tokens = f"{result.usage['prompt_tokens']:,} + {result.usage['completion_tokens']:,} tokens"
    colour = {0: "green", 6: "yellow"}.get(exit_code(result.status, accepted=result.accepted), "red")
    used = f"{counted(result.turns, 'turn')}, {tokens}, {costs(result.cost, result.tree_cost)}"
    told = f"{result.run}: {end} ({used})"
    width = get_terminal_size().columns if sys.stderr.isatty() else None
    for line in wrapped(told, width, "", "  "):
        say(line, colour)


def print_answer(text: str) -> None:
    """Print an answer on stdout: drawn as Markdown at a terminal, elsewhere as it is."""
    if not sys.stdout.isatty():
        print_text(text)
        return
    from .drawing.look import look_of
    from .drawing.markdown import markdown

    look = look_of(sys.stdout, here().width if sys.stderr.isatty() else get_terminal_size().columns)
    for line in markdown(hidden(text), look):
        typer.echo(look.ansi(line))


_OPEN = (100, 102)
_STATUS = "select l.status from runs as r join loops as l on l.run_id = r.id where r.alias = ? and l.sequence = ?"
_DRIVEN = "select 1 from runs as r join _leases_in_force as f on f.run_id = r.id where r.alias = ?"
_MAY_LACK = """
    select o.told
    from runs as r
    join loops as l on l.run_id = r.id
    join _open_answers as o on o.loop_id = l.id
    where r.alias = :run and l.sequence = coalesce(:loop, (select max(sequence) from loops where run_id = r.id))
"""


def say_what_may_lack(db: Database, run: str, loop: int | None) -> None:
    """Say so where nobody told whether the answer is whole."""
    if told := db.value(_MAY_LACK, {"run": run, "loop": loop}):
        say(told, "yellow")

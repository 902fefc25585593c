"""Starts, drives, aborts and forks runs, and decides on proposals. Each function writes to a door of the file."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from engine.contract import OnDriver, OnProposal, Options, Proposal, Result, Run, attributes_of, check_options
from engine.db.purging import apply_retention
from engine.errors import Conflict, NotFound, ValidationError
from engine.events import OnEvent
from engine.functions.counts import counted
from engine.processes import claims
from engine.project.root_names import note_root
from engine.threads.joining import expect_threads

from .loop import Driver
from .model_choice import check_effort, check_tokenizer, choose_model, sync_environment_models
from .run_names import free_name, words_of

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.handle import Handle
    from engine.processes.kept_output import KeptOutput


def prompt(
    db: Handle,
    text: str,
    run: str | None,
    options: Options,
    piped: str = "",
    *,
    claim: Callable[[str], None] | None = None,
) -> tuple[str, int]:
    """Give `text` to a run, a new one where `run` names none, without driving it; returns (run, loop sequence).

    `piped` is a text that the prompt is about: a part of it where it is short, else an entry that it names. `claim` gets the
    run in the transaction of the prompt: what it raises leaves nothing. Raises `NotFound` (404) for an unknown model or
    folder, `ValidationError` (400) for an empty prompt and for threads that the run could not join.
    """
    if not text.strip():
        raise ValidationError("the prompt is empty; say what to do")
    check_options(options)
    _check_name(run)
    root, parent = options.get("root"), options.get("fork")
    if root is not None:
        from engine.project.workspace import Workspace

        Workspace(Path(root))
    options = with_sandbox(options)
    # before the turn to write: a server may be asked for the names of its models, and a tokenizer is loaded
    sync_environment_models(db)
    model = choose_model(db, parent or run, db.app_models.name(options.get("model")), root)
    check_tokenizer(db)
    check_effort(db, parent or run, model, options.get("effort"), root)
    if judge := db.app_models.name(options.get("accept_model")):
        options = {**options, "accept_model": choose_model(db, parent or run, judge, root)}
    attributes = as_json(attributes_of({**options, "model": model}))
    with db.savepoint():
        alias = run or free_name(db, words_of(text))
        path = db.value("select path from _next_piped_text where token_count(?) > most_tokens", (piped,))
        body = text if not piped.strip() else joined(text, piped, path)
        db.call_door("verb_set", run=alias, path=f"run://{alias}", body=body, attributes=attributes)
        if path is not None:
            db.insert("verb_set", run=alias, path=path, body=piped)
        note_root(db, alias, root)
        db.take_in(alias)
        expect_threads(db, alias)
        if claim is not None:
            claim(alias)
        loop = db.value(
            "select max(l.sequence) from loops as l join runs as r on r.id = l.run_id where r.alias = ?",
            (alias,),
        )
    return alias, int(loop)


def make(db: Handle, run: str | None, options: Options) -> str:
    """Make a run that has no prompt yet, with the options of a run (not those of a prompt); returns its name.

    Raises what `prompt` raises, and `Conflict` (409) for a name that a run has.
    """
    check_options(options)
    _check_name(run)
    root = options.get("root")
    if root is not None:
        from engine.project.workspace import Workspace

        Workspace(Path(root))
    sync_environment_models(db)
    model = choose_model(db, None, db.app_models.name(options.get("model")), root)
    attributes = attributes_of({**options, "model": model})
    del attributes["mode"]  # a prompt has one
    with db.transaction():
        alias = run or free_name(db, "run")
        if db.value("select 1 from runs where alias = ?", (alias,)):
            raise Conflict(f"run {alias!r}: is there already; choose another name")
        db.call_door("verb_set", run=alias, path=f"run://{alias}", attributes=as_json(attributes))
        note_root(db, alias, root)
    return alias


def joined(text: str, piped: str, path: str | None) -> str:
    """A prompt with the text that was piped to it, or with the path of the entry that holds it."""
    if path is not None:
        lines = piped.count("\n") + (not piped.endswith("\n"))
        return f"{text}\n\nPiped in: {path} ({counted(lines, 'line')})"
    fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall("`+", piped)), 3)
    return f"{text}\n\nPiped in:\n{fence}\n{piped.removesuffix(chr(10))}\n{fence}"


def with_sandbox(options: Options) -> Options:
    """The options with the sandbox that the environment chooses where they name none.

    Raises `ValidationError` (400) for a sandbox or a domain that is none, `SandboxMissing` (403) where one is required and
    there is none.
    """
    if not (options.get("sandbox") or options.get("network") or os.environ.get("ENGINE_SANDBOX")):
        return options
    from engine import sandbox

    choice = sandbox.check_choice(options.get("sandbox"))
    sandbox.check_network(options.get("network"))
    filtered = options.get("network") not in (None, "", "all")
    if choice == "off" and options.get("network"):
        raise ValidationError(
            "network: without a sandbox shell commands reach everything; leave it out, or sandbox off"
        )
    if filtered or choice not in (None, "auto", "off"):
        choice = choice or "auto"
        found, reason = sandbox.find(choice)
        if found is None:
            raise sandbox.SandboxMissing(f"sandbox {choice!r}: there is none ({reason}); install it, or choose auto")
    return {**options, "sandbox": choice}


def drive(
    db: Handle,
    run: str,
    *,
    on_event: OnEvent | None = None,
    on_proposal: OnProposal | None = None,
    on_driver: OnDriver | None = None,
    kept: KeptOutput | None = None,
) -> None:
    """Drive `run` until it ends or waits; see `Database.run` for the callbacks and `Driver.drive` for the errors.

    `kept` gets all that its commands print.
    """
    driver = Driver(db, run, on_event, on_proposal, kept)
    if on_driver:
        on_driver(driver)
    driver.drive()
    apply_retention(db)


def prompt_and_drive(
    db: Handle,
    text: str,
    run: str | None,
    options: Options,
    *,
    on_event: OnEvent | None = None,
    on_proposal: OnProposal | None = None,
    on_driver: OnDriver | None = None,
    kept: KeptOutput | None = None,
) -> tuple[str, int]:
    """`prompt`, then `drive`; returns (run, loop sequence). A prompt that cannot be driven is not stored.

    Raises what these do; `LeaseHeld` (409) while another process drives the run.
    """
    drivers: list[Driver] = []

    def claim(alias: str) -> None:
        drivers.append(Driver(db, alias, on_event, on_proposal, kept))
        drivers[0].claim()

    try:
        alias, loop = prompt(db, text, run, options, claim=claim)
        if on_driver:
            on_driver(drivers[0])
        drivers[0].drive()
    finally:
        for driver in drivers:
            driver.release()
    apply_retention(db)
    return alias, loop


def result(db: Handle, run: str, loop: int | None = None) -> Result:
    """The result of the loop with the sequence `loop`, by default the latest; raises `NotFound` (404) for an unknown run."""
    row = db.row(
        "select * from loop_results where run = ? and (? is null or loop = ?) order by loop desc limit 1",
        (run, loop, loop),
    )
    if row is None:
        count = run_row(db, run).loops
        which = "yet; 'engine run --run NAME PROMPT' gives it one" if loop is None else f"{loop}; it had {count}"
        raise NotFound(f"run {run!r}: has no prompt {which}")
    usage = {key: row[key] for key in ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")}
    accepted = None if row["accepted"] is None else bool(row["accepted"])
    return Result(
        run,
        row["status"],
        row["answer"] or "",
        row["turns"],
        usage,
        row["cost"],
        row["reason"],
        accepted,
        row["tree_cost"],
    )


def run_rows(db: Handle, limit: int | None = None) -> list[Run]:
    """The runs of the file, the newest first; at most `limit` of them."""
    if limit is not None and limit < 0:
        raise ValidationError(f"limit is {limit}; give 0 or more, or None for all")
    query = "select o.* from runs as r join run_overview as o on o.run = r.alias order by r.id desc limit ?"
    return [_run(row) for row in db.rows(query, (-1 if limit is None else limit,))]


def run_row(db: Handle, run: str) -> Run:
    """The run with this name; raises `NotFound` (404) for an unknown one."""
    row = db.row("select * from run_overview where run = ?", (run,))
    if row is None:
        raise NotFound(f"run {run!r}: there is no such run; see 'engine runs'")
    return _run(row)


def _run(row: Row) -> Run:
    return Run(**{**row, "labels": tuple(json.loads(row["labels"]))})


def proposals(db: Handle, run: str | None = None) -> list[Proposal]:
    """The open proposals of `run` and of those below it, or of all runs, the oldest first."""
    if run is not None:
        run_row(db, run)
    query = (
        "select * from open_proposals where ? is null or run in (select run from tree_runs where top = ?) "
        "order by proposal_id"
    )
    return [cast("Proposal", row) for row in db.rows(query, (run, run))]


def abort(db: Handle, run: str, reason: str = "aborted", loop: int | None = None) -> None:
    """End the active loop of `run` with status 499, and what it has kept; queued prompts stay. Raises `NotFound` (404).

    With `loop`, end that prompt alone, wherever it stands.
    """
    if loop is None:
        db.insert("verb_set", run=run, path=f"run://{run}", state="cancelled", outcome=reason)
    else:
        db.insert("end_prompt", run=run, loop=loop, reason=reason)


def extend(db: Handle, run: str, max_turns: int | None, max_seconds: float | None) -> None:
    """Give the latest prompt of `run`, which a limit has stopped, once more with these limits; without one do nothing.

    Raises `NotFound` (404) for an unknown run, `Conflict` (409) where no limit has stopped its latest prompt.
    """
    if max_turns is not None or max_seconds is not None:
        db.insert("extend_prompt", run=run, max_turns=max_turns, max_seconds=max_seconds)


def resolve(
    db: Handle,
    run: str,
    path: str | None,
    accept: bool,
    *,
    body: str | None = None,
    reason: str | None = None,
    by: str = "client",
    claimant: str | None = None,
) -> None:
    """Accept or reject the open proposals of a run and of those below it: under `path`, or all where `path` is None.

    `body` is the answer to a question, or a text that replaces the proposed one; `by` says who decided, such as the name
    of a person. The client with the token `claimant` carries out the commands that it accepts. Raises `NotFound` (404) where
    nothing is proposed, `ValidationError` (400) for an empty name, for a question without an answer, and for a text where
    none is taken.
    """
    if not by.strip():
        raise ValidationError("the name of who decides is empty; leave it out or give one")
    db.insert(
        "resolve_tree",
        run=run,
        path=path,
        decision="accept" if accept else "reject",
        body=body,
        reason=reason,
        decided_by=by,
        **({} if claimant is None else claims.columns(claimant)),
    )


def fork(db: Handle, parent: str, alias: str | None = None, at: int | None = None) -> str:
    """Fork a run as it is now, or as it was when its turn `at` was sent; return the child's name. No text is copied."""
    _check_name(alias)
    attributes = {key: value for key, value in (("fork", parent), ("at", at)) if value is not None}
    with db.transaction():
        child = alias or free_name(db, f"{parent[:150]}-fork")
        db.insert("verb_set", run=child, path=f"run://{child}", attributes=json.dumps(attributes))
    return child


def rename(db: Handle, run: str, name: str) -> None:
    """Give a run another name; raises `NotFound` (404), `ValidationError` (400) for what is no name, and `Conflict` (409)
    for one that is taken or while the run or one below it is driven.
    """
    db.insert("rename_run", run=run, name=name)


def describe(
    db: Handle,
    run: str,
    title: str | None = None,
    labels: Sequence[str] = (),
    drop_labels: Sequence[str] = (),
    archived: bool | None = None,
) -> None:
    """Change a run's title (one line; "" is that of its first prompt again), its labels, and whether lists leave it out."""
    db.insert(
        "describe_run",
        run=run,
        title=title,
        add_labels=json.dumps(list(labels)),
        drop_labels=json.dumps(list(drop_labels)),
        archived=None if archived is None else int(archived),
    )


def _check_name(run: str | None) -> None:
    """Raise `ValidationError` (400) for a name that SQLite would cut, and for an empty one, which names no run."""
    if run is not None and "\0" in run:
        raise ValidationError(f"run {run!r}: a name holds no NUL")
    if run == "":
        raise ValidationError("the name of the run is empty; give one, or leave it out for a new run")


def configure(db: Handle, run: str, **values: Any) -> None:
    """Change model, temperature, effort or context_limit (tokens) of a run, unless None; raises `NotFound` (404)."""
    given = {key: value for key, value in values.items() if value is not None}
    with db.transaction():
        if not db.value("select 1 from runs where alias = ?", (run,)):
            raise NotFound(f"run {run!r}: there is no such run; see 'engine runs'")
        db.insert("verb_set", run=run, path=f"run://{run}", attributes=as_json(given))


def as_json(attributes: dict[str, Any]) -> str:
    """Attributes of a run as JSON. Raises `ValidationError` (400) for a number that is not finite."""
    try:
        return json.dumps(attributes, allow_nan=False)
    except ValueError:
        wrong = [key for key, value in attributes.items() if isinstance(value, float) and not math.isfinite(value)]
        raise ValidationError(f"{', '.join(wrong)}: give a finite number") from None

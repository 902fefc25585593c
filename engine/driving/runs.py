"""Drives, aborts, forks and describes runs, and decides on proposals. Each function writes to a door of the file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from engine.contract import Asked, Limits, OnDriver, OnProposal, Options, check_options
from engine.db.purging import apply_retention
from engine.errors import NotFound, ValidationError
from engine.events import OnEvent
from engine.processes import claims

from .loop import GOES_ON, Driver
from .prompts import as_json, check_name, prompt
from .run_names import free_name

if TYPE_CHECKING:
    from engine.handle import Handle, Provided
    from engine.processes.kept_output import KeptOutput


def drive(
    db: Handle,
    run: str,
    *,
    on_event: OnEvent | None = None,
    on_proposal: OnProposal | None = None,
    on_driver: OnDriver | None = None,
    kept: KeptOutput | None = None,
    provided: Provided | None = None,
) -> None:
    """Drive `run` until it ends or waits; see `Database.run` for the callbacks and `Driver.drive` for the errors.

    `kept` gets all that its commands print, `provided` is for the app's tools.
    """
    driver = Driver(db, run, on_event, on_proposal, kept, provided)
    if on_driver:
        on_driver(driver)
    driver.drive()
    apply_retention(db)


def prompt_and_drive(
    db: Handle,
    text: str,
    run: str | None,
    options: Options | Asked,
    *,
    on_event: OnEvent | None = None,
    on_proposal: OnProposal | None = None,
    on_driver: OnDriver | None = None,
    kept: KeptOutput | None = None,
    provided: Provided | None = None,
) -> tuple[str, int]:
    """`prompt`, then `drive`; returns (run, loop sequence). A prompt that cannot be driven is not stored.

    Raises what these do; `LeaseHeld` (409) while another process drives the run.
    """
    drivers: list[Driver] = []

    def claim(alias: str) -> None:
        drivers.append(Driver(db, alias, on_event, on_proposal, kept, provided))
        drivers[0].claim()

    try:
        alias, loop = prompt(db, text, run, options, claim=claim)
        drivers[0].loop = loop
        if on_driver:
            on_driver(drivers[0])
        drivers[0].drive()
    finally:
        for driver in drivers:
            driver.release()
    apply_retention(db)
    return alias, loop


def goes_on(db: Handle, run: str) -> bool:
    """Whether a run that is not driven has something to do."""
    return bool(db.value(GOES_ON, (run,)))


def abort(db: Handle, run: str, reason: str = "aborted", loop: int | None = None) -> None:
    """End the active loop of `run` with status 499, and what it has kept; queued prompts stay. Raises `NotFound` (404).

    With `loop`, end that prompt alone, wherever it stands.
    """
    if loop is None:
        db.insert("verb_set", run=run, path=f"run://{run}", state="cancelled", outcome=reason)
    else:
        db.insert("verb_end_prompt", run=run, loop=loop, reason=reason)


def extend(db: Handle, run: str, limits: Limits) -> None:
    """Give the latest prompt of `run`, which a limit has stopped, once more with these limits.

    Without one this is done where a limit of the day or the file stopped it that leaves something again. Raises `NotFound`
    (404) for an unknown run, `Conflict` (409) where no limit has stopped its latest prompt, `ValidationError` (400) for a
    limit that is none.
    """
    given = {key: value for key, value in limits.items() if value is not None}
    if given:
        check_options(cast("Options", given))
        as_json(given)
        db.insert("verb_extend_prompt", run=run, **given)
    elif db.has("bounds") and db.value("select 1 from _freed_prompts where run = ?", (run,)):
        db.insert("verb_extend_prompt", run=run)


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
        raise ValidationError("the name of the person who decides is empty; give a name or leave it out")
    db.insert(
        "verb_resolve_tree",
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
    check_name(alias)
    attributes = {key: value for key, value in (("fork", parent), ("at", at)) if value is not None}
    with db.transaction():
        child = alias or free_name(db, f"{parent[:150]}-fork")
        db.insert("verb_set", run=child, path=f"run://{child}", attributes=json.dumps(attributes))
    return child


def rename(db: Handle, run: str, name: str) -> None:
    """Give a run another name; raises `NotFound` (404), `ValidationError` (400) for what is no name, and `Conflict` (409)
    for one that is taken or while the run or one below it is driven.
    """
    db.insert("verb_rename_run", run=run, name=name)


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
        "verb_describe_run",
        run=run,
        title=title,
        add_labels=json.dumps(list(labels)),
        drop_labels=json.dumps(list(drop_labels)),
        archived=None if archived is None else int(archived),
    )


def configure(db: Handle, run: str, **values: Any) -> None:
    """Change model, temperature, effort or context_limit (tokens) of a run, unless None; raises `NotFound` (404)."""
    given = {key: value for key, value in values.items() if value is not None}
    with db.transaction():
        if not db.value("select 1 from runs where alias = ?", (run,)):
            raise NotFound(f"run {run!r}: there is no such run; see 'engine runs'")
        db.insert("verb_set", run=run, path=f"run://{run}", attributes=as_json(given))

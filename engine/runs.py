"""Starts, drives, aborts and forks runs, and decides on proposals. Each function writes to a door of the file."""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import NotFound, ValidationError
from .functions.values import value_error
from .loop import Driver, OnEvent, OnProposal
from .models import resolve_model

if TYPE_CHECKING:
    from .database import Store

OnDriver = Callable[[Driver], None]
"""Called with the driver of a run before it is driven; the driver's `stop` may be called from another thread."""


@dataclass(frozen=True)
class Result:
    """How a prompt ended: `status` is that of its loop (200, 204, 413, 422, 499, 500), or 202 while the run waits.

    `usage` sums tokens over the loop's turns, `cost` is in US dollars, `reason` says why where the status does not.
    """

    run: str
    status: int
    answer: str
    turns: int
    usage: dict[str, int] = field(default_factory=dict)
    cost: float = 0.0
    reason: str | None = None

    def to_json(self) -> str:
        """The result as JSON, for programs."""
        return json.dumps(asdict(self), ensure_ascii=False)


@dataclass(frozen=True)
class Options:
    """How to start or prompt a run. Where a field is None, the run's own value, the setting or the default counts.

    `max_turns` and `max_seconds` (0: no limit) end the loop; `condense_ratio` (0: never) is a share of the ceiling.
    """

    model: str | None = None
    root: str | os.PathLike[str] | None = None
    project: str | None = None
    mode: str = "act"
    persona: str | None = None
    temperature: float | None = None
    context_limit: int | None = None
    max_turns: int | None = None
    max_seconds: float | None = None
    condense_ratio: float | None = None
    yolo: bool = False
    no_repo: bool = False
    no_web: bool = False
    no_interaction: bool = False
    no_proposals: bool = False
    fork: str | None = None
    at: int | None = None

    def attributes(self) -> dict[str, Any]:
        """The options as attributes of a `set run://…`; those that are None or False are left out."""
        given = asdict(self) | {"root": None if self.root is None else str(Path(self.root).resolve())}
        return {
            key: int(value) if value is True else value
            for key, value in given.items()
            if value is not None and value is not False
        }


def prompt(db: Store, text: str, run: str | None, options: Options) -> tuple[str, int]:
    """Give `text` to a run, a new one where `run` names none, without driving it; returns (run, loop sequence).

    Raises `NotFound` (404) for an unknown model or folder, `ValidationError` (400) for an empty prompt.
    """
    if not text.strip():
        raise ValidationError("the prompt is empty; say what to do")
    if options.root is not None:
        from .workspace import Workspace

        Workspace(Path(options.root))
    sync_environment_models(db)
    model = choose_model(db, options.fork or run, options.model)
    check_tokenizer(db)
    alias = run or new_alias(db, options.fork or model)
    attributes = _as_json({**options.attributes(), "model": model})
    with db.transaction():
        db.insert("verb_set", run=alias, path=f"run://{alias}", body=text, attributes=attributes)
        loop = db.value(
            "select max(l.sequence) from loops as l join runs as r on r.id = l.run_id where r.alias = ?",
            (alias,),
        )
    return alias, int(loop)


def drive(
    db: Store,
    run: str,
    *,
    on_event: OnEvent | None = None,
    on_proposal: OnProposal | None = None,
    on_driver: OnDriver | None = None,
) -> None:
    """Drive `run` until it ends or waits; see `Database.run` for the callbacks and `Driver.drive` for the errors."""
    driver = Driver(db, run, on_event, on_proposal)
    if on_driver:
        on_driver(driver)
    driver.drive()


def result(db: Store, run: str, loop: int | None = None) -> Result:
    """The result of the loop with the sequence `loop`, by default the latest; raises `NotFound` (404) for an unknown run."""
    row = db.row(
        "select * from loop_results where run = ? and (? is null or loop = ?) order by loop desc limit 1",
        (run, loop, loop),
    )
    if row is None:
        raise NotFound(f"run {run!r}: there is no such run; see 'engine runs'")
    usage = {key: row[key] for key in ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")}
    return Result(run, row["status"], row["answer"] or "", row["turns"], usage, row["cost"], row["reason"])


def choose_model(db: Store, run: str | None, given: str | None) -> str:
    """The alias or name of the model to use: `given`, the run's, the setting's, that of ENGINE_MODEL, or the only one.

    Raises `NotFound` (404) where there is no model, or none of that name.
    """
    name = (
        given
        or db.value("select model from model_choices where run is ? or run is null order by run is null", (run,))
        or os.environ.get("ENGINE_MODEL")
    )
    name = name or _only_model(db)
    actual = db.value("select actual from models where alias = ?", (name,)) or name
    resolve_model(actual)
    return str(name)


def check_tokenizer(db: Store) -> None:
    """Raise `ValidationError` (400) or `NotFound` (404) where the tokenizer of the setting `tokenizer` cannot be used."""
    if setting := db.value("select value from settings where name = 'tokenizer'"):
        from .models.counting import counter

        counter(setting, "")


def _only_model(db: Store) -> str:
    configured = [row["alias"] for row in db.rows("select alias from models where origin <> 'built-in'")]
    if len(configured) == 1:
        return str(configured[0])
    from .models import local

    if not configured and local.is_installed():
        return "local"
    raise NotFound(
        "no model: "
        + (
            f"choose one of {', '.join(configured)} with --model"
            if configured
            else "set ENGINE_MODEL_<alias>=provider/name and its key, "
            "or install the local one with 'engine models install local' and pip install 'engine[local]'"
        )
    )


def sync_environment_models(db: Store) -> None:
    """Write the models of the environment into the file: ENGINE_MODEL_<alias>, with ENGINE_CONTEXT_<alias> (tokens) and
    ENGINE_TOOLS_<alias> (xml or native). Raises `ValidationError` (400) for a value that is none of these.
    """
    found = {
        key.removeprefix("ENGINE_MODEL_").lower(): (
            value,
            os.environ.get(key.replace("_MODEL_", "_CONTEXT_", 1)),
            os.environ.get(key.replace("_MODEL_", "_TOOLS_", 1)) or "xml",
        )
        for key, value in os.environ.items()
        if key.startswith("ENGINE_MODEL_") and value.strip()
    }
    for alias, (actual, context, tools) in sorted(found.items()):
        if not alias.strip():
            raise ValidationError("ENGINE_MODEL_: an alias stands behind it, as in ENGINE_MODEL_fast")
        if wrong := value_error(context, "whole", 256, None):
            raise ValidationError(f"ENGINE_CONTEXT_{alias}: {wrong}")
        if tools not in ("xml", "native"):
            raise ValidationError(f"ENGINE_TOOLS_{alias}: {tools!r} is neither xml nor native")
        db.execute(
            "insert into models (alias, actual, context_length, tool_calling, origin, created_at) "
            "values (?, ?, ?, ?, 'environment', now()) "
            "on conflict (alias) do update set actual = excluded.actual, context_length = excluded.context_length, "
            "max_output = case actual when excluded.actual then max_output end, "
            "tool_calling = excluded.tool_calling, origin = excluded.origin "
            "where actual <> excluded.actual or context_length is not excluded.context_length "
            "or tool_calling <> excluded.tool_calling",
            (alias, actual, None if context is None else int(context), tools),
        )


def new_alias(db: Store, origin: str) -> str:
    """A name for a new run: that of its model or parent and the time, unique in the file."""
    base = re.sub(r"[^a-zA-Z0-9]+", "_", origin.split(":")[0].split("/")[-1]).strip("_").lower() or "run"
    stamp = time.strftime("%m%d_%H%M%S", time.localtime(db.clock() / 1000))
    alias, number = f"{base}_{stamp}", 1
    while db.value("select 1 from runs where alias = ?", (alias,)):
        number += 1
        alias = f"{base}_{stamp}_{number}"
    return alias


def abort(db: Store, run: str, reason: str = "aborted") -> None:
    """End the active loop of `run` with status 499; queued prompts stay. Raises `NotFound` (404) for an unknown run."""
    db.insert("verb_set", run=run, path=f"run://{run}", state="cancelled", outcome=reason)


def resolve(
    db: Store,
    run: str,
    path: str | None,
    accept: bool,
    *,
    body: str | None = None,
    reason: str | None = None,
) -> None:
    """Accept or reject the open proposals under `path`, or all open proposals of the run where `path` is None.

    `body` is the answer to a question, or a text that replaces the proposed one. Raises `NotFound` (404) where nothing is
    proposed.
    """
    run_id = db.value("select id from runs where alias = ?", (run,))
    if run_id is None:
        raise NotFound(f"run {run!r}: there is no such run; see 'engine runs'")
    db.insert(
        "resolutions",
        run_id=run_id,
        path=path,
        decision="accept" if accept else "reject",
        body=body,
        reason=reason,
        decided_by="client",
        created_at=db.clock(),
    )


def fork(db: Store, parent: str, alias: str | None = None, at: int | None = None) -> str:
    """Fork a run as it is now, or as it was when its turn `at` was sent; return the child's name. No text is copied."""
    child = alias or new_alias(db, parent)
    attributes = {key: value for key, value in (("fork", parent), ("at", at)) if value is not None}
    db.insert("verb_set", run=child, path=f"run://{child}", attributes=json.dumps(attributes))
    return child


def configure(db: Store, run: str, **values: Any) -> None:
    """Change model, temperature or context_limit (tokens) of a run; None changes nothing. Raises `NotFound` (404)."""
    given = {key: value for key, value in values.items() if value is not None}
    if not db.value("select 1 from runs where alias = ?", (run,)):
        raise NotFound(f"run {run!r}: there is no such run; see 'engine runs'")
    db.insert("verb_set", run=run, path=f"run://{run}", attributes=_as_json(given))


def _as_json(attributes: dict[str, Any]) -> str:
    try:
        return json.dumps(attributes, allow_nan=False)
    except ValueError:
        wrong = [key for key, value in attributes.items() if isinstance(value, float) and not math.isfinite(value)]
        raise ValidationError(f"{', '.join(wrong)}: give a finite number") from None

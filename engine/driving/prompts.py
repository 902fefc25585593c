"""Gives a prompt to a run, and makes runs."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from engine.arguments import check
from engine.contract import Asked, Options, attributes_of, check_options, one_model
from engine.errors import Conflict, ValidationError
from engine.functions.counts import counted
from engine.functions.values import value_error
from engine.project.root_names import note_root
from engine.threads.joining import expect_threads

from .model_choice import check_effort, check_model_options, check_tokenizer, choose_model, sync_environment_models
from .run_names import free_name, words_of
from .run_tools import chosen_names

if TYPE_CHECKING:
    from engine.handle import Handle

    from .attachments import Attachment

Chosen = TypeVar("Chosen", Options, Asked)


def prompt(
    db: Handle,
    text: str,
    run: str | None,
    options: Options | Asked,
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
        raise ValidationError("the prompt is empty; write what the run should do")
    options = with_fallbacks(options)
    check_options(options)
    check_name(run)
    root, parent = options.get("root"), options.get("fork")
    if root is not None:
        from engine.project.workspace import Workspace

        Workspace(Path(root))
    options = with_model_options(with_sandbox(with_schema(options)))
    # before the turn to write: a server may be asked for the names of its models, and a tokenizer is loaded
    sync_environment_models(db)
    model = choose_model(db, parent or run, db.app_models.name(one_model(options)), root)
    check_tokenizer(db)
    check_effort(db, parent or run, model, options.get("effort"), root)
    check_model_options(db, parent or run, model, options.get("model_options"), root)
    if judge := db.app_models.name(options.get("accept_model")):
        options = {**options, "accept_model": choose_model(db, parent or run, judge, root)}
    told = {**options, "model": model, "fallback_models": _fallbacks(db, options, model, parent or run, root)}
    attributes = as_json(attributes_of(cast("Options", told)) | _tools_of(db, options))
    brought = _brought(db, options, model)
    if options.get("handoffs") is not None:
        attributes = _with_handoffs(db, options, attributes, parent or run)
    with db.savepoint():
        alias = run or free_name(db, words_of(text))
        if options.get("handoffs") is not None:
            _keep_personas(db, options)
        path = db.value("select path from _next_piped_text where token_count(?) > most_tokens", (piped,))
        body = text if not piped.strip() else joined(text, piped, path)
        files = _paths(db, brought)
        body += "\n" * bool(files) + "".join(f"\nAttached: {path} ({each.told})" for path, each in files)
        db.call_door("verb_set", run=alias, path=f"run://{alias}", body=body, attributes=attributes)
        if path is not None:
            db.insert("verb_set", run=alias, path=path, body=piped)
        for place, each in files:
            each.keep(db, alias, place)
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


def _with_handoffs(db: Handle, options: Options | Asked, attributes: str, run: str | None) -> str:
    """The attributes of a prompt with whom it may be handed over to; tools that only these have are not its own."""
    from .handoffs import offered  # few prompts may be

    told = json.loads(attributes)
    if found := offered(db, options["handoffs"], run):
        told["handoffs"] = found
    if "tools" not in told and any(each.get("tools") for each in json.loads(found or "[]")):
        told["tools"] = ",".join(db.app_tools.functions if db.app_tools else ())
    return as_json(told)


def _keep_personas(db: Handle, options: Options | Asked) -> None:
    from .handoffs import keep_personas

    keep_personas(db, options["handoffs"])


def _brought(db: Handle, options: Options | Asked, model: str) -> list[Attachment]:
    """The files that come with a prompt, read outside of any transaction."""
    if options.get("attachments") is None:
        return []
    from .attachments import read_attachments  # few prompts bring one

    return read_attachments(db, options["attachments"], model)


def _paths(db: Handle, brought: list[Attachment]) -> list[tuple[str, Attachment]]:
    if not brought:
        return []
    first = int(db.value("select number from _next_attachment"))
    return [(f"attachment://{number}/{each.name}", each) for number, each in enumerate(brought, first)]


def _tools_of(db: Handle, options: Options | Asked) -> dict[str, str]:
    """The attribute with the names of the tools that a prompt chooses; without one it has all."""
    if options.get("tools") is None:
        return {}
    return {"tools": chosen_names(db, options["tools"]) or ""}


def make(db: Handle, run: str | None, options: Options) -> str:
    """Make a run that has no prompt yet, with the options of a run (not those of a prompt); returns its name.

    Raises what `prompt` raises, and `Conflict` (409) for a name that a run has.
    """
    check_options(options)
    check_name(run)
    root = options.get("root")
    if root is not None:
        from engine.project.workspace import Workspace

        Workspace(Path(root))
    sync_environment_models(db)
    model = choose_model(db, None, db.app_models.name(one_model(options)), root)
    attributes = attributes_of({**options, "model": model})
    del attributes["mode"]  # a prompt has one
    with db.transaction():
        alias = run or free_name(db, "run")
        if db.value("select 1 from runs where alias = ?", (alias,)):
            raise Conflict(f"run {alias!r}: already exists; choose another name")
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


def with_sandbox(options: Chosen) -> Chosen:
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
        raise ValidationError("network: only a sandbox can limit the network; leave out network, or use a sandbox")
    if filtered or choice not in (None, "auto", "off"):
        choice = choice or "auto"
        found, reason = sandbox.find(choice)
        if found is None:
            raise sandbox.SandboxMissing(f"sandbox {choice!r}: not available ({reason}); install it, or choose auto")
    return {**options, "sandbox": choice}


def with_fallbacks(options: Chosen) -> Chosen:
    """The options with a list of models as one model and those that are asked if it fails. Raises `TypeError`."""
    given: object = options.get("model")
    behind: Any = options.get("fallback_models")
    if isinstance(behind, str):
        behind = _listed(behind)
        options = cast("Chosen", {**options, "fallback_models": behind})
    check("fallback_models", behind, "a list of models or None")
    if not isinstance(given, list | tuple):
        return options
    models = list(given) + list(behind or ())
    check("model", given, "a model, or a list of at least one")
    check("the first model", models[0], "a text, or an object with a method complete()")
    return cast("Chosen", {**options, "model": models[0], "fallback_models": models[1:] or None})


def _listed(text: str) -> Any:
    """The list that a text of JSON is, as other programs give it; any other text as it is."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _fallbacks(
    db: Handle, options: Options | Asked, model: str, run: str | None, root: str | os.PathLike[str] | None
) -> str | None:
    """The models that are asked if that of a prompt fails, as JSON; each of them once."""
    names: list[str] = []
    for each in options.get("fallback_models") or ():
        check("fallback_models: each", each, "a text, or an object with a method complete()")
        name = choose_model(db, run, db.app_models.name(each), root)
        if name != model and name not in names:
            names.append(name)
    return json.dumps(names) if names else None


def with_model_options(options: Chosen) -> Chosen:
    """The options with the settings of the model as JSON; a temperature of None means that none is sent.

    Raises `ValidationError` (400) for settings that are none.
    """
    given = options.get("model_options")
    if given is None and ("temperature" not in options or options["temperature"] is not None):
        return options
    told = given if isinstance(given, str) else as_json(dict(given or {}))
    if wrong := value_error(told, "options", None, None):
        raise ValidationError(f"model_options {wrong}")
    if "temperature" in options and options["temperature"] is None:
        told = json.dumps({"temperature": None, **json.loads(told)})
    return cast("Chosen", {**options, "model_options": told})


def with_schema(given: Options | Asked) -> Asked:
    """The options with the JSON Schema of the form that they ask for; raises `ValidationError` (400) for what is none."""
    options = cast("Asked", given)
    if options.get("output") is None:
        return options
    from engine.tools.answers import schema_of

    return {**options, "output": schema_of(options["output"])}


def check_name(run: str | None) -> None:
    """Raise `ValidationError` (400) for a name that SQLite would cut, and for an empty one, which names no run."""
    if run is not None and "\0" in run:
        raise ValidationError(f"run {run!r}: a name must not contain a NUL")
    if run == "":
        raise ValidationError("the name of the run is empty; give a name, or leave out the name for a new run")


def as_json(attributes: dict[str, Any]) -> str:
    """Attributes of a run as JSON. Raises `ValidationError` (400) for a number that is not finite."""
    try:
        return json.dumps(attributes, allow_nan=False)
    except ValueError:
        wrong = [key for key, value in attributes.items() if isinstance(value, float) and not math.isfinite(value)]
        raise ValidationError(f"{', '.join(wrong)}: give a finite number") from None

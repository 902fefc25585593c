"""Chooses the model of a run: the given one, the run's, a setting's, one of the environment, or the only one there is.

A name without its provider, such as gpt-4o, is looked up in `_provider_models`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from engine import plugins
from engine.config.environment import is_setting
from engine.errors import EngineError, NotFound, ValidationError
from engine.functions.values import value_error
from engine.models import resolve_model
from engine.models.aliases import parsed_price

if TYPE_CHECKING:
    from os import PathLike

    from engine.db.database import Row
    from engine.handle import Handle
    from engine.keys.keys import Keys
    from engine.models.protocol import Model
    from engine.models.providers import Endpoint

_NAMED = 3
"""A hint names at most this many models of a server."""


def choose_model(db: Handle, run: str | None, given: str | None, root: str | PathLike[str] | None = None) -> str:
    """The alias or name of the model to use: `given`, the run's, the setting's, that of ENGINE_MODEL, or the only one.

    `root` is the folder of a run that is not there yet. Raises `NotFound` (404) where there is no model, or none of that
    name, and `ValidationError` (400) for a name that several providers have.
    """
    name = (
        given
        or db.value("select model from model_choices where run is ? or run is null order by run is null", (run,))
        or os.environ.get("ENGINE_MODEL")
    )
    keys = db.keys_for(run, root)
    name = name or _only_model(db, keys)
    alias = db.value("select actual from models where alias = ?", (name,))
    actual = alias or full_name(db, name, keys)
    try:
        db.app_models.find(actual) or resolve_model(actual, keys)
    except NotFound as error:
        raise NotFound(error.message + _slip(db, actual)) from None
    return str(name if alias else actual)


def _slip(db: Handle, name: str) -> str:
    """A question for the alias that a name is nearly; nothing if there is none."""
    from difflib import get_close_matches

    aliases = [str(row["alias"]) for row in db.rows("select alias from models order by alias")]
    near = get_close_matches(name, aliases, 1, 0.75)
    return f"; did you mean {near[0]}?" if near and name not in aliases else ""


_FULL_NAMES = """
    with candidates as (
        select
            m.prefix || :name as full_name,
            m.provider in (select value from json_each(:ready)) as is_ready,
            m.is_maker
        from _provider_models as m
        where lower(:name) glob m.pattern
    )
    select full_name
    from candidates
    where (is_ready, is_maker) = (select is_ready, is_maker from candidates order by 1 desc, 2 desc limit 1)
    order by full_name
"""
_DEFAULTS = """
    select d.model
    from provider_defaults as d
    left join json_each(?) as j on j.value ->> 0 = d.provider
    where (j.value ->> 1 and j.key is not null) or (d.is_set and (j.key is not null or d.provider = 'ollama'))
    order by d.model
"""
"""The defaults of ready providers, [name, is at its own address]. At another address a default counts only if it is set."""
_OTHER_FORMS = ("scripted:", "replay:", "object:")


def full_name(db: Handle, name: str, keys: Keys | None = None) -> str:
    """`provider/name` for the name of a provider's model, or of a provider that has a default; any other name as it is.

    Providers that have a key come first, and then the one that makes the model. Raises `ValidationError` (400) where that
    leaves several.
    """
    if "/" in name or name.startswith(_OTHER_FORMS) or plugins.model(name) is not None:
        return name
    if default := db.value("select model from provider_defaults where provider = ?", (name,)):
        return str(default)
    ready = json.dumps([at.provider.name for at in ready_providers(keys or db.keys)])
    names = [str(row["full_name"]) for row in db.rows(_FULL_NAMES, {"name": name, "ready": ready})]
    if len(names) > 1:
        raise ValidationError(
            f"model {name!r}: several providers offer it; choose one: --model {' or --model '.join(names)}"
        )
    return names[0] if names else name


def ready_providers(keys: Keys) -> Iterator[Endpoint]:
    """The providers that need a key and have one, or a server of the user's own in their place."""
    from engine.keys.providers import PROVIDERS
    from engine.models.protocol import ModelError
    from engine.models.providers import endpoint

    for provider in PROVIDERS.values():
        if provider.needs_key:
            with suppress(ModelError, NotFound):
                yield endpoint(provider, keys)


def takes_effort(model: Model) -> bool:
    """Whether a model can be told how hard to think; one that does not say is told."""
    return bool(getattr(model, "takes_effort", True))


def check_effort(
    db: Handle, run: str | None, name: str, given: str | None, root: str | PathLike[str] | None = None
) -> None:
    """Raise `ValidationError` (400) where a model that takes no effort is to have one, given now or to its run before.

    `root` is the folder of a run that is not there yet.
    """
    effort = given or db.value("select effort from runs where alias = ?", (run,))
    if effort in (None, "none") or value_error(effort, "effort", None, None):
        return
    actual = str(db.value("select actual from models where alias = ?", (name,)) or name)
    model = db.app_models.find(actual) or resolve_model(actual, db.keys_for(run, root))
    if not takes_effort(model):
        raise ValidationError(
            f"model {name!r}: has no effort levels, but effort {effort} was given; choose another model or effort none"
        )


def check_model_options(
    db: Handle, run: str | None, name: str, given: object, root: str | PathLike[str] | None = None
) -> None:
    """Raise `ValidationError` (400) where a model does not take the settings that it is given, as JSON.

    `root` is the folder of a run that is not there yet.
    """
    if not isinstance(given, str):
        return
    actual = str(db.value("select actual from models where alias = ?", (name,)) or name)
    model = db.app_models.find(actual) or resolve_model(actual, db.keys_for(run, root))
    told = getattr(model, "options_error", None)
    if told is not None and (wrong := told(json.loads(given))):
        raise ValidationError(str(wrong))


def check_tokenizer(db: Handle) -> None:
    """Raise `ValidationError` (400) or `NotFound` (404) where the tokenizer of the setting `tokenizer` cannot be used."""
    if setting := db.value("select value from settings where name = 'tokenizer'"):
        from engine.models.counting import counter

        counter(setting, "")


def _only_model(db: Handle, keys: Keys) -> str:
    """The only alias that can be used, else the default of the only provider that has a key, else the local model."""
    from engine.models import local

    configured = db.rows("select alias, actual from models where origin <> 'built-in' order by alias")
    # without its key a model is not chosen over one that can be asked
    usable = [row["alias"] for row in configured if _is_usable(db, row["actual"], keys)]
    if len(usable) == 1:
        return str(usable[0])
    if usable:
        raise NotFound(f"no model: choose one of {', '.join(usable)} with --model")
    ready = list(ready_providers(keys))
    defaults = ready_defaults(db, ready)
    if len(defaults) == 1:
        return defaults[0]
    if defaults:
        raise NotFound(
            f"no model: several providers have a key; choose a model: --model {' or --model '.join(defaults)}"
        )
    if ready:
        raise NotFound(_name_one_of(ready[0]))
    if local.is_installed():
        return "local"
    if len(configured) == 1:
        return str(configured[0]["alias"])  # what it lacks is told
    raise NotFound(_how_to_get_one(configured))


def ready_defaults(db: Handle, ready: Iterable[Endpoint]) -> list[str]:
    """The default models of these providers, as `provider/name`; see `provider_defaults`."""
    rows = db.rows(_DEFAULTS, (json.dumps([[at.provider.name, at.is_own] for at in ready]),))
    return [str(row["model"]) for row in rows]


def _name_one_of(server: Endpoint) -> str:
    """What to say where a server of the user's own is all there is, with the models that it offers."""
    from engine.models.served import served_models

    names = (served_models(server) or [])[:_NAMED] or [f"{server.provider.name}/NAME"]
    return (
        f"no model: {server.provider.url_variable} names a server; name its model: --model {' or --model '.join(names)}"
    )


def _is_usable(db: Handle, actual: str, keys: Keys) -> bool:
    """Whether a model can be asked here: its key, its file and its libraries are there. It is not asked."""
    try:
        db.app_models.find(actual) or resolve_model(actual, keys)
    except EngineError:
        return False
    return True


def _how_to_get_one(configured: list[Row]) -> str:
    from importlib.util import find_spec

    from engine.keys.providers import PROVIDERS
    from engine.system.installing import how_to_install

    if configured:
        names = ", ".join(row["alias"] for row in configured)
        return f"no model: none of {names} can be used here; 'engine models' says what each lacks"
    keys = [name for provider in PROVIDERS.values() if provider.needs_key for name in provider.keys]
    runtime = "" if find_spec("xllamacpp") else f"{how_to_install('local')} && "
    return (
        f"no model: set {', '.join(keys[:-1])} or {keys[-1]}, or use a small model on this machine: "
        f"{runtime}engine models install local"
    )


def _of_alias(db: Handle, key: str) -> str | None:
    """The variable of an alias; one that is a setting's is none."""
    return None if is_setting(db, key) else os.environ.get(key)


def sync_environment_models(db: Handle) -> None:
    """Write the models of the user's configuration and of the environment into the file.

    The environment has ENGINE_MODEL_<alias>, with ENGINE_CONTEXT_<alias> (tokens), ENGINE_TOOLS_<alias> (xml or native),
    ENGINE_EFFORT_<alias> and ENGINE_PRICE_<alias> (IN/OUT). Raises `ValidationError` (400) for a value that is none.
    """
    if db.config:
        from engine.config import user_models

        user_models.sync(db)
    found = {
        key.removeprefix("ENGINE_MODEL_").lower(): (
            value,
            _of_alias(db, key.replace("_MODEL_", "_CONTEXT_", 1)),
            os.environ.get(key.replace("_MODEL_", "_TOOLS_", 1)) or "xml",
            os.environ.get(key.replace("_MODEL_", "_EFFORT_", 1)) or None,
            os.environ.get(key.replace("_MODEL_", "_PRICE_", 1)) or None,
        )
        for key, value in os.environ.items()
        if key.startswith("ENGINE_MODEL_") and value.strip() and not is_setting(db, key)
    }
    for alias, (actual, context, tools, effort, price) in sorted(found.items()):
        if not alias.strip():
            raise ValidationError("ENGINE_MODEL_: the alias is missing; write for example ENGINE_MODEL_fast")
        if wrong := value_error(context, "whole", 256, None):
            raise ValidationError(f"ENGINE_CONTEXT_{alias}: {wrong}")
        if tools not in ("xml", "native"):
            raise ValidationError(f"ENGINE_TOOLS_{alias}: {tools!r} is neither xml nor native")
        if wrong := value_error(effort, "effort", None, None):
            raise ValidationError(f"ENGINE_EFFORT_{alias}: {wrong}")
        prices = (None, None, None) if price is None else _price_of(alias, price)
        db.execute(_SYNC, (alias, actual, None if context is None else int(context), tools, effort, *prices))


_SYNC = """
    insert into models
        (alias, actual, context_length, tool_calling, effort, price_input, price_output, price_cached, origin, created_at)
    values (?, ?, ?, ?, ?, ?, ?, ?, 'environment', now())
    on conflict (alias) do update
    set actual = excluded.actual, context_length = excluded.context_length,
        max_output = case actual when excluded.actual then max_output end,
        tool_calling = excluded.tool_calling, effort = excluded.effort, price_input = excluded.price_input,
        price_output = excluded.price_output, price_cached = excluded.price_cached, origin = excluded.origin
    where actual <> excluded.actual or context_length is not excluded.context_length
        or tool_calling <> excluded.tool_calling or effort is not excluded.effort
        or price_input is not excluded.price_input or price_output is not excluded.price_output
        or price_cached is not excluded.price_cached
"""


def _price_of(alias: str, text: str) -> tuple[float, float, float | None]:
    try:
        return parsed_price(text)
    except ValidationError as error:
        raise ValidationError(f"ENGINE_PRICE_{alias}: {error.message}") from None

"""Names of models that hold for all of a user's runs: tables ``[models.NAME]`` in the user's `config.toml`.

A project cannot name any: an address in its `engine.toml` would get what runs say and know.

spec: @model_addresses
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError, NotFound, ValidationError
from engine.functions.values import value_error
from engine.models.aliases import parsed_price
from engine.system import toml_files
from engine.system.places import own_lock, write_own

from .configuration import expect_own, place_of

if TYPE_CHECKING:
    from engine.db.database import Store

_TABLE = "models"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KINDS: dict[str, type] = {
    "model": str,
    "context": int,
    "max_output": int,
    "native": bool,
    "profile": str,
    "images": bool,
    "effort": str,
    "options": str,
    "price": str,
}
_BOUNDS = (
    ("context", "whole", 256),
    ("max_output", "whole", 1),
    ("effort", "effort", None),
    ("options", "options", None),
)
_KEPT = """
    select
        alias, actual, context_length, max_output, tool_calling, profile, images, effort, options, price_input,
        price_output, price_cached
    from models
    where origin = 'user'
    order by alias
"""
_SYNC = """
    insert into models
        (alias, actual, context_length, max_output, tool_calling, profile, images, effort, options, price_input,
        price_output, price_cached, origin, created_at)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'user', now())
    on conflict (alias) do update
    set actual = excluded.actual, context_length = excluded.context_length, max_output = excluded.max_output,
        tool_calling = excluded.tool_calling, profile = excluded.profile, images = excluded.images,
        effort = excluded.effort, options = excluded.options, price_input = excluded.price_input,
        price_output = excluded.price_output, price_cached = excluded.price_cached, origin = 'user'
    where origin in ('user', 'environment')
"""


def place() -> Path:
    """The file in which the names stand."""
    return place_of("user", Path())


def sync(db: Store) -> None:
    """Write the user's names into a file, and take out those that the user has removed. The file's own names stay.

    Raises `ValidationError` (400), with the file, for a table that is no model.
    """
    named = [(name, *_values(data)) for name, data in sorted(_tables().items())]
    if named == db.tuples(_KEPT):
        return
    with db.transaction():
        db.execute("delete from models where origin = 'user'")
        for row in named:
            db.execute(_SYNC, row)


def add(name: str, data: Mapping[str, Any]) -> None:
    """Write a name into the user's file, in the place of the one that is there. Raises `ValidationError` (400)."""
    if not _NAME.fullmatch(name) or name == "local":
        raise ValidationError(f"{name!r} is not a valid name; use letters, digits, _ and -, but not 'local'")
    kept = {key: value for key, value in data.items() if value is not None}
    _check(name, kept)
    _write(name, kept)


def remove(name: str) -> None:
    """Take a name out of the user's file. Raises `NotFound` (404) where it is not there."""
    if name not in _tables():
        raise NotFound(f"{place()} names no model {name!r}; 'engine models' lists the models")
    _write(name, None)


def _tables() -> dict[str, dict[str, Any]]:
    file = place()
    text = toml_files.read_file(file)
    if _TABLE not in text:
        return {}
    expect_own(file)
    tables = toml_files.loaded(text, file).get(_TABLE, {})
    if not isinstance(tables, dict):
        raise ValidationError(f"{file}: models is not a setting; write each name as a table [models.NAME]")
    for name, data in tables.items():
        _check(name, data)
    return tables


def _check(name: str, data: object) -> None:
    """Raise `ValidationError` (400) for a table that names no model."""
    where = f"{place()}: [models.{name[:40]}]"
    if not isinstance(data, dict) or not str(data.get("model") or "").strip():
        raise ValidationError(f"{where} has no model; write model = 'provider/name'")
    for key, value in data.items():
        if type(value) is not _KINDS.get(key):
            known = ", ".join(_KINDS)
            raise ValidationError(f"{where} {key[:40]} is unknown or has the wrong type; the keys are {known}")
    for key, kind, least in _BOUNDS:
        if wrong := value_error(data.get(key), kind, least, None):
            raise ValidationError(f"{where} {key}: {wrong}")
    if data.get("profile", "full") not in ("full", "compact"):
        raise ValidationError(f"{where} profile must be full or compact")
    if "price" in data:
        parsed_price(data["price"])


def _values(data: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a table says, in the order of the columns behind the alias."""
    images = data.get("images")
    return (
        data["model"],
        data.get("context"),
        data.get("max_output"),
        "native" if data.get("native") else "xml",
        data.get("profile", "full"),
        None if images is None else int(images),
        data.get("effort"),
        data.get("options"),
        *(parsed_price(data["price"]) if "price" in data else (None, None, None)),
    )


def _write(name: str, data: Mapping[str, Any] | None) -> None:
    file = place()
    try:
        with own_lock(file):
            text = toml_files.with_table(toml_files.read_file(file), file, _TABLE, name, data)
            write_own(file, text.encode())
    except OSError as error:
        raise EngineError(f"{file}: cannot be written ({error.strerror or error}); nothing was changed") from None

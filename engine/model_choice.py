"""Chooses the model of a run: the given one, the run's, a setting's, one of the environment, or the only one there is."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .errors import NotFound, ValidationError
from .functions.values import value_error
from .models import resolve_model

if TYPE_CHECKING:
    from .database import Store


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
    db.given_models.find(actual) or resolve_model(actual)
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

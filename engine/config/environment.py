"""Settings by environment variables: `ENGINE_` and the name of the setting in capitals, such as ENGINE_MAX_LOOP_TURNS.

They hold for the process that has them, above what a file says and below what a prompt or a run says. An empty variable
says nothing.

spec: @environment_settings
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.db.database import Row, Store

PREFIX = "ENGINE_"
_TRUTHS = {"true": "1", "false": "0"}
_ONLY_OF_A_PROMPT = ("sandbox", "off")
"""No file may hold it: ENGINE_SANDBOX=off is read where a prompt is given."""
_OTHERS = (
    "CACHE",
    "COMPLETE",
    "DEBUG",
    "GUARDED",
    "MCP",
    "PLUGIN_",
    "RPC_TOKEN",
    "SEARCH",
    "TRUST",
    "UNCONFINED",
    "WEB_ALLOW",
)
"""Variables of the engine that are no settings, by how they begin behind the prefix."""
_OF_MODELS = ("MODEL_", "CONTEXT_", "TOOLS_", "EFFORT_")
_LIKENESS = 0.85


def variable(name: str) -> str:
    """The variable of a setting."""
    return f"{PREFIX}{name.upper()}"


def said() -> dict[str, str]:
    """What the environment may say of settings, by the name of the setting: variables that say something."""
    return {key[len(PREFIX) :].lower(): value for key, value in os.environ.items() if _may_be_setting(key, value)}


def _may_be_setting(key: str, value: str) -> bool:
    return key.startswith(PREFIX) and key == key.upper() and bool(value.strip())


def layer_rows(db: Store) -> list[Row]:
    """What the environment says of the settings of a file, as rows of `_set_layer`."""
    found = said()
    if not found:
        return []
    known = db.tuples(
        "select name, kind from settings where name in (select value from json_each(?))", (json.dumps(list(found)),)
    )
    values = {name: found[name].strip() if kind == "text" else _number(found[name]) for name, kind in known}
    return [
        {"name": name, "layer": "env", "value": value, "source": variable(name), "confirmed": 0}
        for name, value in values.items()
        if (name, value) != _ONLY_OF_A_PROMPT
    ]


def _number(value: str) -> str:
    return _TRUTHS.get(value.strip().lower(), value.strip())


def is_setting(db: Store, key: str) -> bool:
    """Whether a variable is that of a setting, and so of no model: ENGINE_MODEL_TIMEOUT names no model `timeout`."""
    return bool(db.value("select 1 from settings where name = ?", (key[len(PREFIX) :].lower(),)))


def slips(settings: Iterable[str]) -> dict[str, str]:
    """Variables that are those of no setting, but nearly, with the one that may be meant."""
    from difflib import get_close_matches

    known = {variable(name) for name in settings}
    found = {}
    for key in os.environ:
        rest = key.removeprefix(PREFIX)
        if key == rest or key in known or rest.startswith((*_OTHERS, *_OF_MODELS)) or rest.endswith("_KEY"):
            continue
        if near := get_close_matches(key.upper(), known, 1, _LIKENESS):
            found[key] = near[0]
    return found


__all__ = ["PREFIX", "is_setting", "layer_rows", "said", "slips", "variable"]

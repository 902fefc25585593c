"""The parameters of a method: their names and kinds, for the check of a call and for the document of `discover`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from .messages import INVALID_PARAMS, RpcError

if TYPE_CHECKING:
    from engine.db.database import Store

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "array": (list,),
}
_ARTICLES = {"string": "a text", "boolean": "true or false", "integer": "a whole number", "number": "a number"}
_KINDS = {
    "flag": "boolean",
    "whole": "integer",
    "number": "number",
    "text": "string",
    "schema": "object",
    "options": "object",
}
"""The types of JSON by the kinds of `run_options`."""
_OPTIONS = """
    select name, case when kind = 'whole' and least = 0 and most = 1 then 'flag' else kind end as kind, meaning
    from run_options
    order by name
"""
_NOT_ASKED = {"fork", "at", "mode", "project", "root"}
"""Options of a run that the method, the project or other parameters say."""


@dataclass(frozen=True)
class Param:
    """A parameter by its `name`, with its `type` in JSON Schema; one that is not `required` may be left out, or null."""

    name: str
    type: str
    meaning: str
    required: bool = False

    def schema(self) -> dict[str, Any]:
        """How OpenRPC describes it."""
        return {
            "name": self.name,
            "description": self.meaning,
            "required": self.required,
            "schema": {"type": self.type},
        }


def checked(params: Sequence[Param], given: dict[str, Any]) -> dict[str, Any]:
    """The given values without those that are null. Raises `RpcError` for what is missing, unknown or of another type."""
    names = [param.name for param in params]
    if unknown := sorted(given.keys() - set(names)):
        near = get_close_matches(unknown[0], names, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names) or 'none'}"
        raise RpcError(INVALID_PARAMS, f"parameter {unknown[0]!r}: unknown; {hint}")
    for param in params:
        value = given.get(param.name)
        if value is None:
            if param.required:
                raise RpcError(INVALID_PARAMS, f"parameter {param.name!r}: is missing; {param.meaning}")
        elif not isinstance(value, _TYPES[param.type]) or (isinstance(value, bool) and param.type != "boolean"):
            raise RpcError(INVALID_PARAMS, f"parameter {param.name!r}: must be {_ARTICLES.get(param.type, param.type)}")
    return {name: value for name, value in given.items() if value is not None}


def option_params(db: Store) -> tuple[Param, ...]:
    """The options of a run that `ask`, `act`, `startRun` and `run/inject` take, as `run_options` lists them."""
    from engine.contract import Asked

    known = Asked.__annotations__.keys() - _NOT_ASKED
    return tuple(
        Param(camel(row["name"]), _KINDS[row["kind"]], row["meaning"])
        for row in db.rows(_OPTIONS)
        if row["name"] in known
    )


def option_values(options: Sequence[Param], given: dict[str, Any]) -> dict[str, Any]:
    """The options among the given parameters, by the names that `Database.run` takes."""
    named = {param.name for param in options}
    return {snake(name): value for name, value in given.items() if name in named}


def camel(name: str) -> str:
    """`context_limit` as `contextLimit`."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def snake(name: str) -> str:
    """`contextLimit` as `context_limit`."""
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)

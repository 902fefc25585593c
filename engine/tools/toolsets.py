"""Tools by name: sets of functions that an app gives together, and the choice of a prompt among them.

spec: @toolsets
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.errors import NotFound

if TYPE_CHECKING:
    from engine.handle import Handle
    from engine.tools.app_tools import AppTools

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Toolset:
    """Functions that are given and named together: `engine.open(…, tools=[Toolset("billing", [refund, invoice])])`.

    `when` is a select: models are told of the set only while its first value is true, with `:run` as the name of the run.
    It is asked before each turn. Raises `ValueError` for what is no name.
    """

    name: str
    tools: Iterable[Callable[..., Any]]
    when: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ValueError(f"toolset {self.name!r}: a name is of letters, digits, _ and -, and begins with a letter")
        if callable(self.tools) or isinstance(self.tools, str):
            raise TypeError(f"toolset {self.name!r}: tools is a list of functions, not {self.tools!r}")
        object.__setattr__(self, "tools", tuple(self.tools))


def own_tools(chosen: object) -> AppTools | None:
    """The functions and toolsets among the tools of a prompt, besides the names of others; None without any."""
    given = [each for each in _listed(chosen) if not isinstance(each, str)]
    if not given:
        return None
    from engine.tools.app_tools import AppTools

    return AppTools(given)


def chosen_names(db: Handle, chosen: object) -> str | None:
    """The names of the tools of a prompt, with commas between; None: all of them.

    A name is that of a tool or of a toolset. Raises `NotFound` (404) for an unknown one.
    """
    if chosen is None:
        return None
    own = own_tools(chosen)
    names = list(own.functions) if own else []
    for name in (each for each in _listed(chosen) if isinstance(each, str)):
        names += _meant(db, name)
    return ",".join(dict.fromkeys(names))


def _meant(db: Handle, name: str) -> Iterable[str]:
    if db.app_tools and name in db.app_tools.sets:
        return db.app_tools.sets[name]
    if db.value("select 1 from tools where name = ?", (name,)):
        return (name,)
    there = [*(db.app_tools.sets if db.app_tools else ()), *(db.app_tools.functions if db.app_tools else ())]
    raise NotFound(f"tools: there is no tool or toolset {name!r}; the app has {', '.join(there) or 'none'}")


def _listed(chosen: object) -> list[Any]:
    if chosen is None:
        return []
    if callable(chosen) or isinstance(chosen, str | Toolset) or not isinstance(chosen, Iterable):
        raise TypeError(f"tools is a list of functions, toolsets and names, not {chosen!r}")
    return list(chosen)

"""Tools by name: sets of functions that an app gives together, and the choice of a prompt among them.

spec: @toolsets
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.tools.app_tools import AppTools

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Toolset:
    """Functions that are used together under one name: `engine.open(…, tools=[Toolset("billing", [refund, invoice])])`.

    `when` is a select, which is run before each turn with `:run` as the name of the run. Models see the tools only if
    its first value is true. Raises `ValueError` for an invalid name.
    """

    name: str
    tools: Iterable[Callable[..., Any]]
    when: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ValueError(
                f"toolset {self.name!r}: the name must consist of letters, digits, _ and -, and begin with a letter"
            )
        if callable(self.tools) or isinstance(self.tools, str):
            raise TypeError(f"toolset {self.name!r}: tools must be a list of functions, not {self.tools!r}")
        if self.when is not None and not isinstance(self.when, str):
            raise TypeError(f"toolset {self.name!r}: when must be a select as text, not {self.when!r}")
        object.__setattr__(self, "tools", tuple(self.tools))


def own_tools(chosen: object) -> AppTools | None:
    """The functions and toolsets among the tools of a prompt, besides the names of others; None without any."""
    given = [each for each in listed(chosen) if not isinstance(each, str)]
    if not given:
        return None
    from engine.tools.app_tools import AppTools

    return AppTools(given)


def listed(chosen: object) -> list[Any]:
    """The tools of a prompt as they were given; raises `TypeError` for what is no list of them."""
    if chosen is None:
        return []
    if isinstance(chosen, str):  # as the option has it: names with commas between
        return [name.strip() for name in chosen.split(",") if name.strip()]
    if callable(chosen) or isinstance(chosen, Toolset) or not isinstance(chosen, Iterable):
        raise TypeError(f"tools must be a list of functions, toolsets and names, not {chosen!r}")
    return list(chosen)

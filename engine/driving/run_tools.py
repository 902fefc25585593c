"""The functions of an app that a run has while it is driven, and the toolsets that are hidden meanwhile.

spec: @toolsets
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from engine.errors import NotFound

if TYPE_CHECKING:
    from engine.handle import Handle
    from engine.tools.app_tools import AppTools


class RunTools:
    """The tools of the handle `db` and those that were given for this driving alone (`own`), as `run` has them."""

    def __init__(self, db: Handle, run: str, lease: str, own: AppTools | None) -> None:
        self._db = db
        self._run = run
        self._lease = lease
        self._own = own
        self._run_id: int | None = None
        self._hidden: set[str] = set()

    def offer(self) -> None:
        """Tell models of the functions, for as long as this driver drives the run."""
        if self._own is not None:
            self._run_id = self._db.value("select id from runs where alias = ?", (self._run,))
            self._db.make_room_for_tools().of_runs[self._run_id] = self._own
        for tools in filter(None, (self._db.app_tools, self._own)):
            tools.offer(self._db, self._run, self._lease)

    def look(self) -> None:
        """Hide the toolsets whose condition does not hold now, and show those whose does."""
        tools = [each for each in (self._db.app_tools, self._own) if each is not None]
        if not any(each.conditions for each in tools):
            return
        hidden: set[str] = set()
        for names, when in (condition for each in tools for condition in each.conditions):
            if not self._holds(when):
                hidden.update(names)
        if hidden == self._hidden:
            return
        told = [{"name": name, "gone": int(name in hidden)} for name in sorted(hidden ^ self._hidden)]
        self._db.insert("_offer_tools", run=self._run, lease=self._lease, tools=json.dumps(told))
        self._hidden = hidden

    def close(self) -> None:
        """Take back what was given for this driving alone."""
        if self._db.app_tools is not None and self._run_id is not None:
            self._db.app_tools.of_runs.pop(self._run_id, None)

    def _holds(self, when: str) -> bool:
        from engine.db.query import read_only_rows

        bindings = {"run": self._run} if ":run" in when else {}
        rows = read_only_rows(self._db, when, bindings)
        return bool(rows and next(iter(rows[0].values())))


def chosen_names(db: Handle, chosen: object) -> str | None:
    """The names of the tools of a prompt, with commas between; None: all of them.

    A name is that of a tool or of a toolset. Raises `NotFound` (404) for an unknown one.
    """
    if chosen is None:
        return None
    from engine.tools.toolsets import listed, own_tools  # few prompts choose

    own = own_tools(chosen)
    names = list(own.functions) if own else []
    for name in (each for each in listed(chosen) if isinstance(each, str)):
        names += _meant(db, name)
    return ",".join(dict.fromkeys(names))


def _meant(db: Handle, name: str) -> Iterable[str]:
    if db.app_tools and name in db.app_tools.sets:
        return db.app_tools.sets[name]
    if db.value("select 1 from tools where name = ?", (name,)):
        return (name,)
    there = [*(db.app_tools.sets if db.app_tools else ()), *(db.app_tools.functions if db.app_tools else ())]
    raise NotFound(f"tools: there is no tool or toolset {name!r}; the app has {', '.join(there) or 'none'}")

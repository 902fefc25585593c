"""The tools of a database handle: functions of an app and tools of MCP servers, told to the file and to models."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, Protocol

import apsw

from engine.db.own_tables import OwnTables
from engine.errors import NotFound, ValidationError
from engine.tools.functions import FunctionTool, made
from engine.tools.reading import read_call
from engine.tools.toolsets import Toolset

if TYPE_CHECKING:
    from engine.db.database import Store

_HOOK = """
create temp trigger if not exists commands__call_function
after update of state on main.commands
when new.state = 'performing'
begin
    insert into _call_function (command_id, reading)
    select new.id, reading
    from (select _tool_call(new.run_id, new.action, new.path, new.destination, new.body, new.attributes) as reading)
    where reading is not null;
end
"""
"""On the connections of an app with tools only: any other has no such program."""


class Servers(Protocol):
    """The MCP servers of a handle."""

    clients: Any

    def find(self, name: str, /) -> Any:
        """The tool of that name; None for one that no server has."""
        ...

    def read(self, *command: Any) -> dict[str, Any] | None:
        """A command, as action, path, destination, body and attributes, as a call; None if its tool is another's."""
        ...


class AppTools:
    """The functions of a handle, by their names as tools, and the tools of its MCP servers."""

    def __init__(self, functions: Iterable[Callable[..., Any] | Toolset], servers: Servers | None = None) -> None:
        self.servers = servers
        self.sets: dict[str, tuple[str, ...]] = {}
        """The names of the functions of each toolset."""
        self.conditions: list[tuple[tuple[str, ...], str]] = []
        """The functions that are hidden while a select says so."""
        self.of_runs: dict[int, AppTools] = {}
        """The functions that runs were given for one driving, by the id of the run."""
        self.own_tables = OwnTables()
        self._tools: dict[str, FunctionTool] = {}
        for given in functions:
            if isinstance(given, Toolset):
                self._add_set(given)
            else:
                self._add(given)
        self._definitions = f"[{','.join(tool.definition for tool in self._tools.values())}]"

    def _add(self, function: Callable[..., Any]) -> str:
        tool = made(function)
        if tool.name in self._tools:
            raise ValidationError(f"tool {tool.name!r}: is given twice; rename one")
        self._tools[tool.name] = tool
        return tool.name

    def _add_set(self, given: Toolset) -> None:
        if given.name in self.sets:
            raise ValidationError(f"toolset {given.name!r}: is given twice; rename one")
        names = self.sets[given.name] = tuple(self._add(each) for each in given.tools)
        if given.when is not None:
            self.conditions.append((names, given.when))

    def __bool__(self) -> bool:
        return bool(self._tools or self.servers)

    @property
    def functions(self) -> Collection[str]:
        """The names of the functions."""
        return self._tools.keys()

    def find(self, name: str, run_id: int | None = None) -> Any:
        """The `FunctionTool` or the tool of a server with that name; None for one that this handle does not have.

        Those that the run with `run_id` was given for this driving come first.
        """
        own = self.of_runs.get(run_id) if run_id is not None else None
        if own is not None and (found := own.find(name)) is not None:
            return found
        return self._tools.get(name) or (self.servers.find(name) if self.servers else None)

    def ready(self, name: str, stopped: threading.Event, run_id: int | None = None) -> Any:
        """The same; the server of a tool is started if only its kept lists are known, and the tool is the one it lists now.

        Raises `EngineError` where it cannot be started.
        """
        tool = self.find(name, run_id)
        if self.servers and tool is not None and not isinstance(tool, FunctionTool) and not tool.lists:
            self.servers.clients.start(tool.server, stopped)
            tool = self.find(name)
        return tool

    def function(self, name: str) -> FunctionTool | None:
        """The function of that name."""
        return self._tools.get(name)

    def told(self, name: str | None = None) -> list[dict[str, Any]]:
        """Each tool, or the one of that name, as models are told of it; raises `NotFound` (404)."""
        if name is not None and name not in self._tools:
            raise NotFound(f"there is no tool {name!r}; the tools are {', '.join(self._tools) or 'none'}")
        chosen = self._tools.values() if name is None else [self._tools[name]]
        return [tool.told() for tool in chosen]

    def attach(self, db: Store) -> None:
        """Tell the file of the tools, and perform their commands on this connection.

        Raises `ValidationError` (400) for the name of another tool.
        """
        if self._tools:
            db.insert("_give_tools", tools=self._definitions)
        db.connection.create_scalar_function("_tool_call", self._reading, 6, flags=apsw.SQLITE_INNOCUOUS)
        db.execute(_HOOK)

    def offer(self, db: Store, run: str, lease: str) -> None:
        """Tell models of the tools for as long as this process drives the run."""
        if self._tools:
            db.insert("_give_tools", tools=self._definitions)
            db.insert("_offer_tools", run=run, lease=lease, tools=self._definitions)

    def close(self) -> None:
        """End the connections to MCP servers, and that of `own_tables`; closing twice is harmless."""
        self.own_tables.close()
        if self.servers is not None:
            self.servers.clients.close()

    def _reading(self, *given: Any) -> str | None:
        """A command as a call, of its run, action, path, destination, body and attributes; None if its tool is another's."""
        run_id, *command = given
        own = self.of_runs.get(run_id)
        if (tool := own.function(command[0]) if own else None) or (tool := self.function(command[0])):
            chosen = {"ask": int(tool.choices.ask), "idempotent": int(tool.choices.idempotent)}
            return json.dumps(read_call(tool, *command[1:]) | chosen)
        reading = self.servers.read(*command) if self.servers else None
        return None if reading is None else json.dumps(reading)

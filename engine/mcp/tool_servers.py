"""The servers of a handle as a part of its tools: what they offer is told to the file while a run is driven, and their
calls and resources are read and performed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.mcp.clients import Clients
from engine.mcp.limits import DESCRIPTION_CHARACTERS
from engine.mcp.servers import Server, matches
from engine.models.protocol import storable

if TYPE_CHECKING:
    from engine.db.database import Store
    from engine.mcp.offers import Item, Offered
    from engine.mcp.tools import ServerTool

SCHEME = "mcp://"


class Servers:
    """The MCP servers of a handle, for all of its drivers. `root` is the folder that programs work in; `broken` says of
    some that somebody named why they cannot be used.
    """

    def __init__(
        self, servers: Iterable[Server], root: Path | None = None, broken: Mapping[str, str] | None = None
    ) -> None:
        self.clients = Clients(servers, root, broken)
        self._by_name: tuple[int, dict[str, ServerTool]] = (0, {})

    def __bool__(self) -> bool:
        return bool(self.clients)

    def find(self, name: str) -> ServerTool | None:
        """The tool that models call so; None where no server that is connected has it."""
        version, found = self._by_name
        if version != self.clients.version:
            version = self.clients.version
            found = {tool.name: tool for each in self._offered() for tool in each.tools}
            self._by_name = version, found
        return found.get(name)

    def read(
        self, action: str, path: str | None, destination: str | None, body: str | None, attributes: str
    ) -> dict[str, Any] | None:
        """A command as a call of a tool, or as the reading of a resource; None where it is neither."""
        if action == "get":
            return self._resource(path, body, attributes)
        tool = self.find(action)
        return None if tool is None else tool.read(path, destination, body, attributes)

    def _resource(self, path: str | None, body: str | None, attributes: str) -> dict[str, Any] | None:
        """The reading of one resource, where a server of this handle has the name in its path."""
        if path is None or not path.startswith(SCHEME) or body or "like" in json.loads(attributes):
            return None
        name, uri = split(path)
        server = self.clients.servers.get(name)
        if server is None or not uri:
            return None
        ask = not matches(server.allow, f"resource:{uri}")
        return {
            "kind": "fetch",
            "ask": int(ask),
            "idempotent": 1,
            "arguments": {},
            "call": f"get {path}",
            "target": storable(path),
            "shown": storable(f"{name} reads\n{uri}"),
        }

    def tell(self, db: Store, run: str, lease: str, told: set[str], taken: Collection[str]) -> set[str]:
        """Offer the tools of the connected servers to a run, and take back those of `told` that are gone; their names.

        A name that is `taken` by a function of the app is that of the function.
        """
        offered = [tool for each in self._offered() for tool in each.tools if tool.name not in taken]
        names = {tool.name for tool in offered}
        definitions = "[" + ",".join(tool.definition for tool in offered) + "]"
        with db.transaction():
            db.insert("_give_tools", tools=definitions)
            listed = [{"name": name} for name in sorted(names)] + [
                {"name": name, "gone": 1} for name in sorted(told - names)
            ]
            db.insert("_offer_tools", run=run, lease=lease, tools=json.dumps(listed))
            for each in self._offered():
                items = [_row(item) for item in each.items if item.kind != "tool"]
                db.insert("_keep_mcp_items", server=each.server, items=json.dumps(items))
            db.take_in(run)  # many tools are narrowed
        return names

    def _offered(self) -> Iterator[Offered]:
        """What each connected server offers, in the order in which they were given."""
        for name in self.clients.servers:
            if (found := self.clients.offered.get(name)) is not None:
                yield found


def split(path: str) -> tuple[str, str]:
    """The server and the URI of the path of a resource: ``mcp://SERVER/URI``."""
    server, _, uri = path.removeprefix(SCHEME).partition("/")
    return server, uri


def _row(item: Item) -> dict[str, Any]:
    return {
        "kind": item.kind,
        "name": item.name[:DESCRIPTION_CHARACTERS],
        "title": item.title,
        "description": item.description,
        "detail": item.detail,
    }

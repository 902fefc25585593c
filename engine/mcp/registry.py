"""What connected servers offer, for an app: listed, searched, called, read.

`connect(server, …)` connects for the length of a `with`. A call that an app makes is its own: nobody else decides on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from engine.errors import EngineError, NotFound, ValidationError
from engine.system.installing import how_to_install

from .clients import Clients
from .servers import Server

if TYPE_CHECKING:
    from engine.mcp.offers import Item, Offered
    from engine.sandbox import Confined

    from .tools import ServerTool

Kind = Literal["tool", "resource", "template", "prompt"]
_MOST_WORDS = 32


class Registry:
    """The tools, resources and prompts of the servers of `clients` that are connected."""

    def __init__(self, clients: Clients) -> None:
        self.clients = clients

    @property
    def failures(self) -> dict[str, str]:
        """Why servers are not connected, a line each, by their names."""
        return dict(self.clients.failures)

    def items(self, kind: Kind | None = None, server: str | None = None) -> list[Item]:
        """All that is offered, or what is of one kind or server."""
        found = [item for name in self.clients.servers for item in self._items(name)]
        return [each for each in found if kind in (None, each.kind) and server in (None, each.server)]

    def search(self, words: str, kind: Kind | None = None) -> list[Item]:
        """The items in whose names and descriptions the words stand, the best first, by full-text search."""
        import apsw

        items = self.items(kind)
        connection = apsw.Connection(":memory:")
        connection.execute("create virtual table found using fts5 (name, words, tokenize = 'porter unicode61')")
        rows = ((item.name.replace("_", " "), f"{item.server} {item.title} {item.description}") for item in items)
        connection.executemany("insert into found (name, words) values (?, ?)", rows)
        query = " OR ".join(f'"{word}"' for word in words.replace('"', " ").replace("\0", " ").split()[:_MOST_WORDS])
        if not query:
            raise ValidationError("the query is empty; describe what you look for")
        order = "select rowid from found where found match ? order by bm25(found, 4.0, 1.0)"
        found = [items[rowid - 1] for (rowid,) in connection.execute(order, (query,))]
        connection.close()
        return found

    def tool(self, server: str, tool: str) -> ServerTool:
        """A tool by the server's name for it. Raises `NotFound` (404)."""
        tools = {each.tool: each for each in self._offered(server).tools if not each.lists}
        if tool not in tools:
            near = _nearest(tool, tools)
            raise NotFound(
                f"MCP server {server}: tool {tool!r} not found{near}; 'engine mcp show {server}' lists the tools"
            )
        return tools[tool]

    def call(self, server: str, tool: str, arguments: Mapping[str, Any] | None = None) -> str:
        """The text of a tool's result. Raises `ToolFailed` where it says that it failed, and `EngineError`."""
        from .results import call_text

        return call_text(
            self.clients.wait(self.clients.request(server, self.tool(server, tool).tool, dict(arguments or {})))
        )

    def read(self, server: str, uri: str) -> tuple[str, str | None]:
        """The text of a resource, and its MIME type. Raises `EngineError`; `ValidationError` (400) for what is no text."""
        from .results import resource_page

        text, kind = resource_page(self.clients.ask(server, lambda client: client.session.read_resource(uri)))
        if not text:
            raise ValidationError(f"MCP server {server}: {uri} is not text ({kind or 'bytes'})")
        return text, kind

    def prompt(self, server: str, prompt: str, arguments: Mapping[str, str] | None = None) -> str:
        """The text of a prompt. Raises `ValidationError` (400) where an argument is missing, and other `EngineError`s."""
        from .results import prompt_text

        given = dict(arguments or {})
        prompts = {item.name: item for item in self.items("prompt", server)}
        self._offered(server)
        if prompt not in prompts:
            near = _nearest(prompt, prompts)
            raise NotFound(
                f"MCP server {server}: there is no prompt {prompt!r}{near}; 'engine mcp show {server}' lists them"
            )
        needed = [each["name"] for each in prompts[prompt].detail["arguments"] if each["required"]]
        if missing := [each for each in needed if each not in given]:
            raise ValidationError(
                f"MCP server {server}: the prompt {prompt!r} needs {', '.join(missing)}: {missing[0]}=…"
            )
        return prompt_text(self.clients.ask(server, lambda client: client.session.get_prompt(prompt, given)))

    def _items(self, server: str) -> Sequence[Item]:
        found = self.clients.offered.get(server)
        return found.items if found else ()

    def _offered(self, server: str) -> Offered:
        if server in self.clients.offered:
            return self.clients.offered[server]
        if reason := self.clients.failures.get(server):
            raise EngineError(reason, 502)
        known = ", ".join(self.clients.servers) or "none"
        raise NotFound(f"MCP server {server!r}: not found; the servers of this folder are {known}")


def expect_sdk() -> None:
    """Raise `NotFound` (404) where the extra `mcp` is not installed."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise NotFound(f"MCP servers need the extra 'mcp': {how_to_install('mcp')}")


@contextmanager
def connect(
    *servers: Server,
    root: Path | str | None = None,
    waiting: Callable[[list[str]], None] | None = None,
    broken: Mapping[str, str] | None = None,
    confine: Callable[[Server], AbstractContextManager[Confined | None]] | None = None,
) -> Iterator[Registry]:
    """Connect to servers for the length of a `with`; one that fails stands in `failures` of the registry.

    Programs work in `root`, by default the present folder. `waiting` gets the names of those that take longer than a second.
    A server with `sandbox` needs `confine`. Raises `NotFound` (404) where the extra `mcp` is not installed.
    """
    expect_sdk()
    clients = Clients(servers, Path.cwd() if root is None else Path(root), broken)
    if confine is not None:
        clients.confine = confine
    try:
        clients.connect(waiting=waiting)
        yield Registry(clients)
    finally:
        clients.close()


def _nearest(name: str, names: Mapping[str, Any]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, names, 1)
    return f"; did you mean {near[0]}?" if near else ""

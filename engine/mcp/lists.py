"""What a server lists, as it sends it, and as it is kept for the runs that need no server for it.

A list that is kept is a stranger's words like one that is read: nothing of it counts that would not count then.

spec: @mcp_lazy_servers
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError
from engine.system.places import cache_folder, read_cached, write_cached

from .words import line

if TYPE_CHECKING:
    from .connection import Connection
    from .servers import Server

_KEPT_SECONDS = 7 * 86_400
"""A list that is older is read again."""
_MOST_KEPT = 64
_FORM = 1
_SUFFIX = ".mcp"
_FIELDS = {
    "tools": ("name", "title", "description", "input_schema"),
    "resources": ("name", "title", "description", "uri", "mime_type", "size"),
    "templates": ("name", "title", "description", "uri_template", "mime_type"),
    "prompts": ("name", "title", "description", "arguments"),
}
_ARGUMENT = ("name", "description", "required")


class Listed:
    """A tool, resource, template or prompt of a list; what it does not say is None."""

    def __init__(self, fields: Sequence[str], said: Mapping[str, Any]) -> None:
        for field in fields:
            setattr(self, field, said.get(field))
        self.arguments = said.get("arguments")

    def nest(self) -> None:
        """Read the arguments of a prompt."""
        self.arguments = [Listed(_ARGUMENT, each) for each in self.arguments or ()]


@dataclass(frozen=True)
class Lists:
    """The lists of a server; `told` says what it calls itself, `problems` what was cut or could not be read."""

    told: str
    tools: Sequence[Any]
    resources: Sequence[Any]
    templates: Sequence[Any]
    prompts: Sequence[Any]
    problems: tuple[str, ...]

    @classmethod
    async def read(cls, connection: Connection) -> Lists:
        """Read the lists of a server. Raises `EngineError` where it does not list its tools."""
        client = await connection.open()
        tools, cut = await connection.tools()
        problems: list[str] = []
        resources = await _listed(connection.resources(), "resources", problems)
        templates = await _listed(connection.templates(), "templates", problems)
        prompts = await _listed(connection.prompts(), "prompts", problems)
        if cut:
            problems.append(f"more than {len(tools):,} tools")
        info = client.server_info
        told = line(f"{info.name} {info.version}" if info else "", 100)
        return cls(told, tools, resources, templates, prompts, tuple(problems))

    def keep(self, server: Server, root: Path | None) -> None:
        """Keep them for the runs to come, where that can be done."""
        said = {"form": _FORM, "at": time.time(), "told": self.told, "problems": self.problems}
        said |= {kind: [*_plain(getattr(self, kind), fields)] for kind, fields in _FIELDS.items()}
        with suppress(TypeError, ValueError):
            write_cached(_place(server, root), json.dumps(said).encode(), _MOST_KEPT)

    @classmethod
    def kept(cls, server: Server, root: Path | None) -> Lists | None:
        """What the server listed when it was started last; None where that was long ago, or is not kept."""
        data = read_cached(_place(server, root))
        try:
            said = json.loads(data or b"{}")
            if said.get("form") != _FORM or not 0 <= time.time() - said["at"] < _KEPT_SECONDS:
                return None
            lists = {kind: [Listed(fields, each) for each in said[kind]] for kind, fields in _FIELDS.items()}
            for prompt in lists["prompts"]:
                prompt.nest()
            return cls(str(said["told"]), problems=tuple(said["problems"]), **lists)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None


def _place(server: Server, root: Path | None) -> Path:
    """The file of the lists of a server as it is started now."""
    values = [server.name, *server.started(), sorted(server.env), sorted(server.headers), str(root or "")]
    known = [*values, getattr(server.pins, "source", "")]
    return cache_folder() / "mcp" / f"{hashlib.sha256(json.dumps(known).encode()).hexdigest()}{_SUFFIX}"


def _plain(listed: Sequence[Any], fields: Sequence[str]) -> Iterator[dict[str, Any]]:
    for each in listed:
        said = {field: getattr(each, field, None) for field in fields}
        if "uri" in said:
            said["uri"] = str(said["uri"])
        if arguments := said.get("arguments"):
            said["arguments"] = [*_plain(arguments, _ARGUMENT)]
        yield said


async def _listed(work: Awaitable[list[Any]], kind: str, problems: list[str]) -> list[Any]:
    """A list beside that of the tools; where it cannot be read, the server is used without it."""
    try:
        return await work
    except EngineError:
        problems.append(f"its {kind}, which it does not list")
        return []

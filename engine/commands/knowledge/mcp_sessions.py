"""What `engine mcp` asks servers for: they are connected for one command, and ended with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError, NotFound, ValidationError
from engine.terminal.driver import quieten_libraries
from engine.terminal.hints import nearest
from engine.terminal.printing import say, visible

if TYPE_CHECKING:
    from engine.mcp.registry import Registry


@contextmanager
def connected(names: Sequence[str] | None) -> Iterator[Registry]:
    """These servers, or all that count, connected; with names, the first that fails is raised."""
    import engine
    from engine.config.mcp_servers import counting
    from engine.driving.servers import confining
    from engine.mcp.registry import connect, expect_sdk

    expect_sdk()
    quieten_libraries()
    known = {each.name: each for each in counting(Path.cwd()) if each.enabled or names}
    if unknown := next((name for name in names or () if name not in known), None):
        near = nearest(unknown, known, "add one with 'engine mcp add'")
        raise NotFound(f"MCP server {unknown!r}: not found; {near}")
    servers, broken = [], {}
    for each in known.values():
        if names is None or each.name in names:
            try:
                servers.append(each.usable(Path.cwd()))
            except EngineError as error:
                if names is not None:
                    raise
                broken[each.name] = error.message
    with (
        engine.open(":memory:") as db,
        connect(
            *servers,
            waiting=lambda slow: say(f"connecting to {', '.join(slow)}", dim=True),
            broken=broken,
            confine=confining(db, Path.cwd()),
        ) as registry,
    ):
        for name, reason in registry.failures.items():
            if names is not None and name in names:
                raise EngineError(reason, 502)
            say(visible(reason), "yellow")
        yield registry


def call_tool(registry: Registry, server: str, tool: str, words: Sequence[str]) -> dict[str, Any]:
    """What a tool says: `text`, and `failed` where it says that it failed. Raises `EngineError`."""
    from engine.tools.results import ToolFailed

    kinds = {each.real: each.kind for each in registry.tool(server, tool).parameters.values()}
    said: dict[str, Any] = {"server": server, "tool": tool}
    try:
        return said | {"failed": False, "text": registry.call(server, tool, arguments_of(words, kinds))}
    except ToolFailed as error:
        return said | {"failed": True, "text": error.message}


def arguments_of(words: Sequence[str], kinds: dict[str, Any]) -> dict[str, Any]:
    """Arguments as name=value, each read as its tool wants it, or as one JSON object."""
    from engine.tools.kinds import WrongArgument, parsed

    if len(words) == 1 and words[0].lstrip().startswith("{"):
        try:
            value = parsed(words[0])
        except ValueError as error:
            raise ValidationError(f"the arguments are not a JSON object: {error}") from None
        if isinstance(value, dict):
            return value
    found: dict[str, Any] = {}
    for word in words:
        name, mark, text = word.partition("=")
        if not mark:
            raise ValidationError(f"{word[:60]!r} is neither NAME=VALUE nor a JSON object")
        try:
            found[name] = kinds[name].read(text, name) if name in kinds else text
        except WrongArgument as error:
            raise ValidationError(str(error)) from None
    return found

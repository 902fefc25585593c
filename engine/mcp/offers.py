"""What a connected server offers: its tools, resources, templates and prompts, as it listed them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from engine.mcp.limits import DESCRIPTION_CHARACTERS, NAME_CHARACTERS
from engine.mcp.tools import ServerTool, listing_tool, tool_of
from engine.mcp.words import line, tool_name

if TYPE_CHECKING:
    from mcp_types import Tool

    from engine.mcp.lists import Lists
    from engine.mcp.servers import Server

Call = Callable[[str, dict[str, Any]], Awaitable[Any]]
"""Calls a tool by the server's name for it, with arguments."""


@dataclass(frozen=True)
class Item:
    """Something that a server lists: `kind` is tool, resource, template or prompt; `name` is a URI for resources."""

    server: str
    kind: str
    name: str
    title: str
    description: str
    detail: dict[str, Any]


@dataclass(frozen=True)
class Offered:
    """What the server `server` offers; `told` says what it calls itself, `left_out` how its lists were cut."""

    server: str
    told: str
    tools: tuple[ServerTool, ...]
    items: tuple[Item, ...]
    left_out: str = ""

    @classmethod
    def of(cls, server: Server, lists: Lists, call: Call, before: Offered | None = None) -> Offered:
        """What these lists of a server offer; `call` is what calls one of its tools.

        A tool that was told of before and is defined otherwise now needs a decision, whatever the user allows by its name.
        """
        problems = list(lists.problems)
        usable = [tool for tool in lists.tools if _is_usable(tool.name)]
        tools = _as_pinned(server, _tools(server, usable, call))
        if before is not None:
            tools = tuple(_changed(tool, before) for tool in tools)
        if bad := len(lists.tools) - len(usable):
            problems.append(f"{bad} tools with unusable names")
        if lists.resources or lists.templates:
            taken = {tool.name for tool in tools}
            tools = (*tools, listing_tool(server, lists.resources, lists.templates, taken))
        items = tuple(_items(server.name, usable, lists.resources, lists.templates, lists.prompts))
        return cls(server.name, lists.told, tools, items, ", ".join(problems))


def _tools(server: Server, listed: list[Tool], call: Call) -> tuple[ServerTool, ...]:
    found: dict[str, ServerTool] = {}
    seen: set[str] = set()
    for tool in listed:
        if tool.name in seen or not server.tells(tool.name):
            continue
        seen.add(tool.name)
        name = tool_name(server.name, tool.name, found)
        found[name] = tool_of(server, tool, name, call)
    return tuple(found.values())


def _as_pinned(server: Server, tools: tuple[ServerTool, ...]) -> tuple[ServerTool, ...]:
    """The tools, of which those ask that were allowed as something else; what is seen first is kept."""
    if server.pins is None:
        return tools
    known = server.pins.known()
    server.pins.keep({each.tool: each.digest for each in tools if not each.choices.ask and each.tool not in known})
    return tuple(_asking(each) if known.get(each.tool, each.digest) != each.digest else each for each in tools)


def _changed(tool: ServerTool, before: Offered) -> ServerTool:
    old = next((each for each in before.tools if each.tool == tool.tool), None)
    if old is None or (old.digest == tool.digest and old.choices.ask == tool.choices.ask) or tool.choices.ask:
        return tool
    return _asking(tool)


def _asking(tool: ServerTool) -> ServerTool:
    """A tool that asks although it is allowed by its name."""
    if tool.choices.ask:
        return tool
    definition = tool.definition.replace('"ask":0', '"ask":1', 1)
    return replace(tool, choices=tool.choices._replace(ask=True), definition=definition, is_changed=True)


def _is_usable(name: str) -> bool:
    return 0 < len(name) <= NAME_CHARACTERS and line(name, NAME_CHARACTERS) == name and name.isprintable()


def _items(
    server: str,
    tools: Sequence[Any],
    resources: Sequence[Any],
    templates: Sequence[Any],
    prompts: Sequence[Any],
) -> Iterator[Item]:
    for tool in tools:
        yield Item(server, "tool", tool.name, *_words(tool), {"schema": tool.input_schema})
    for resource in resources:
        detail = {"mime_type": line(resource.mime_type, 100) or None, "size": resource.size}
        yield Item(server, "resource", line(resource.uri, DESCRIPTION_CHARACTERS), *_words(resource), detail)
    for template in templates:
        detail = {"mime_type": line(template.mime_type, 100) or None}
        yield Item(server, "template", line(template.uri_template, DESCRIPTION_CHARACTERS), *_words(template), detail)
    for prompt in prompts:
        arguments = [
            {"name": line(each.name, 64), "description": line(each.description, 300), "required": bool(each.required)}
            for each in (prompt.arguments or [])[:64]
        ]
        yield Item(server, "prompt", line(prompt.name, NAME_CHARACTERS), *_words(prompt), {"arguments": arguments})


def _words(item: Any) -> tuple[str, str]:
    return line(item.title or item.name, 200), line(item.description, DESCRIPTION_CHARACTERS)

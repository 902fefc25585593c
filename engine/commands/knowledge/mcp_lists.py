"""How servers, and what they offer, are shown to a person. What a server says is shown with escapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from engine.terminal.printing import one_line, print_json, print_table, visible

if TYPE_CHECKING:
    from engine.config.mcp_servers import Configured
    from engine.mcp.offers import Item, Offered
    from engine.mcp.servers import Server


def print_servers(found: Sequence[Configured], *, as_json: bool) -> None:
    """Print a line for each server that is named."""
    rows = [
        {
            "server": each.name,
            "of": each.layer,
            "state": _state(each),
            "place": " ".join(each.data.get("command", [])) or each.data.get("url", ""),
            "confirmed": each.confirmed,
            "source": str(each.source),
            "settings": each.shown,
        }
        for each in found
    ]
    if as_json:
        print_json(rows)
    else:
        print_table(rows, ("server", "of", "state", "place"), "no MCP servers; add one with 'engine mcp add'")


def server_lines(server: Configured) -> Iterator[str]:
    """What a project says of a server, line by line, for who has to confirm it."""
    yield f"{server.name}, of {visible(str(server.source))}:"
    for key, value in server.shown.items():
        shown = " ".join(value) if key == "command" else value
        yield f"  {key}: {visible(str(shown))}"


def print_offered(server: Server, offered: Offered, *, as_json: bool) -> None:
    """Print what a server offers."""
    if as_json:
        print_json(
            {
                "server": server.name,
                "calls_itself": offered.told,
                "left_out": offered.left_out,
                "tools": [_tool(tool) for tool in offered.tools],
                "items": [asdict(item) for item in offered.items if item.kind != "tool"],
            }
        )
        return
    typer.echo(f"{server.name}: {visible(offered.told) or 'says nothing of itself'} ({visible(server.place())})")
    if offered.left_out:
        typer.echo(f"left out: {visible(offered.left_out)}")
    rows = [
        {
            "kind": "tool",
            "name": tool.tool,
            "decision": _decision(tool),
            "about": tool.told()["meaning"].partition(": ")[2],
        }
        for tool in offered.tools
        if not tool.lists
    ]
    rows += [
        {"kind": item.kind, "name": item.name, "decision": "", "about": item.description or item.title}
        for item in offered.items
        if item.kind != "tool"
    ]
    print_table(
        [_line(row) for row in rows], ("kind", "name", "decision", "about"), "it offers no tools, resources or prompts"
    )


def print_items(items: Sequence[Item], *, as_json: bool) -> None:
    """Print items that were found."""
    rows = [
        {"server": each.server, "kind": each.kind, "name": each.name, "about": each.description or each.title}
        for each in items
    ]
    if as_json:
        print_json(rows)
    else:
        print_table([_line(row) for row in rows], ("server", "kind", "name", "about"), "nothing was found")


def _state(each: Configured) -> str:
    if not each.enabled:
        return "off"
    return "on" if each.confirmed else "not confirmed"


def _decision(tool: Any) -> str:
    if tool.is_changed:
        return "asks: its definition has changed"
    return "asks" if tool.choices.ask else "allowed"


def _tool(tool: Any) -> dict[str, Any]:
    return {"tool": tool.tool, "called": tool.name, "digest": tool.digest, **tool.told()}


def _line(row: dict[str, Any]) -> dict[str, Any]:
    return {key: one_line(value, 120) for key, value in row.items()}

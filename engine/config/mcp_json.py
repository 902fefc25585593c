"""The files in which other programs keep MCP servers: JSON with comments, TOML, or YAML.

| program | where the servers stand |
|---|---|
| Claude, Cursor, Windsurf, Cline, Gemini, Copilot | `mcpServers` |
| VS Code | `servers`, or `mcp.servers` in its settings |
| Zed | `context_servers` |
| opencode | `mcp` |
| Codex | `[mcp_servers.NAME]` |
| Continue | `mcpServers`, a list, in YAML |

spec: @mcp_import
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.errors import ValidationError
from engine.functions.located import Located, Unreadable, read_located
from engine.mcp.servers import usable_name
from engine.system.descriptors import open_to_read

from .mcp_taken import Taken, taken

_MOST_BYTES = 1 << 20
_PLACES = (("mcpServers",), ("servers",), ("mcp", "servers"), ("context_servers",), ("mcp_servers",), ("mcp",))
"""Where servers stand in a file; the first that is there counts."""


def read_servers(place: Path) -> Iterator[tuple[str, Taken]]:
    """The name of each server in a file, and what can be taken over of it. Raises `ValidationError` (400)."""
    whole = _read(place)
    servers = next((found for path in _PLACES if (found := _below(whole, path)) is not None), None)
    if servers is None and whole and all(_is_server(each) for each in whole.values()):
        servers = whole
    if servers is None:
        raise ValidationError(
            f"{place}: has no MCP servers; the file needs one of the keys mcpServers, servers, context_servers, "
            "mcp or mcp_servers"
        )
    for name, data in servers.items():
        yield usable_name(str(name)), taken(data)


def _is_server(data: Any) -> bool:
    return isinstance(data, dict) and ("command" in data or "url" in data)


def _below(whole: Any, path: tuple[str, ...]) -> Mapping[str, Any] | None:
    for each in path:
        whole = whole.get(each) if isinstance(whole, dict) else None
    if isinstance(whole, list) and all(isinstance(each, dict) and "name" in each for each in whole):
        # Continue keeps a list
        return {str(each["name"]): {key: value for key, value in each.items() if key != "name"} for each in whole}
    return whole if isinstance(whole, dict) else None


def _read(place: Path) -> dict[str, Any]:
    try:
        with open(open_to_read(place, os.O_NONBLOCK), "rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise ValidationError(f"{place}: cannot be read ({error.strerror})") from None
    if len(data) > _MOST_BYTES:
        raise ValidationError(f"{place}: is longer than a megabyte")
    try:
        text = data.decode("utf-8-sig")
        is_yaml = place.suffix in (".yaml", ".yml")
        found = (
            tomllib.loads(text)
            if place.suffix == ".toml"
            else _plain(read_located(text, "yaml" if is_yaml else "jsonc"))
        )
    except Unreadable as error:
        raise ValidationError(f"{place}:{error.line}: {error.message}") from None
    except (ValueError, RecursionError) as error:
        raise ValidationError(f"{place}: cannot be read ({error})") from None
    return found if isinstance(found, dict) else {}


def _plain(value: Located) -> Any:
    """A value as `json.loads` would give it."""
    match value.kind:
        case "map":
            return {key: _plain(each) for key, each in value.pairs.items()}
        case "list":
            return [_plain(each) for each in value.items]
        case "text":
            return value.text
    return None if value.kind == "null" else json.loads(value.text.lower())

"""The JSON in which other programs keep MCP servers: `mcpServers` of `.mcp.json`, or `servers`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.db.descriptors import open_to_read
from engine.errors import ValidationError
from engine.mcp.servers import usable_name

_MOST_BYTES = 1 << 20
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)(:-[^}]*)?\}")


def read_servers(place: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name and the table ``[mcp.NAME]`` of each server in a file. Raises `ValidationError` (400)."""
    try:
        with open(open_to_read(place, os.O_NONBLOCK), "rb") as file:
            found = json.loads(file.read(_MOST_BYTES))
    except OSError as error:
        raise ValidationError(f"{place}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise ValidationError(f"{place}: is no JSON") from None
    servers = found.get("mcpServers", found.get("servers")) if isinstance(found, dict) else None
    if not isinstance(servers, dict):
        raise ValidationError(f"{place}: holds no mcpServers")
    for name, data in servers.items():
        yield usable_name(str(name)), _table(data if isinstance(data, dict) else {})


def _table(data: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if command := data.get("command"):
        words = [command, *data.get("args", [])] if isinstance(command, str) else command
        made["command"] = [_named(each) for each in words] if isinstance(words, list) else words
    if url := data.get("url") or data.get("serverUrl"):
        made["url"] = url
    for key in ("env", "headers"):
        if isinstance(values := data.get(key), dict) and values:
            made[key] = {str(each): _named(value) for each, value in values.items()}
    if isinstance(folder := data.get("cwd"), str):
        made["cwd"] = folder
    if data.get("disabled") is True:
        made["enabled"] = False
    return made


def _named(value: Any) -> Any:
    """A value whose `${NAME}` says that the variable is meant."""
    return (
        _VARIABLE.sub(lambda found: f"${{env:{found[1]}{found[2] or ''}}}", value) if isinstance(value, str) else value
    )

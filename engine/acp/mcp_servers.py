"""The one place where the MCP servers that a client names for a session are taken over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from acp import schema

from engine.errors import ValidationError

if TYPE_CHECKING:
    from engine.mcp.servers import Server

CAPABILITIES = schema.McpCapabilities(http=True, sse=False)
"""What the client is told of the servers that a session may be given; programs always are taken."""
MOST = 64
"""Servers of one session."""


def taken_over(servers: Sequence[Any] | None) -> tuple[Server, ...]:
    """The servers that a client names. Raises `ValidationError` (400) for one that cannot be used.

    Where the library for them is missing, or one fails, the run says so when it is driven, and goes on without it.
    """
    if not servers:
        return ()
    from engine.mcp.servers import Server

    found = tuple(Server.of_data(each.model_dump(by_alias=True, exclude_none=True)) for each in servers[: MOST + 1])
    if len(found) > MOST:
        raise ValidationError(f"mcpServers: a session has at most {MOST} servers")
    if twice := {each.name for each in found if [other.name for other in found].count(each.name) > 1}:
        raise ValidationError(f"mcpServers: two servers are called {min(twice)}; give each server a different name")
    return found

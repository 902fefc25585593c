"""The one place where the MCP servers that a client names for a session are taken over."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from acp import schema

from .shown import title

CAPABILITIES = schema.McpCapabilities(http=False, sse=False)
"""What the client is told of the servers that a session may be given."""


def take_over(servers: Sequence[Any] | None) -> str:
    """What a person is told of the servers that a client names; '' without any. They are left out."""
    if not servers:
        return ""
    names = ", ".join(title(str(each.name), 60) for each in servers)
    told = f"MCP servers are not used: {names}"
    logging.getLogger(__name__).warning("%s", told)
    return told

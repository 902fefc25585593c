"""MCP, the Model Context Protocol: servers of tools, resources and prompts that models of a run may use.

`Server` says what a server is; `engine.open(path, mcp=[Server(...)])` lets models use it, `connect` an app. `Log`, `Request`
and `Response` are what the hooks of a server get. The official SDK is imported when the first server is connected.
"""

from __future__ import annotations

from .registry import Registry, connect
from .servers import Auth, Log, Refresh, Request, Response, Server, Token

__all__ = ["Auth", "Log", "Refresh", "Registry", "Request", "Response", "Server", "Token", "connect"]

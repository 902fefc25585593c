"""Reads a resource of an MCP server, whose text becomes an entry as that of a page does."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError
from engine.functions.limits import Stopped

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.handle import Handle


def perform(db: Handle, stopped: threading.Event, request: Row) -> dict[str, Any]:
    """Read the resource of a request; returns the columns of its `_finish_effect`.

    Raises `Stopped` when `stopped` is set; the effect is performed again then.
    """
    from engine.mcp.tool_servers import split

    name, uri = split(request["target"])
    servers = db.app_tools.servers if db.app_tools else None
    if servers is None or name not in servers.clients.servers:
        known = ", ".join(servers.clients.servers) if servers else ""
        which = f"there are {known}" if known else "there are no servers; add one with 'engine mcp add'"
        return _failed("not_found", f"there is no MCP server {name!r} here: {which}")
    from engine.mcp.registry import expect_sdk

    try:
        expect_sdk()
        from engine.mcp.results import resource_page

        result = servers.clients.ask(name, lambda client: client.session.read_resource(uri), stopped)
        text, kind = resource_page(result)
    except EngineError as error:
        if stopped.is_set():
            raise Stopped(f"{name}: the driver was stopped") from None
        return _failed({404: "not_found", 504: "timeout"}.get(error.status, "unreachable"), error.message)
    if not text:
        return _failed(
            "unsupported", f"{uri} is not text ({kind or 'bytes'}); its server may have a tool that reads it"
        )
    if len(text.encode()) > request["size"]:
        return _failed("overflow", f"{uri} has more than {request['size']:,} bytes (web_max_bytes)")
    page = {"path": request["target"], "body": text, "attributes": {"content_type": kind}}
    return {"state": "resolved", "pages": json.dumps([page])}


def _failed(outcome: str, message: str) -> dict[str, Any]:
    return {"state": "failed", "outcome": outcome, "message": message}

"""An MCP server of an office, made with the official SDK: over its input and output, or over HTTP on a port of loopback.

`python office.py stdio`, or `python office.py http SOCKET [TOKEN]` with the descriptor of a socket that listens; what it is
asked for is told in the file of $OFFICE_NOTES.
"""

from __future__ import annotations

import base64
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import ImageContent, TextContent, ToolAnnotations

server = MCPServer("office", version="1.0", instructions="Knows rooms and prices.")
PNG = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003010100c9fe92ef"
        "0000000049454e44ae426082"
    )
).decode()


def note(text: str) -> None:
    """Tell the test what was done."""
    if place := os.environ.get("OFFICE_NOTES"):
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(text + "\n")


@server.tool(description="Book a room.\n\nRooms are A, B and C.")
def book(room: str, hours: int = 1) -> str:
    note(f"book {room} {hours}")
    return f"room {room} is booked for {hours} h"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def price(room: str) -> dict[str, Any]:
    """What a room costs."""
    note(f"price {room}")
    return {"room": room, "price": 12.5}


@server.tool()
def fail(why: str) -> str:
    """Fail."""
    raise ValueError(why)


@server.tool()
async def slow(seconds: float) -> str:
    """Take a while."""
    import anyio

    note("slow began")
    try:
        await anyio.sleep(seconds)
    except BaseException:
        note("slow cancelled")
        raise
    note("slow ended")
    return "done"


@server.tool()
def plan() -> list[Any]:
    """A picture of the office."""
    return [TextContent(text="the plan"), ImageContent(data=PNG, mime_type="image/png")]


@server.tool()
def environment(name: str) -> str:
    """A variable of its environment."""
    return os.environ.get(name, "not set")


@server.tool()
def backwards(name: str) -> str:
    """A variable of its environment, backwards."""
    return os.environ.get(name, "not set")[::-1]


@server.tool()
def die() -> str:
    """End the server."""
    os._exit(3)


@server.tool()
async def say(text: str, context: Context) -> str:
    """Write to the log."""
    print(f"printed {text}", file=sys.stderr, flush=True)
    await context.info(text)
    return "said"


@server.tool()
async def learn(name: str, context: Context) -> str:
    """Have a tool more."""

    def more(text: str) -> str:
        """A tool that was learnt."""
        return text.upper()

    server.add_tool(more, name=name)
    await context.notify_tools_changed()
    return f"learnt {name}"


@server.resource("office://rules", title="House rules", description="What everybody keeps to.")
def rules() -> str:
    note("read rules")
    return "No smoking.\nThe key lies at the desk."


@server.resource("office://room/{name}", description="A room by its name.")
def room(name: str) -> str:
    note(f"read room {name}")
    return f"Room {name} has 12 chairs."


@server.prompt(description="Ask for a review of a room.")
def review(room: str, tone: str = "polite") -> str:
    return f"Review room {room} in a {tone} tone."


class Guarded:
    """Asks for a token."""

    def __init__(self, app: Any, token: str) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers") or [])
        if scope["type"] == "http" and headers.get(b"authorization") != f"Bearer {self.token}".encode():
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await self.app(scope, receive, send)


def main() -> None:
    """Serve as the arguments say."""
    time.sleep(float(os.environ.get("OFFICE_SLEEP", "0")))
    if sys.argv[1] == "stdio":
        server.run("stdio")
        return
    import uvicorn

    app: Any = server.streamable_http_app()
    if len(sys.argv) > 3:
        app = Guarded(app, sys.argv[3])
    key, certificate = os.environ.get("OFFICE_KEY"), os.environ.get("OFFICE_CERTIFICATE")
    config = uvicorn.Config(app, log_level="error", ssl_keyfile=key, ssl_certfile=certificate)
    # the descriptor of a socket that listens already: whoever comes before the server is there waits for it
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[2]))])


if __name__ == "__main__":
    main()

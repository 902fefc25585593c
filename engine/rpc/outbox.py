"""What waits for a client to read it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from websockets.exceptions import ConnectionClosed

from .messages import encoded

if TYPE_CHECKING:
    from websockets.asyncio.server import ServerConnection

MOST_CHARS = 32_000_000
"""Characters that may wait; a client that lets more wait does not read."""


class Outbox:
    """Messages for the client at `socket`, sent in their order as it reads them."""

    def __init__(self, socket: ServerConnection) -> None:
        self._socket = socket
        # the name of what a message replaces, or the message
        self._waiting: asyncio.Queue[tuple[str | None, str]] = asyncio.Queue()
        self._latest: dict[str, str] = {}
        self._chars = 0
        self._is_gone = False
        self._has_room = asyncio.Event()
        self._has_room.set()

    @property
    def is_overfull(self) -> bool:
        """Whether more waits than may."""
        return self._chars > MOST_CHARS

    def put(self, message: dict[str, Any] | list[dict[str, Any]], *, replaces: str | None = None) -> None:
        """Have a message sent. With `replaces` it takes the place of one that was put under that name and still waits."""
        text = encoded(message)
        if replaces is None:
            self._waiting.put_nowait((None, text))
        else:
            before, self._latest[replaces] = self._latest.get(replaces), text
            if before is None:
                self._waiting.put_nowait((replaces, ""))
            else:
                self._chars -= len(before)
        self._count(len(text))

    async def room(self) -> None:
        """Wait while a client that asks does not read: it is not asked for more. Returns when it is gone, too."""
        await self._has_room.wait()

    async def write(self) -> None:
        """Send what is put, until the client is gone."""
        try:
            with suppress(ConnectionClosed):
                while True:
                    name, text = await self._waiting.get()
                    text = text if name is None else self._latest.pop(name)
                    await self._socket.send(text)
                    self._count(-len(text))
        finally:
            self._is_gone = True
            self._has_room.set()

    def _count(self, chars: int) -> None:
        self._chars += chars
        if self._chars > MOST_CHARS // 2 and not self._is_gone:
            self._has_room.clear()
        else:
            self._has_room.set()

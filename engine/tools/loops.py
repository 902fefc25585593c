"""The event loop of the app in which a run is driven, where there is one."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

app_loop: ContextVar[AbstractEventLoop | None] = ContextVar("app_loop", default=None)
"""Set in the threads that work for asyncio."""

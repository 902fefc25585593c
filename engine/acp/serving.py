"""Serves one client over stdin and stdout: nothing but the protocol is written to stdout."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from acp.agent.connection import AgentSideConnection

from engine.system.secrets import scrubbed

from .agent import EngineAgent
from .lines import Lines

if TYPE_CHECKING:
    from engine.serving import Serving

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def serve(serving: Serving) -> None:
    """Serve the client at stdin and stdout until it is gone or a signal comes; a second one ends the process at once."""
    if os.isatty(0):
        sys.stderr.write(
            "engine serve acp: waits for an editor on stdin and stdout; the README shows how to set up an editor\n"
        )
    source, target = _own_descriptors()
    _log_to_stderr()
    asyncio.run(_serve(serving, source, target))


async def _serve(serving: Serving, source: int, target: int) -> None:
    lines = Lines(source, target)
    agent = EngineAgent(serving, lines)
    connection = AgentSideConnection(agent, lines, listening=False, use_unstable_protocol=True)  # type: ignore[arg-type]
    listening = asyncio.ensure_future(connection.listen())
    loop = asyncio.get_running_loop()
    for each in _SIGNALS:
        loop.add_signal_handler(each, _stop, loop, listening)
    with suppress(asyncio.CancelledError):
        await listening
    agent.stop()
    await lines.settle()
    with suppress(ConnectionError):  # what was to be said to a client that is gone
        await connection.close()
    await agent.close()


def _stop(loop: asyncio.AbstractEventLoop, listening: asyncio.Future[None]) -> None:
    for each in _SIGNALS:
        loop.remove_signal_handler(each)
        signal.signal(each, signal.SIG_DFL)
    listening.cancel()


def _own_descriptors() -> tuple[int, int]:
    """Where the client speaks and hears. What prints to stdout prints to stderr from now on, and stdin is at its end."""
    source, target = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    return source, target


class _Line(logging.Formatter):
    """A record in one line without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        if not os.environ.get("ENGINE_DEBUG"):
            if record.exc_info and record.exc_info[1]:
                record.msg, record.args = f"{record.getMessage()}: {record.exc_info[1]}", ()
            record.exc_info = record.exc_text = None
        text = scrubbed(super().format(record))
        return text if os.environ.get("ENGINE_DEBUG") else " ".join(text.split())[:1_000]


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line("engine serve acp: %(message)s"))
    handler.addFilter(lambda record: not (record.exc_info and isinstance(record.exc_info[1], ConnectionError)))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)

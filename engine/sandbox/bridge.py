"""Leads from a sandbox without network to the proxy outside, and runs the command. A program of its own, given as text.

`python -I -S -c TEXT SOCKET COMMAND...`: listens on 127.0.0.1 in the sandbox's own network, joins each connection with one
to the unix socket SOCKET, and ends with the command. It imports nothing of the engine and decides nothing.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from contextlib import suppress

PORT = 3128
_PIECE = 65_536


def main(path: str, command: list[str]) -> int:
    """Start the command, serve until it ends, and return its exit code."""
    listener = socket.create_server(("127.0.0.1", PORT), backlog=64)
    child = os.fork()
    if child == 0:
        listener.close()
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it
        try:
            os.execvp(command[0], command)  # noqa: S606 - the command itself
        finally:
            os._exit(126)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_serve, args=(listener, path), daemon=True).start()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else 128 - code


def _serve(listener: socket.socket, path: str) -> None:
    while True:
        inner, _ = listener.accept()
        outer = socket.socket(socket.AF_UNIX)
        try:
            outer.connect(path)
        except OSError:
            inner.close()
            continue
        for pair in ((inner, outer), (outer, inner)):
            threading.Thread(target=_copy, args=pair, daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_PIECE):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    os._exit(main(sys.argv[1], sys.argv[2:]))

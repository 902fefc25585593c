"""A pseudo terminal at which tests answer what `engine` asks."""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path

from driving import heed_signals
from engine_cli import ENGINE, SECONDS, environment


class Terminal:
    """`engine` on a pseudo terminal, stdout apart: what is said is read, answers are typed."""

    def __init__(self, folder: Path, *arguments: str, **extra: str) -> None:
        self._ours, theirs = pty.openpty()
        size = struct.pack("HHHH", getattr(self, "rows", 0), getattr(self, "columns", 0), 0, 0)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
        self.said = ""
        self._decoded = codecs.getincrementaldecoder("utf-8")("replace")  # a character may come in two pieces
        self._read = 0
        self._process = subprocess.Popen(
            [*ENGINE, *arguments],
            cwd=folder,
            env=environment(folder.parent, TERM="xterm-256color", **extra),
            stdin=theirs,
            stderr=theirs,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=_at_terminal,
        )
        self.name = os.ttyname(theirs)
        os.close(theirs)

    def expect(self, text: str) -> None:
        """Wait until `text` has been said after what was expected before."""
        deadline = time.monotonic() + SECONDS
        while (place := self.said.find(text, self._read)) < 0:
            assert time.monotonic() < deadline, f"{text!r} was not said, but: {self.said}"
            if select.select([self._ours], [], [], 0.1)[0]:
                self.said += self._decoded.decode(os.read(self._ours, 4096))
        self._read = place + len(text)

    def listen(self) -> None:
        """Read what has been said."""
        while select.select([self._ours], [], [], 0)[0]:
            self.said += self._decoded.decode(os.read(self._ours, 4096))

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    @property
    def descriptor(self) -> int:
        """Our side of the terminal, for what is no text."""
        return self._ours

    def interrupt(self, number: signal.Signals = signal.SIGINT) -> None:
        """Send a signal, as the terminal does at Ctrl-C."""
        self._process.send_signal(number)

    def wait(self) -> int:
        """Wait until it is gone, after a signal that it cannot take; its exit code."""
        return self._process.wait(SECONDS)

    def end(self) -> tuple[int, str]:
        """Wait for its end; exit code and stdout."""
        deadline = time.monotonic() + SECONDS
        with contextlib.suppress(OSError):  # how a pseudo terminal says that its other side is closed
            while time.monotonic() < deadline:
                if select.select([self._ours], [], [], 0.1)[0]:
                    self.said += self._decoded.decode(os.read(self._ours, 4096))
        stdout, _ = self._process.communicate(timeout=SECONDS)
        return self._process.returncode, stdout

    def hang_up(self) -> int:
        """Close the terminal, as its window is closed; the exit code of the command."""
        self.close_terminal()
        self._process.send_signal(signal.SIGHUP)  # the system sends it to those that the terminal controls
        self._process.communicate(timeout=SECONDS)
        return self._process.returncode

    def close_terminal(self) -> None:
        """Close the terminal without a signal."""
        os.close(self._ours)
        self._ours = -1

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()
        if self._ours >= 0:
            os.close(self._ours)


def _at_terminal() -> None:
    """Before the command begins: it heeds signals, and its terminal tells it of a new size."""
    heed_signals()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


OpenTerminal = Callable[..., Terminal]

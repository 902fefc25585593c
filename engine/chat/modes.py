"""The modes of the terminal: what a command needs while it runs, and what is left when the process is killed.

spec: @chat_screen
"""

from __future__ import annotations

import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_LOCAL = 3
"""The place of the local modes in what termios tells."""
_RESTORES = """
read -r word || { stty "$0" <&2; printf '\\033[?2004l\\033[?2026l\\033[?25h\\033[0m' >&2; }
"""
"""Puts the terminal back if the pipe ends without a word: the process that would have written it was killed."""


@contextmanager
def interruptible() -> Iterator[None]:
    """While something runs that Ctrl-C is to stop; keys that are typed stay as they are, for whoever reads them next."""
    number = sys.stdin.fileno()
    modes = termios.tcgetattr(number)
    changed = [*modes[:_LOCAL], modes[_LOCAL] | termios.ISIG, *modes[_LOCAL + 1 :]]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        termios.tcsetattr(number, termios.TCSANOW, changed)
        yield
    except KeyboardInterrupt:
        sys.stderr.write("\n")
    finally:
        signal.signal(signal.SIGINT, before)
        with suppress(termios.error):
            termios.tcsetattr(number, termios.TCSANOW, modes)


@contextmanager
def guarded() -> Iterator[None]:
    """A small process puts the terminal back as it is now if this one is killed meanwhile."""
    saved = _saved()
    if saved is None:
        yield
        return
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _RESTORES, saved],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        with suppress(OSError):
            guard.communicate(b"done\n")


def _saved() -> str | None:
    """The modes of the terminal as `stty` takes them; None where there is no `stty`."""
    try:
        told = subprocess.run(["stty", "-g"], stdin=sys.stdin, capture_output=True, text=True, check=True)  # noqa: S607 - of the system
    except (OSError, subprocess.CalledProcessError):
        return None
    return told.stdout.strip() or None


__all__ = ["guarded", "interruptible"]

"""Hands a text to the person's own editor or pager, and takes it back."""

from __future__ import annotations

import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TextIO

import typer

from engine.system.places import temporary_folder

from .printing import say

_EDITORS = ("VISUAL", "EDITOR")


def chosen_editor() -> str | None:
    """The editor that the person has chosen, in $VISUAL or $EDITOR; None for none."""
    return next(filter(None, map(_told, _EDITORS)), None)


def edited(text: str, name: str) -> str | None:
    """`text` as the person left it in $VISUAL or $EDITOR, in a file whose name ends like `name`.

    None where there is no editor, or it fails; then stderr says why.
    """
    command = chosen_editor() or _found("nano", "vi")
    if command is None:
        say("no editor is set; set EDITOR", "yellow")
        return None
    with tempfile.TemporaryDirectory(prefix="engine-", dir=temporary_folder()) as folder:
        # only the ending is taken from the path: it comes from a model
        suffix = Path(name).suffix
        path = Path(folder, "proposal" + (suffix if suffix[1:].isalnum() else ".txt"))
        path.write_text(text, encoding="utf-8", newline="")
        try:
            with _signals_left():
                code = subprocess.run([*shlex.split(command), str(path)], check=False).returncode
            if code == 0:
                return path.read_bytes().decode("utf-8")
            say(f"{command}: ended with {code}; nothing was changed", "yellow")
        except (OSError, ValueError) as error:
            say(f"{command}: {getattr(error, 'strerror', None) or error}; nothing was changed", "yellow")
    return None


def paged(lines: Iterable[str], stream: TextIO | None = None) -> None:
    """Show lines, whose controls are drawn already, in $PAGER, less or more; without one on `stream`, by default stderr.

    What fits on one screen is printed by less, which waits for no key then.
    """
    text = "\n".join(lines)
    command = _told("PAGER") or _found("less", "more")
    if command:
        try:
            environment = {**os.environ, "LESS": "-FR", "LESSSECURE": "1"}
            with _signals_left():
                subprocess.run(
                    shlex.split(command), input=text.encode(), env=environment, stdout=stream or sys.stderr, check=False
                )
            return
        except (OSError, ValueError):
            pass
    typer.echo(text, file=stream or sys.stderr)


class _Kept(io.StringIO):
    """What is printed for a terminal, until it is known whether it fits on the screen."""

    def isatty(self) -> bool:
        return True


@contextmanager
def paging() -> Iterator[None]:
    """At a terminal, show what is printed on stdout meanwhile in the person's pager, if it is longer than the screen."""
    if not sys.stdout.isatty():
        yield
        return
    kept, stream = _Kept(), sys.stdout
    with redirect_stdout(kept):
        yield
    lines = kept.getvalue().splitlines()
    if len(lines) < shutil.get_terminal_size().lines:
        stream.write(kept.getvalue())
    else:
        paged(lines, stream)


def _told(name: str) -> str | None:
    """A variable of the environment; None where it is missing or blank."""
    return os.environ.get(name, "").strip() or None


@contextmanager
def _signals_left() -> Iterator[None]:
    """Leave Ctrl-C to the program at the terminal, which may mean something else by it, while that runs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # a function, not SIG_IGN: that one would be the program's too
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _found(*names: str) -> str | None:
    return next((name for name in names if shutil.which(name)), None)

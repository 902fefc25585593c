"""Asks the person at the terminal a question, and reads the answer.

spec: @asking
"""

from __future__ import annotations

import os
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn, TextIO

import typer

from engine.display.demo_mode import hidden

from .exit_codes import FAILED, INTERRUPTED
from .printing import paint, say
from .standard_input import descriptor


def at_terminal() -> bool:
    """Whether a person can be asked: stdin and stderr are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def terminal() -> TextIO | None:
    """Where a person's answers are read: stdin, or the terminal itself where stdin is a pipe or a file; None without one."""
    if not sys.stderr.isatty():
        return None
    if sys.stdin.isatty():
        return sys.stdin
    if descriptor() is None:
        return None
    try:
        opened = open("/dev/tty", encoding=sys.stdin.encoding)  # noqa: SIM115 - read as long as the process lives
        return opened if os.tcgetpgrp(opened.fileno()) == os.getpgrp() else None
    except OSError:
        return None


def asked(source: TextIO, question: str) -> str:
    """The line that the person types behind a question, '' at the end of the input. The question goes to stderr: stdout
    is for what a command prints.
    """
    sys.stderr.write(paint(hidden(question), "yellow", stream=sys.stderr))
    sys.stderr.flush()
    with _typed(source):
        line = source.readline()
    if not line.endswith("\n"):
        say()  # nobody typed the end of the line
    return line


@contextmanager
def _typed(source: TextIO) -> Iterator[None]:
    """While a line is typed it is seen, ends with Enter and can be mended, however the terminal was before."""
    try:
        before = termios.tcgetattr(source.fileno())
    except (OSError, ValueError, termios.error):
        yield
        return
    lines = [
        before[0] | termios.ICRNL,
        *before[1:3],
        before[3] | termios.ICANON | termios.ECHO | termios.ISIG,
        *before[4:],
    ]
    if lines == before:
        yield
        return
    termios.tcsetattr(source.fileno(), termios.TCSADRAIN, lines)
    try:
        yield
    finally:
        termios.tcsetattr(source.fileno(), termios.TCSADRAIN, before)


def asked_once(source: TextIO, question: str) -> str:
    """The answer to a question outside of a run, in small letters and without blanks. Ctrl-C ends the command with 130."""
    try:
        return asked(source, question).strip().lower()
    except KeyboardInterrupt:
        say()
        raise typer.Exit(INTERRUPTED) from None


def says_yes(question: str) -> bool:
    """Whether the person at the terminal says yes; anything else is a no."""
    return asked_once(sys.stdin, f"{question} [y/N]: ") in {"y", "yes"}


def end_unless_yes(question: str) -> None:
    """Go on where the person at the terminal says yes; else end the command with 1."""
    if not says_yes(question):
        refuse()


def refuse() -> NoReturn:
    """End a command that the person did not want."""
    say("nothing was changed", dim=True)
    raise typer.Exit(FAILED)

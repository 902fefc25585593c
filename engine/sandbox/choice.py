"""Chooses a sandbox: `auto`, `require`, `off` or the name of one."""

from __future__ import annotations

import os
from collections.abc import Iterator

from engine import plugins
from engine.errors import ValidationError
from engine.processes.confinement import Sandbox

from .bubblewrap import Bubblewrap

VARIABLE = "ENGINE_SANDBOX"
"""The variable of the environment that chooses where a prompt does not."""
ANY = ("auto", "require")
OFF = "off"


def names() -> list[str]:
    """What can be chosen."""
    return [*ANY, OFF, *(sandbox.name for sandbox in _all())]


def check_choice(given: str | None) -> str | None:
    """`given`, else what the environment says, else None; raises `ValidationError` (400) for what is no choice."""
    choice = given or os.environ.get(VARIABLE) or None
    if choice is not None and choice not in (known := names()):
        raise ValidationError(f"sandbox {choice!r}: unknown; the sandboxes are {', '.join(known)}")
    return choice


def find(choice: str) -> tuple[Sandbox | None, str]:
    """The sandbox for a choice; None with the reason where there is none."""
    reasons = []
    for sandbox in _all():
        if choice in (*ANY, sandbox.name):
            reason = sandbox.missing()
            if reason is None:
                return sandbox, ""
            reasons.append(f"{sandbox.name}: {reason}")
    return None, "; ".join(reasons) or f"there is no sandbox {choice!r}"


def _all() -> Iterator[Sandbox]:
    yield Bubblewrap()
    yield from plugins.sandboxes()

"""Asks about a file from elsewhere that would act, before a command opens it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.terminal.printing import say, visible

if TYPE_CHECKING:
    from engine.trust.known_files import Act

_MOST_ACTS = 20
"""Acts that are shown before a question."""


def agrees(path: Path, acts: Sequence[Act]) -> bool:
    """Whether the person at the terminal lets a file act that he does not know; False where nobody can be asked."""
    from engine.terminal.questions import at_terminal, says_yes

    if not at_terminal():
        return False
    show_acts(path, acts, _MOST_ACTS)
    return says_yes("Allow this?")


def show_acts(path: Path, acts: Sequence[Act], most: int) -> None:
    """Show what a file would do by itself, at most so many acts."""
    from engine.trust.known_files import told

    say(f"{visible(str(path))}: may come from somebody else. The file", "yellow")
    for act in acts[:most]:
        say(f"  {visible(told(act))}")
    if len(acts) > most:
        say(f"  … {len(acts) - most} more; 'engine trust' shows all", "yellow")

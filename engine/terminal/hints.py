"""Parts of what is said of the next command: its --db, and the nearest name."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


def db_flag(given: Path | None) -> str:
    """` --db PATH` for a command line that is shown to a person; empty for the default database."""
    return "" if given is None else f" --db {shlex.quote(str(given))}"


def nearest(name: str, names: Iterable[str], otherwise: str) -> str:
    """A question for the nearest of `names`; `otherwise` where none is near."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(names), 1)
    return f"did you mean {near[0]}?" if near else otherwise

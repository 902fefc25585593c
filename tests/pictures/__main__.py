"""Draws the pictures of the README anew: `python -m tests.pictures`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from .drawing import terminal, way
from .session import session

HERE = Path(__file__).parent


def main() -> None:
    """Write both pictures."""
    with tempfile.TemporaryDirectory(prefix="pictures-") as folder:
        (HERE / "session.svg").write_text(terminal(session(Path(folder))), encoding="utf-8")
    (HERE / "turn.svg").write_text(way(), encoding="utf-8")


if __name__ == "__main__":
    main()

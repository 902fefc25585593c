"""Draws the pictures of the README anew: `python -m tests.pictures`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.browser import chromium

from .drawing import terminal, way
from .gallery import PAGES, gallery
from .session import session
from .showcase import showcase

HERE = Path(__file__).parent
SHOWN = {"run": "run-light", "turn": "turn-dark"}
"""The pages of the gallery that the README shows."""


def main() -> None:
    """Write all pictures; those of the inspector where a browser is there."""
    with tempfile.TemporaryDirectory(prefix="pictures-") as folder:
        (HERE / "session.svg").write_text(terminal(session(Path(folder))), encoding="utf-8")
    (HERE / "turn.svg").write_text(way(), encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="pictures-") as folder, chromium() as browser:
        for path in gallery(browser, showcase(Path(folder)), Path(folder), {name: PAGES[name] for name in SHOWN}):
            if path.stem in SHOWN.values():
                (HERE / f"inspector-{path.name.partition('-')[0]}.webp").write_bytes(path.read_bytes())


if __name__ == "__main__":
    main()

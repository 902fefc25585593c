"""The contract: SPEC.md, and a SPEC.md in each folder that keeps a part of it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parent.parent
_FOLDERS = ("sql", "functions", "engine")


def rooms() -> list[Path]:
    """SPEC.md of the project, then those of the folders."""
    return [ROOT / "SPEC.md", *sorted(path for folder in _FOLDERS for path in (ROOT / folder).rglob("SPEC.md"))]


def contract() -> str:
    """The text of all of them."""
    return "\n".join(room.read_text(encoding="utf-8") for room in rooms())


def section(anchor: str) -> str:
    """What stands below the heading with this anchor, to the next heading of its level or of one above."""
    before, _, rest = contract().partition(f"{{#{anchor}}}\n")
    level = before[before.rindex("\n#") + 1 :].split(" ")[0]
    lines = []
    for line in rest.splitlines():
        if line.startswith("#") and len(line.split(" ")[0]) <= len(level):
            break
        lines.append(line)
    return "\n".join(lines)

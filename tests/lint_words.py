"""Lints the words that people read: riddles, and sentences that are too long.

Run as ``python tests/lint_words.py``. It reads the README, CONTRIBUTING, the guide of SPEC.md and the help of every command.
Each riddle and each sentence of more than `LONGEST` words is printed; the exit code is 1 if there is any.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LONGEST = 30
"""Words of a sentence."""

RIDDLES = (
    r"that there (is|are)",
    r"(of|by|for|to|with) (one|ones|those|what|whoever|whichever) (that|which|who|is|was)",
    r"those (that|which|who|with|of)",
    r"the ones? (that|which|of|with)",
    r"(is|are|was|were) told",
    r"(all|none|nothing|each|much) of (it|that)",
    r"where (it|one|there|nobody|that|they|none)",
    r"with nobody to",
    r"in short",
    r"of which",
    r"whoever",
    r"whichever",
    r"(gives?|puts?|takes?|lets?) it (away|out of|be)",
    r"that (is|are) none",
    r"says? so",
    r"large or small",
    r"by itself",
    r"likewise",
    r"thereby|thereof|whereby|hence",
)
_RIDDLE = re.compile(r"\b(?:" + "|".join(RIDDLES) + r")\b", re.IGNORECASE)


def texts() -> Iterator[tuple[str, str]]:
    """Each text with its name."""
    for name in ("README.md", "CONTRIBUTING.md"):
        yield name, prose((ROOT / name).read_text(encoding="utf-8"))
    guide = (ROOT / "SPEC.md").read_text(encoding="utf-8").partition("\n## Glossary")[0]
    yield "SPEC.md, the guide", prose(guide)
    yield "help", "\n\n".join(helps())


def prose(markdown: str) -> str:
    """The paragraphs of a document. Code in a line is a word, a link its text; blocks, tables and headings are left out."""
    text = re.sub(r"(?ms)^```.*?^```$|<!--.*?-->", "", markdown)
    lines = [line for line in text.split("\n") if not re.match(r"\s*\||#", line)]
    text = re.sub(r"(?m)^\s*(?:[-*]|\d+\.) ", "\n", "\n".join(lines))
    text = re.sub(r"!?\[([^]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"`+[^`]+`+", "CODE", text)


def helps() -> Iterator[str]:
    """The help of each command: its text without examples, and the help of its parameters."""
    from engine.cli.main import command_line

    yield from _helps(command_line())


def _helps(command: Any) -> Iterator[str]:
    yield re.sub(
        r"(?ms)^\x08.*?(?:\n\n|\Z)|^Examples?:.*?(?:\n\n|\Z)|^Exit codes:.*?(?:\n\n|\Z)", "", command.help or ""
    )
    for each in command.params:
        yield getattr(each, "help", None) or ""
    context: Any = None
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from _helps(command.get_command(context, name))


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text; a paragraph and a list's item end one too."""
    for paragraph in re.split(r"\n\s*\n", text):
        yield from filter(None, re.split(r"(?<=[.!?:;])\s+", " ".join(paragraph.split())))


def riddles(text: str) -> list[str]:
    """The riddles of a text, each with the words around it."""
    flat = " ".join(text.split())
    return [flat[max(found.start() - 40, 0) : found.end() + 40] for found in _RIDDLE.finditer(flat)]


def long_sentences(text: str) -> list[str]:
    """The sentences of a text that are too long."""
    return [each for each in sentences(text) if len(each.split()) > LONGEST]


def main() -> int:
    """Print what is found."""
    found = [f"{name}: {each}" for name, text in texts() for each in (*riddles(text), *long_sentences(text))]
    print(*found, sep="\n", end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())

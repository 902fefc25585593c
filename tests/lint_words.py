"""Lints the words that people read: riddles, and sentences that are too long.

Run as ``python tests/lint_words.py``. It reads the README, CONTRIBUTING, the guide of SPEC.md, the help of every command
and the messages of errors in SQL and Python. Each riddle and each sentence of more than `LONGEST` words is printed; the exit
code is 1 if there is any.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LONGEST = 30
"""Words of a sentence."""

RIDDLES = {
    r"that there (?:is|are)": "Any name that there is.",
    r"(?:of|by|for|to|with) (?:one|ones|those|whoever|whichever) (?:that|which|who|is|was)": "A question to one who asked.",
    r"(?:of|by|for|from|in|to|with) what (?:is|was|are|were|has)": "A copy of what was there.",
    r"(?:(?:^|(?<=[.;:¶])) ?)What (?:is|was|are|were|has|stands|comes)\b(?![^.!?]*\?)": "What is no text is left out.",
    r"those (?:that|which|who|with|of|in|at|below|above)": "Look for those in the project.",
    r"the ones? (?:that|which|of|with)": "Take the one with a name.",
    r"(?:is|are|was|were) told": "The model is told.",
    r"told of": "It is not told of.",
    r"tells? of": "A line tells of it.",
    r"(?:all|none|nothing|each|much) of (?:it|that)": "Nothing of it stays.",
    r"where (?:it|one|there|nobody|that|they|none)": "Where nobody looks, it waits.",
    r"with nobody to": "With nobody to ask, it waits.",
    r"nobody (?:that|who|but)": "Nobody but you reads it.",
    r"there (?:is|are|was) none": "For this there is none.",
    r"is none of": "This is none of the three.",
    r"(?<!there )is no (?!more\b|longer\b|way\b)[a-z]+": "This is no model.",
    r"in short": "The entry is kept in short.",
    r"of which": "Two runs, of which one waits.",
    r"whoever": "Whoever asks, waits.",
    r"whichever": "Whichever comes first.",
    r"(?:gives?|puts?|takes?|lets?) it (?:away|out of|be)": "The run gives it away.",
    r"that (?:is|are) none": "A name that is none.",
    r"says? so": "Only if you say so.",
    r"begins? so": "Two names begin so.",
    r"large or small": "Letters, large or small.",
    r"small letters": "Use small letters.",
    r"by itself": "It ends by itself.",
    r"by themselves": "They are found by themselves.",
    r"likewise": "Likewise for tools.",
    r"(?:called|calls|call) (?:it|them) up": "Words that call them up.",
    r"called up": "Rules that were called up.",
    r"(?:there|here) already": "It is there already.",
    r"given away": "Work is given away.",
    r"once more": "It is sent once more.",
    r"anew": "Confirm it anew.",
    r"goes on with (?:it|them)": "Another prompt goes on with it.",
    r"say --\w+": "To go on, say --yes.",
    r"thereby|thereof|whereby|hence": "The run thereby ends.",
}
"""Each riddle with a sentence that has it; `tests/test_lint_words.py` plants each one."""
_RIDDLE = re.compile("|".join(rf"(?:\b|(?<=\s)|^)(?:{each})\b" for each in RIDDLES), re.IGNORECASE)
_FAIL = re.compile(r"\bfail\(\s*\d+\s*,(?:[^()']|'(?:[^']|'')*'|\((?:[^()']|'(?:[^']|'')*'|\([^()]*\))*\))*\)")
_RAISED = re.compile(
    r"(Error|Denied|NotFound|Conflict|Overflow|Failed|Failure|BadParameter|Argument|Held|Lost)$|^fail$"
)


def texts() -> Iterator[tuple[str, str]]:
    """Each text with its name."""
    for name in ("README.md", "CONTRIBUTING.md"):
        yield name, prose((ROOT / name).read_text(encoding="utf-8"))
    guide = (ROOT / "SPEC.md").read_text(encoding="utf-8").partition("\n## Glossary")[0]
    yield "SPEC.md, the guide", prose(guide)
    yield "help", "\n\n".join(helps())
    yield "messages of sql/", "\n\n".join(refusals())
    yield "messages of engine/ and functions/", "\n\n".join(errors())


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


def refusals() -> Iterator[str]:
    """The texts in each `fail` of SQL."""
    for place in sorted((ROOT / "sql").rglob("*.sql")):
        code = re.sub(r"(?m)^\s*--.*$", "", place.read_text(encoding="utf-8"))
        for call in _FAIL.finditer(code):
            yield from (each.replace("''", "'") for each in re.findall(r"'((?:[^']|'')*)'", call[0]))


def errors() -> Iterator[str]:
    """The message of each error that Python raises; a value in it is X."""
    for place in sorted((*(ROOT / "engine").rglob("*.py"), *(ROOT / "functions").rglob("*.py"))):
        for node in ast.walk(ast.parse(place.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _RAISED.search(ast.unparse(node.func)):
                yield from filter(None, map(_message, node.args))


def _message(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_message(each) if isinstance(each, ast.Constant) else " X " for each in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text; a paragraph and a list's item end one too, but no colon and no semicolon."""
    for paragraph in re.split(r"\n\s*\n", text):
        yield from filter(None, re.split(r"(?<=[.!?])\s+", " ".join(paragraph.split())))


def riddles(text: str) -> list[str]:
    """The riddles of a text, each with the words around it."""
    flat = " ".join(re.sub(r"\n\s*\n", " ¶ ", text).split())
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

"""The text of a SKILL.md: a head between two lines `---`, and the body that a model reads.

The head is YAML, of which only this is read: `name: text` at the margin, plain or quoted, or folded over indented lines,
with `>` or `|` before them. Lists, maps, anchors and tags are passed over: nothing in a head can grow or be made.
"""

from __future__ import annotations

import re

from engine.functions.compact import to_json
from engine.functions.lazy import lazy_regex

LONGEST_HEAD = 8_192
"""Characters of a head; a longer one is none."""
LONGEST_DESCRIPTION = 1_024
_FIELD = lazy_regex(r"([A-Za-z][\w-]{0,40}):(?:[ \t]+(.*))?$")
_BLOCK = lazy_regex(r"[>|][+-]?[0-9]?[+-]?(?:[ \t]+#.*)?$")
_UNREADABLE = ("&", "*", "!", "[", "{", "%", "@", "`")
_RULE = lazy_regex(r"^---[ \t]*(?:\n|\Z)", re.MULTILINE)
"""The line before a head, and the line behind it."""
_NAME = lazy_regex(r"[a-z0-9](?:[a-z0-9_.-]{0,62}[a-z0-9])?")
NAME_PROBLEM = "its name is not one of 1 to 64 small letters, digits, '-', '_' and '.'"
_ESCAPE = lazy_regex(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})"
    r"|U([0-9a-fA-F]{8})|(.))"
)
_BLANKS = "nrtvfNLP_ "
"""Escapes of YAML that are white space."""
_LITERAL = {'"': '"', "\\": "\\", "/": "/"}


def skill_head(text: str | None, name: str | None) -> str | None:
    """What the text of a SKILL.md says of itself, as JSON: name, description, body, problem (null: none), and `others`, the
    names in its head that say nothing here.

    `name` is used in place of the one in the head, unless it is ''. A text without a head is described by its first line.
    The description is one line of at most 1,024 characters. A problem says why the skill cannot be offered.
    """
    if text is None or name is None:
        return None
    head, body = _split(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    fields = {} if head is None else _fields(head)
    said = name or fields.get("name", "")
    description = " ".join(fields.get("description", "" if head is not None else _first_line(body)).split())
    problem = None
    if head is None and text.startswith("---"):
        problem = f"its head has no end within {LONGEST_HEAD} characters: a line '---'"
    elif not is_name(said):
        problem = NAME_PROBLEM
    elif not description:
        problem = "it has no description: a line 'description: …' in the head between two lines '---'"
    elif not body.strip():
        problem = "it has no text behind its head"
    return to_json(
        {
            "name": said,
            "description": description[:LONGEST_DESCRIPTION],
            "body": body.strip("\n"),
            "problem": problem,
            "others": [] if head is None else others_of(head),
        }
    )


def others_of(head: str) -> list[str]:
    """The fields at the margin of a head besides name and description, each once."""
    fields = [field[1] for line in head.split("\n") if (field := _FIELD.match(line))]
    return [each for each in dict.fromkeys(fields) if each not in ("name", "description")]


def is_name(name: str) -> bool:
    """Whether a skill may be called that."""
    return _NAME.fullmatch(name) is not None


def _split(text: str) -> tuple[str | None, str]:
    """The head, None where there is none, and the body."""
    begin = _RULE.match(text)
    end = _RULE.search(text, begin.end() - 1, LONGEST_HEAD) if begin else None
    if begin is None or end is None:
        return None, text
    return text[begin.end() : end.start()].lstrip("\n"), text[end.end() :]


def _fields(head: str) -> dict[str, str]:
    """The fields at the margin of a head whose values are texts; the first of a name counts."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in head.split("\n"):
        field = _FIELD.match(line)
        if field:
            lines = found.setdefault(field[1], []) if field[1] not in found else []
            value = (field[2] or "").strip()
            lines.append("" if _BLOCK.match(value) else value)
        elif line[:1] in (" ", "\t") and line.strip() and lines:
            lines.append(line.strip())
        elif line.strip() and not line.startswith("#"):
            lines = []
    return {name: value for name, each in found.items() if (value := _scalar(" ".join(each).strip()))}


def _scalar(value: str) -> str:
    """The text of a value; '' for one that is no text."""
    if len(value) > 1 and value[0] == '"' and value[-1] == '"':
        return _ESCAPE.sub(_escaped, value[1:-1])
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    if value.startswith(_UNREADABLE) or value.startswith("- "):
        return ""
    return value.partition(" #")[0].rstrip()


def _escaped(found: re.Match[str]) -> str:
    """The character of an escape of YAML; nothing for one that is no character of a text."""
    high, low, *codes, letter = found.groups()
    if letter is not None:
        return " " if letter in _BLANKS else _LITERAL.get(letter, "")
    code = (
        (int(high, 16) - 0xD800 << 10) + int(low, 16) - 0xDC00 + 0x10000 if high else int(next(filter(None, codes)), 16)
    )
    return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF and code else ""


def _first_line(body: str) -> str:
    """The first line that says something, without the marks of a heading."""
    lines = (line.strip("#*_ \t") for line in body[:20_000].split("\n"))
    return next((line[:200] for line in lines if line), "")

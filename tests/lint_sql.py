"""Lints the engine's SQL: layout, header, named constraints, and nothing that SQLite 3.40 cannot read.

Run as ``python tests/lint_sql.py [FILE ...]``; without files it reads ``sql/*.sql`` and
``sql/migrations/*.sql``. Prints ``file:line: message`` for each finding; the exit code is 1 if there
is any. What 3.40 lacks is a list of what would be misread in silence or break the whole file.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parent.parent
WIDTH = 125

TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*|/\*.*?\*/)
    |(?P<string>[xX]?'(?:[^']|'')*')
    |(?P<name>"(?:[^"]|"")*"|`[^`]*`|\[[^]]*\])
    |(?P<number>\d[\w.]*)
    |(?P<word>[^\W\d]\w*)
    |(?P<sign>->>|->|\|\||<=|>=|<>|!=|==|<<|>>|[^\s\w])""",
    re.VERBOSE | re.DOTALL,
)

# Functions by the version that brought them; both tables hold what 3.40 would refuse only when it runs.
NEWER = {
    **dict.fromkeys(("string_agg", "concat", "concat_ws"), "3.44"),
    **dict.fromkeys(("timediff", "octet_length"), "3.43"),
    "unhex": "3.41",
    "if": "3.48",
    **dict.fromkeys(("unistr", "unistr_quote"), "3.50"),
    "json_pretty": "3.46",
    "json_error_position": "3.42",
    "json_array_insert": "3.53",
}
NOWHERE = {"median", "percentile", "percentile_cont", "percentile_disc", "carray", "generate_series"}
DATES = {"date", "time", "datetime", "julianday", "unixepoch", "strftime"}
NEWER_DATES = re.compile(r"^'(?i:subsec|subsecond|floor|ceiling)'$|%[eFgGIklpPRTuUV]")
STARTERS = {"select", "with", "values"}
# Words that open a bracket without being a function.
CLAUSES = {"as", "exists", "from", "in", "join", "over", "window"}


@dataclass(frozen=True)
class Token:
    """A piece of SQL: its kind (a group of `TOKEN`), its text and the line (from 1) it stands on."""

    kind: str
    text: str
    line: int


Finding = tuple[int, str]


def tokenise(sql: str) -> list[Token]:
    """The tokens of `sql`, comments left out."""
    return [
        Token(str(match.lastgroup), match.group(), sql.count("\n", 0, match.start()) + 1)
        for match in TOKEN.finditer(sql)
        if match.lastgroup != "comment"
    ]


def lint(sql: str, *, header: bool = True) -> list[Finding]:
    """All findings in the text of one file as ``(line, message)``; `header` asks for title and anchors."""
    tokens = tokenise(sql)
    found = [
        *layout(sql),
        *case(tokens),
        *constraints(tokens),
        *calls(tokens),
        *triggers(tokens),
        *literals(tokens),
    ]
    if header:
        found += title(sql)
    return sorted(set(found))


def layout(sql: str) -> Iterator[Finding]:
    """Width, tabs, blanks at the end of a line, one newline at the end of the file."""
    for number, line in enumerate(sql.split("\n"), 1):
        if len(line) > WIDTH:
            yield number, f"{len(line)} columns, {WIDTH} are allowed"
        if "\t" in line:
            yield number, "a tab; indent with 4 spaces"
        if line != line.rstrip():
            yield number, "blanks at the end of the line"
    if not sql.endswith("\n") or sql.endswith("\n\n"):
        yield sql.count("\n") + 1, "the file does not end in exactly one newline"


def title(sql: str) -> Iterator[Finding]:
    """The comment that opens a file: a title that is a sentence, then prose, then `-- spec: @anchor`."""
    opening = re.match(r"(--[^\n]*\n)*", sql)
    lines = opening.group().splitlines() if opening else []
    if not lines or not re.match(r"-- \w.*\.$", lines[0]):
        yield 1, "the first line is no title sentence ('-- Loops: the prompt queue of a run.')"
    if not any(re.match(r"-- spec:( @[a-z0-9_-]+)+$", line) for line in lines):
        yield 1, "the header has no '-- spec: @anchor'"


def case(tokens: list[Token]) -> Iterator[Finding]:
    """Keywords and names are lowercase."""
    for token in tokens:
        if token.kind == "word" and token.text != token.text.lower():
            yield token.line, f"{token.text} is not lowercase"


def constraints(tokens: list[Token]) -> Iterator[Finding]:
    """In `create table`, each check, unique and reference has a name: it is what an error shows."""
    for statement in statements(tokens):
        words = [token.text.lower() for token in statement]
        if "table" not in words[1:3] or words[0] != "create":
            continue
        for place, word in enumerate(words):
            named = place > 1 and words[place - 2] == "constraint"
            of_foreign_key = word == "references" and words[place - 1] == ")"
            if word in ("check", "unique", "references", "foreign") and not named and not of_foreign_key:
                yield statement[place].line, f"'{word}' without 'constraint <name>' before it"


def calls(tokens: list[Token]) -> Iterator[Finding]:
    """Functions, and forms of calling them, that came after 3.40."""
    for name, arguments in called(tokens):
        word, line = name.text.lower(), name.line
        commas = sum(1 for depth, token in arguments if depth == 0 and token.text == ",")
        level = [token.text.lower() for depth, token in arguments if depth == 0]
        if word in NEWER or word.startswith("jsonb"):
            yield line, f"{word}() is not in SQLite 3.40 ({NEWER.get(word, '3.45')})"
        elif word in NOWHERE:
            yield line, f"{word}() is not in every build of SQLite"
        elif word == "iif" and commas != 2:
            yield line, "iif() with other than 3 arguments is not in SQLite 3.40 (3.48)"
        elif word == "json_valid" and commas:
            yield line, "json_valid() with flags is not in SQLite 3.40 (3.45)"
        elif word == "raise" and level[:1] != ["ignore"] and not plain_raise(arguments):
            yield (
                line,
                "raise() with an expression makes the file malformed on 3.40 (3.47); use fail()",
            )
        elif word in DATES and any(NEWER_DATES.search(token.text) for _, token in arguments):
            yield line, f"a format or modifier of {word}() that 3.40 turns into NULL"
        if word not in CLAUSES and level[:1] and level[0] not in STARTERS and ("order", "by") in pairwise(level):
            yield line, f"'order by' inside {word}() makes the file malformed on 3.40 (3.44)"


def plain_raise(arguments: list[tuple[int, Token]]) -> bool:
    """Whether these arguments of `raise` are an action and one literal text."""
    return [token.kind for _, token in arguments] == ["word", "sign", "string"]


def triggers(tokens: list[Token]) -> Iterator[Finding]:
    """What no SQLite allows in the body of a trigger, and tells only when the trigger is created."""
    for statement in statements(tokens):
        words = [token.text.lower() for token in statement]
        if words[0] != "create" or "trigger" not in words[1:3] or "begin" not in words:
            continue
        for place in range(words.index("begin") + 1, len(words)):
            if words[place] == "returning":
                yield statement[place].line, "'returning' in a trigger"
            if words[place] == "with" and words[place - 1] in ("begin", ";"):
                yield statement[place].line, "a statement of a trigger starts with 'with'"


def literals(tokens: list[Token]) -> Iterator[Finding]:
    """Literals and operators that 3.40 cannot read or reads as NULL."""
    for place, token in enumerate(tokens):
        following = [after.text.lower() for after in tokens[place + 1 : place + 3]]
        if token.kind == "number" and "_" in token.text:
            yield token.line, f"{token.text}: digits parted by '_' make the file malformed on 3.40 (3.46)"
        if token.text == "->>" and following[:1] == ["-"]:
            yield token.line, "'->>' with a negative index is NULL on 3.40 (3.47)"
        if token.text.lower() in ("contentless_delete", "locale") and following[:1] == ["="]:
            yield token.line, f"the FTS5 option {token.text} is not in SQLite 3.40"


def statements(tokens: list[Token]) -> Iterator[list[Token]]:
    """`tokens` parted into statements; the body of a trigger, up to its `end ;`, stays in one piece."""
    current: list[Token] = []
    for token in tokens:
        current.append(token)
        if token.text == ";" and not inside_trigger(current):
            yield current
            current = []
    if current:
        yield current


def inside_trigger(tokens: list[Token]) -> bool:
    """Whether the statement that ends with these tokens is a trigger whose last `end` has not come."""
    words = [token.text.lower() for token in tokens]
    if words[0] != "create" or "trigger" not in words[1:3]:
        return False
    return words.count("begin") + words.count("case") > words.count("end")


def called(tokens: list[Token]) -> Iterator[tuple[Token, list[tuple[int, Token]]]]:
    """Each name before `(`, with the tokens up to its `)` and how deep (from 0) they are nested."""
    for place, (name, bracket) in enumerate(pairwise(tokens)):
        if name.kind != "word" or bracket.text != "(":
            continue
        depth, inside = 0, []
        for token in tokens[place + 2 :]:
            depth -= token.text == ")"
            if depth < 0:
                break
            inside.append((depth, token))
            depth += token.text == "("
        yield name, inside


def main(arguments: list[str]) -> int:
    """Lint the files named, or all of sql/; return the exit code."""
    sql = ROOT / "sql"
    paths = [Path(name) for name in arguments] or sorted(sql.glob("*/*.sql"))
    findings = [
        f"{path}:{line}: {message}"
        for path in paths
        for line, message in lint(path.read_text(encoding="utf-8"), header=path.parent.name != "migrations")
    ]
    print("\n".join([*findings, f"{len(paths)} SQL files, {len(findings)} findings"]))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Texts of entries: their digest, their lines, their summaries."""

from __future__ import annotations

import ast
import hashlib
import re
import warnings

from engine.functions.compact import to_json
from engine.functions.limits import SUMMARY_CHARACTERS
from engine.functions.paths import path_scheme

from .sources.symbols import code_headings, code_symbols

SUMMARY_LENGTH = 500
"""Longest summary in code points."""
_TAIL_LINES = 20
_TAIL_SCHEMES = frozenset({"sh", "env"})
_CODE = frozenset(
    re.findall(
        r"\w+",
        "c cc cjs cpp cs cxx dart ex exs go h hh hpp java jl js jsx kt kts lua m mjs php pl pm ps1 py pyi rb "
        "rs scala sh sol swift ts tsx vue zig",
    )
)


def text_digest(text: str | None) -> str | None:
    """The SHA-256 of `text` in UTF-8, as 64 hexadecimal digits."""
    return None if text is None else hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def text_lines(text: str | None) -> int | None:
    """How many lines `text` has: 0 for ''; a newline at the end begins no further line."""
    if text is None:
        return None
    return text.count("\n") + (text != "" and not text.endswith("\n"))


def text_slice(
    text: str | None,
    line: int | None,
    limit: int | None,
    char: int | None = None,
    chars: int | None = None,
    most: int | None = None,
) -> str | None:
    """Lines of `text` as JSON ``{"text", "first", "last", "total"}``, counted from 1.

    A negative `line` counts from the end; 0 and NULL are the first. A `limit` below 1 counts as 1; NULL means up to the
    end. A slice that begins behind the end is empty with `first` and `last` 0. `char` and `chars` choose characters of these
    lines in the same way. A slice of more than `most` characters ends there, with a whole line if one ends in its last half.
    Of characters the JSON has ``"from", "to", "of"`` too: which they are of these lines, and how many there are.
    """
    if text is None:
        return None
    total = text_lines(text) or 0
    first, last = _span(line, limit, total)
    lines = text.split("\n")[first - 1 : last] if first else []
    body = "\n".join(lines)
    room = len(body) if most is None else max(1, most)
    if char is None and chars is None and len(body) > room and (end := body.rfind("\n", room // 2, room)) > 0:
        last = first + body.count("\n", 0, end)
        return to_json({"text": body[:end], "first": first, "last": last, "total": total})
    start, end = _span(char, room if chars is None else min(chars, room), len(body))
    found = {"text": body[start - 1 : end] if start else "", "first": first, "last": last, "total": total}
    part = {} if char is None and chars is None and len(body) <= room else {"from": start, "to": end, "of": len(body)}
    return to_json({**found, **part})


def _span(first: int | None, count: int | None, total: int) -> tuple[int, int]:
    """The first and the last of `count` things of `total`, counted from 1; both are 0 behind the end."""
    wanted = 1 if first is None else first
    begin = max(1, total + wanted + 1 if wanted < 0 else wanted)
    end = total if count is None else min(total, begin - 1 + max(1, count))
    return (0, 0) if begin > total else (begin, end)


def text_clean(text: str | None) -> str | None:
    """`text` with U+FFFD for each NUL, at which SQL would end the text when it measures or cuts it."""
    return None if text is None else text.replace("\0", "\ufffd")


def body_summary(path: str | None, body: str | None) -> str | None:
    """The summary of an entry, at most 500 code points.

    A short body is its own summary. Code is summarized by its symbols with line numbers, the output of commands by its
    end, any other text by its beginning. A line counts what was left out. A NULL path is prose.
    """
    short = body_short(path, body)
    if body is None or short is None:
        return body
    return short if isinstance(short, str) else _counted(body, short)


def body_short(path: str | None, body: str | None) -> int | str | None:
    """What `body_summary` is made of: the number of code points at the beginning of `body`, or a text of its own.

    NULL: the whole body. A NUL in the body counts as U+FFFD, see `text_clean`.
    """
    if body is None or len(body) <= SUMMARY_LENGTH:
        return None
    body = body.replace("\0", "\ufffd")
    name = path or ""
    scheme = path_scheme(name)
    if scheme in _TAIL_SCHEMES:
        return _tail(body)
    if scheme == "prompt":
        return _ends(name, body)
    suffix = name.rpartition(".")[2].lower()
    if suffix in _CODE and (symbols := _symbols(suffix, body)):
        return _fit_symbols(symbols)
    return _cut(body)


def body_shown(path: str | None, body: str | None) -> str | None:  # noqa: ARG001 - a plugin goes by it
    """What packets show of a body in full view: itself, unless a plugin projects its scheme. See `text_clean`."""
    return body if body is None or "\0" not in body else text_clean(body)


def body_symbols(path: str, body: str) -> list[str]:
    """What the source file `path` defines, each ``LINE: heading``, nested ones indented; nothing for any other file."""
    return _symbols(_suffix(path), body) if is_code(path) else []


def is_code(path: str) -> bool:
    """Whether the name of a file says that it is source, whose summary are its symbols."""
    return _suffix(path) in _CODE


def _suffix(path: str) -> str:
    return path.rpartition(".")[2].lower()


def _counted(body: str, kept: int) -> str:
    return f"{body[:kept]}\n{_left(len(body) - kept, 'more character')}"


def _left(count: int, things: str) -> str:
    """The line that counts what is not shown."""
    return f"[… {count} {things}{'' if count == 1 else 's'}]"


def _cut(body: str) -> int:
    """How many code points fit together with the line that counts the rest: whole lines; words if the lines are too long."""
    room = SUMMARY_LENGTH - len("\n" + _left(len(body), "more character"))
    cut = body.rfind("\n", room // 2, room + 1)
    if cut < 0:
        cut = body.rfind(" ", room // 2, room + 1)
    return len(body[: cut if cut > 0 else room].rstrip())


def _tail(body: str) -> str:
    """The last lines of an output, cut from the front."""
    end = len(body) - 1 if body.endswith("\n") else len(body)
    start = end
    for _ in range(_TAIL_LINES):
        start = body.rfind("\n", 0, start)
        if start < 0:
            break
    room = SUMMARY_LENGTH - len(_left(len(body), "earlier character") + "\n") - (len(body) - end)
    start = max(start + 1, end - room)
    return f"{_left(start, 'earlier character')}\n{body[start:]}"


def _ends(path: str, body: str) -> str:
    """The beginning and the end of a prompt, whose question may stand behind a long text."""
    left = f"\n[… {{}} characters left out; get {path} with char and chars reads them …]\n"
    room = SUMMARY_LENGTH - len(left) - len(str(len(body)))
    begin, end = body[: room // 2].rstrip(), body[-(room - room // 2) :].lstrip()
    return begin + left.format(len(body) - len(begin) - len(end)) + end


def _fit_symbols(symbols: list[str]) -> str:
    """The symbols that fit, and the number of the others."""
    room = SUMMARY_LENGTH - len(_left(len(symbols), "more symbol"))
    kept: list[str] = []
    for symbol in symbols:
        room -= len(symbol) + 1
        if room < 0:
            kept.append(_left(len(symbols) - len(kept), "more symbol"))
            break
        kept.append(symbol)
    return "\n".join(kept)


def _symbols(suffix: str, body: str) -> list[str]:
    """What a source file defines, by the best parser there is for it."""
    if len(body) > SUMMARY_CHARACTERS:
        return code_headings(body)
    if suffix in ("py", "pyi"):
        return _python_symbols(body)
    return code_symbols(suffix, body) or code_headings(body)


def _python_symbols(body: str) -> list[str]:
    """Classes and functions of a Python file; if it does not parse, lines that look like their heads."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(body)
        found: list[str] = []
        _collect(tree.body, "", found)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code_headings(body)
    return found


def _collect(statements: list[ast.stmt], indent: str, found: list[str]) -> None:
    """Append the definitions among `statements`, and those inside classes, to `found`."""
    for node in statements:
        if isinstance(node, ast.ClassDef):
            bases = ", ".join(map(ast.unparse, node.bases))
            found.append(f"{node.lineno}: {indent}class {node.name}{f'({bases})' if bases else ''}"[:120])
            _collect(node.body, indent + "    ", found)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
            found.append(f"{node.lineno}: {indent}{keyword} {node.name}({_arguments(node.args)})"[:120])


def _arguments(arguments: ast.arguments) -> str:
    """The names of a function's arguments, without annotations and defaults, which would take the room of symbols."""
    names = [argument.arg for argument in [*arguments.posonlyargs, *arguments.args]]
    if arguments.vararg:
        names.append(f"*{arguments.vararg.arg}")
    elif arguments.kwonlyargs:
        names.append("*")
    names += [argument.arg for argument in arguments.kwonlyargs]
    return ", ".join([*names, f"**{arguments.kwarg.arg}"] if arguments.kwarg else names)

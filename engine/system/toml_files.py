"""TOML files of settings, one `name = value` a line: read with the lines of the names, changed line by line.

What a person wrote stays as it is: comments, order and blank lines.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from engine.errors import EngineError, ValidationError
from engine.system.descriptors import open_to_read

_ASSIGNED = re.compile(r"""[ \t]*(?:"([^"]*)"|'([^']*)'|([\w-]+))[ \t]*=""")
_TABLE = re.compile(r"[ \t]*\[")
_HEAD = re.compile(r"""[ \t]*\[{1,2}[ \t]*[\w"'.-]""")
_DIGITS = re.compile(r"[0-9_]{4000}")
_MOST_BYTES = 1 << 20
TABLES = ("hooks", "mcp", "models", "plugins")
"""Tables that are no settings."""


def read_file(place: Path) -> str:
    """The text of a file that may not be there; empty then. Raises `ValidationError` (400) for one that cannot be read."""
    try:
        with open(open_to_read(place, os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise ValidationError(f"{place}: is longer than a megabyte")
        return data.decode()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except UnicodeDecodeError:
        raise ValidationError(f"{place}: is not UTF-8") from None
    except OSError as error:
        why = "is a symbolic link" if error.errno == errno.ELOOP else f"cannot be read ({error.strerror})"
        raise ValidationError(f"{place}: {why}") from None


def parsed(text: str, place: Path) -> dict[str, tuple[str | None, int]]:
    """The text and the line of each value, by name; true and false are 1 and 0, a list is its words between commas.

    What stands in `TABLES` is left out.

    Raises `ValidationError` (400) for what is no TOML, and for a value of another type.
    """
    lines = _lines(text)
    return {
        name: (_text(name, value, f"{place}:{lines.get(name, 1)}"), lines.get(name, 1))
        for name, value in loaded(text, place).items()
        if not (name in TABLES and isinstance(value, dict))
    }


def changed(text: str, place: Path, changes: Mapping[str, str | int | float | None]) -> str:
    """The text with other values; None takes a name out. Raises `ValidationError` (400) where a person has to do it."""
    expected = loaded(text, place)
    for name, value in changes.items():
        expected.pop(name, None)
        if value is not None:
            expected[name] = value
        text = _with(text, name, value)
    if loaded(text, place) != expected:
        raise ValidationError(f"{place}: has a form that cannot be edited automatically; edit it by hand")
    return text


def _with(text: str, name: str, value: str | int | float | None) -> str:
    lines, ending = text.splitlines(keepends=True), "\r\n" if "\r\n" in text else "\n"
    said = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    line = None if value is None else f"{name} = {said}{ending}"
    place = _lines(text).get(name)
    if place is not None:
        lines[place - 1 : place] = [] if line is None else [line]
    elif line is not None:
        end = next((at for at, each in enumerate(lines) if _TABLE.match(each)), len(lines))
        if end and not lines[end - 1].endswith("\n"):
            lines[end - 1] += ending
        lines.insert(end, line)
    return "".join(lines)


def _lines(text: str) -> dict[str, int]:
    """The number of the line on which each name outside of tables is assigned, as far as that is seen without parsing."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if _TABLE.match(line):
            break
        if match := _ASSIGNED.match(line):
            found.setdefault(next(name for name in match.groups() if name is not None), number)
    return found


def loaded(text: str, place: Path) -> dict[str, object]:
    """The values of a file. Raises `ValidationError` (400), with the line, for what is no TOML."""
    if not text:  # a file that is not there, as most
        return {}
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said = re.sub(r" \(at (?:line (\d+), column \d+|end of document)\)$", "", str(error))
        line = re.search(r"at line (\d+)", str(error))
        number = line[1] if line else len(text.splitlines())
        raise ValidationError(f"{place}:{number}: is not TOML: {said}") from None
    except RecursionError:
        raise ValidationError(f"{place}: is nested too deeply") from None
    except ValueError:
        # Python reads no longer whole numbers, and says so without a line
        digits = _DIGITS.search(text)
        number = text.count("\n", 0, digits.start()) + 1 if digits else 1
        raise ValidationError(f"{place}:{number}: a number has too many digits") from None


def _text(name: str, value: object, where: str) -> str | None:
    match value:
        case bool():
            return str(int(value))
        case str():
            return value or None
        case int() | float():
            return str(value)
        case list() if all(isinstance(each, str) and "," not in each for each in value):
            return ",".join(value) or None
        case _:
            kind = "a table" if isinstance(value, dict) else f"of the type {type(value).__name__}"
            raise ValidationError(
                f"{where}: {name} is {kind}, but a value must be a text, a number, true, false, or a list of texts"
            )


def table(text: str, place: Path, name: str, key: str) -> dict[str, object] | None:
    """The table ``[name.key]`` of a file; None where there is none. Raises `ValidationError` (400)."""
    found = loaded(text, place).get(name, {})
    value = found.get(key) if isinstance(found, dict) else None
    return value if isinstance(value, dict) else None


def with_table(text: str, place: Path, name: str, key: str, values: Mapping[str, object] | None) -> str:
    """The text with another table ``[name.key]``, at its end; None takes it out. What else is there stays as it is.

    Raises `ValidationError` (400) where a person has to do it.
    """
    expected = loaded(text, place)
    inner = expected.get(name, {})
    if not isinstance(inner, dict):
        raise ValidationError(f"{place}: {name} is not a table; edit it by hand")
    inner = {**inner, key: dict(values)} if values is not None else {k: v for k, v in inner.items() if k != key}
    expected = {k: v for k, v in expected.items() if k != name} | ({name: inner} if inner else {})
    kept = _without_table(text, name, key)
    if values is not None:
        lines = [f"[{name}.{key}]", *(f"{k} = {_toml(v)}" for k, v in values.items())]
        kept = f"{kept.rstrip()}\n\n" if kept.strip() else ""
        kept += "\n".join(lines) + "\n"
    if loaded(kept, place) != expected:
        raise ValidationError(f"{place}: has a form that cannot be edited automatically; edit it by hand")
    return kept


def _without_table(text: str, name: str, key: str) -> str:
    """The text without the lines of a table and of those below it."""
    head = re.compile(
        rf"[ \t]*\[[ \t]*{re.escape(name)}[ \t]*\.[ \t]*[\"']?{re.escape(key)}[\"']?[ \t]*(?:\.[^\]]*)?\]"
    )
    kept, inside = [], False
    for line in text.splitlines(keepends=True):
        if _HEAD.match(line):
            inside = head.match(line) is not None
        if not inside:
            kept.append(line)
    return "".join(kept)


def _toml(value: object) -> str:
    """A text, number, truth, list or mapping of these as TOML."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case int() | float():
            return repr(value)
        case Mapping():
            inner = ", ".join(f"{json.dumps(k, ensure_ascii=False)} = {_toml(v)}" for k, v in value.items())
            return f"{{ {inner} }}" if inner else "{}"
        case list() | tuple():
            return f"[{', '.join(_toml(each) for each in value)}]"
        case _:
            raise ValidationError(f"{str(value)[:60]!r} cannot be written to a settings file")


def write_file(place: Path, text: str) -> None:
    """Replace a file atomically; its mode stays. Raises `EngineError` (500) where it cannot be written."""
    temporary = place.with_name(f".{place.name}.{os.getpid()}-{os.urandom(4).hex()}")
    try:
        mode = 0o666
        with suppress(FileNotFoundError):
            mode = place.stat().st_mode & 0o777
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with open(os.open(temporary, flags, mode), "wb") as file:
                file.write(text.encode())
            temporary.replace(place)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise EngineError(f"{place}: cannot be written ({error.strerror}); nothing was changed") from None

"""Demo mode: what is drawn for people has blocks in the place of names, for a screen that others look at.

Hidden are the parts of the paths of workspaces, and the names that the person lists, in all that a command prints, into a
pipe too. What is stored or sent to a model stays as it is. It is the person's own choice alone: no file and no project can
hide anything from him.

spec: @demo_mode
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

BLOCK = "█"
_USER_FILE = "config.toml"
_MOST_BYTES = 1 << 20
SETTING, NAMES = "demo", "demo_names"
_ANYWHERE_FROM = 5
"""Letters of a name from which on it is hidden inside of a word, too."""
_BETWEEN = r"(?:[\s_+.-]|%20)+"
"""What stands between the words of a name: in the paths of entries no blank does."""
_SHORT = 2
"""Letters of a part of a path up to which it is hidden in paths alone."""
_GENERIC = (
    " bin code data desktop dev documents downloads engine etc git github home lib local media mnt opt private projects "
    "public repos root run sites source src srv state tmp users usr var volumes work workspace workspaces www "
)
"""Parts of paths, in small letters, that say nothing of whose they are."""


class _Names:
    """The names that are hidden, as a pattern."""

    def __init__(self) -> None:
        self._parts: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def add(self, patterns: Iterable[str]) -> None:
        parts = self._parts.union(patterns)
        if parts != self._parts:
            self._parts = parts
            # the longest first: it may hold another one
            self._pattern = re.compile("|".join(sorted(parts, key=len, reverse=True)), re.IGNORECASE)

    def hide(self, text: str) -> str:
        return text if self._pattern is None else self._pattern.sub(_blocks, text)


_names: ContextVar[_Names | None] = ContextVar("names", default=None)


def hidden(text: str) -> str:
    """`text` as it is drawn: in demo mode with a block for each letter of a name; blanks stay."""
    names = _names.get()
    return text if names is None else names.hide(text)


def is_on() -> bool:
    """Whether names are hidden."""
    return _names.get() is not None


@contextmanager
def command() -> Iterator[None]:
    """A context manager for a command line, in which demo mode is on where the person's own configuration says so.

    Inside of another one it is on where it is on there.
    """
    before = _names.get()
    token = _names.set(before)
    try:
        if before is None:
            _begin_by_configuration()
        yield
    finally:
        _names.reset(token)


@contextmanager
def not_hidden() -> Iterator[None]:
    """A context manager in which nothing is hidden: for the rows of a query, which are data."""
    token = _names.set(None)
    try:
        yield
    finally:
        _names.reset(token)


def begin() -> None:
    """Hide names until the command ends: those that the person lists, and the parts of this folder's path and his own."""
    if _names.get() is None:
        _names.set(_Names())
        hide_names(str(_configured().get(NAMES) or ""))
        hide_paths([_or_none(Path.home), _or_none(Path.cwd)])


def begin_here() -> None:
    """Hide names in this command alone; models of its runs are asked to leave them out, as the setting has them."""
    os.environ[f"ENGINE_{SETTING.upper()}"] = "1"
    begin()


def hide_names(listed: str) -> None:
    """Hide the names of a list with commas."""
    names = _names.get()
    if names is not None:
        names.add(pattern for each in listed.split(",") if each.strip() for pattern in _as_patterns(each.strip()))


def hide_paths(paths: Iterable[Path | str | None]) -> None:
    """Hide the parts of paths of folders, but their last ones, which name projects, and those that are everybody's."""
    names = _names.get()
    if names is not None:
        # of a home folder the last part is its person
        homes = {str(_or_none(Path.home))}
        for path in (each for each in paths if each):
            parts = Path(str(path)).parts[1:]
            for part in parts if str(path) in homes else parts[:-1]:
                if f" {part.lower().strip('.')} " not in _GENERIC:
                    names.add(_of_a_path(part))


def _begin_by_configuration() -> None:
    if str(_configured().get(SETTING) or "0").lower() not in ("0", "false"):
        begin()


def _configured() -> dict[str, str | None]:
    """What the person says: in the environment, else in his own configuration."""
    own = {name: value for name in (SETTING, NAMES) if (value := os.environ.get(f"ENGINE_{name.upper()}", "").strip())}
    return {**_of_his_file(), **own}


def _of_his_file() -> dict[str, str | None]:
    """What the person's own configuration says; nothing where it does not speak of this, or cannot be read.

    Every command line comes by here, so what reads settings is imported where there are some.
    """
    from engine.errors import EngineError
    from engine.system.descriptors import open_to_read
    from engine.system.places import config_folder

    place = config_folder() / _USER_FILE
    try:
        with open(open_to_read(place, os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            if SETTING.encode() not in file.read(_MOST_BYTES):
                return {}
        from engine.system.toml_files import parsed, read_file

        return {name: value for name, (value, _) in parsed(read_file(place), place).items()}
    except (OSError, EngineError):  # what writes settings, or opens a file, tells of it
        return {}


def _as_patterns(name: str) -> Iterator[str]:
    """A name in its spellings: its words apart as in a text or a path, composed or not, and escaped."""
    from urllib.parse import quote

    spelt = {name, *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))}
    anywhere = len(name) >= _ANYWHERE_FROM or not name.isascii()
    for each in spelt:
        pattern = _BETWEEN.join(map(re.escape, each.split()))
        yield pattern if anywhere else rf"(?<![^\W_]){pattern}(?![^\W_])"
        if (escaped := quote(each)) != each:
            yield re.escape(escaped)


def _of_a_path(part: str) -> Iterator[str]:
    if len(part) > _SHORT:
        yield from _as_patterns(part)
    else:
        yield rf"(?<=[/\\]){re.escape(part)}(?=[/\\])"


def _blocks(found: re.Match[str]) -> str:
    return re.sub(r"\S", BLOCK, found[0])


def _or_none(folder: Callable[[], Path]) -> Path | None:
    try:
        return folder()
    except (OSError, RuntimeError):  # it is gone, or nobody knows it
        return None


__all__ = ["BLOCK", "begin", "begin_here", "command", "hidden", "hide_names", "hide_paths", "is_on", "not_hidden"]

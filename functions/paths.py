"""Paths of entries: bare paths are files of the project, `scheme://…` names everything else.

An entry has one canonical path, so that two spellings never name two entries. Globs are normalized too, and keep their
glob characters.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from engine.functions.lazy import lazy_regex

MAXIMUM_PATH = 512
"""Longest path in code points."""
SLUG_LENGTH = 80
"""Code points of decoded text that go into a slug."""

_COMPONENT = "-_.!~*'()"
"""What JavaScript's encodeURIComponent does not encode besides letters and digits."""
_NO_WILDCARD = "-_.~'()/"
"""What an escape may be written as: `*` would make a glob of a name, and so may `!`."""
_PLAIN_MARK = lazy_regex(r"(?<!\[)%21(?!\()")
"""Matches an escaped `!` where it makes no glob."""
_MEANT = "?[]{}%*!"
"""What stands for something else in a path that is not escaped."""
_WEB_SCHEMES = frozenset({"http", "https", "mcp"})
"""Schemes whose addresses are somebody else's: they stay as they are."""
_ESCAPES = lazy_regex(r"((?:%[0-9A-Fa-f]{2})+)")
_INSIDE = "use a path inside it, or read other files with a shell command"
_EMPTY = "path is empty: give the path of an entry"
_SPACE = lazy_regex(r"\s")
_CONTROL = lazy_regex(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_CANONICAL = lazy_regex(r"(?!file:)[a-z][a-z0-9+.-]*://[\w.!~*'()/?\[\]{}-]*", re.ASCII)
"""Matches paths with a scheme that are canonical already."""
_ENCODED = lazy_regex(r"(?!https?:|mcp:|file:)[a-z][a-z0-9+.-]*://", re.ASCII)
"""Matches the beginning of a path whose segments are percent-encoded."""
_DRIVE = lazy_regex(r"[A-Za-z]:(?:[\\/]|\Z)")
_WILDCARD = lazy_regex(r"(?<!\\)(?:\\\\)*(?:[*?]|\[[!^]?(?:\w-\w)+_?\]|!\([^)]*\))")
_WEB_WILDCARD = lazy_regex(r"(?<!\\)(?:\\\\)*\*")


def path_scheme(path: str | None) -> str | None:
    """The lower-case scheme before the first `://`; NULL for a bare path, which is a file of the project."""
    if path is None:
        return None
    index = path.find("://")
    return path[:index].lower() if index > 0 else None


def path_normalize(path: str | None) -> str | None:
    """The canonical spelling of `path` (idempotent).

    Bare paths lose `./`, doubled slashes and inner `..`; `file://` is a bare path; other URIs get a lower
    case scheme and each segment percent-encoded once. Of web addresses only the scheme changes. A path that is too long or
    has control characters stays as it is, for `path_error` to name what is wrong.
    """
    if path is None or _CANONICAL.fullmatch(path) or _unnamable(path):
        return path
    scheme = path_scheme(path)
    if scheme is None:
        return _normalize_bare(path)
    rest = path[len(scheme) + 3 :]
    if scheme == "file":
        return path_normalize(rest)
    if scheme in _WEB_SCHEMES:
        return f"{scheme}://{rest}"
    return f"{scheme}://{_encode_once(rest)}"


def path_locate(path: str | None, roots: str | None) -> str | None:
    """`path_normalize` of `path`; an absolute path inside the project's root becomes the one relative to it.

    `roots` is JSON; NULL where there is no root. `names` are the absolute paths by which the root is known; `folds` is 1 if
    its file system takes names that differ in case or in Unicode normalization for the same; `files` have names that may be
    spelled in several ways. If only one of these, or of the folders above them, looks like `path`, it is meant.
    """
    normal = path_normalize(path)
    if normal is None or roots is None:
        return normal
    if normal.startswith("/"):
        normal = _below_root(normal, json.loads(roots))
    return normal if normal.isascii() or path_scheme(normal) is not None else _meant(normal, roots)


def _below_root(normal: str, known: dict[str, Any]) -> str:
    """An absolute path relative to the root, if it is inside it."""
    fold = _folded if known.get("folds") else str
    parts = _normalize_bare(normal.lstrip("/")).split("/")
    for name in known["names"]:
        root = [part for part in (name or "").split("/") if part]
        if root and [fold(part) for part in parts[: len(root)]] == [fold(part) for part in root]:
            return "/".join(parts[len(root) :]) or "."
    return normal


def _meant(path: str, roots: str) -> str:
    """`path` with the spelling of the file or folder that it is equal to but for Unicode normalization, if there is one."""
    spellings = _spellings(roots)
    parts = path.split("/")
    for count in range(len(parts), 0, -1):
        above = "/".join(parts[:count])
        found = spellings.get(unicodedata.normalize("NFC", above), ())
        if above in found:
            return path
        if len(found) == 1:
            return "/".join([*found, *parts[count:]])
    return path


@lru_cache(maxsize=4)
def _spellings(roots: str) -> dict[str, set[str]]:
    """The files that may be spelled in several ways, and the folders above them, by their composed names."""
    found: dict[str, set[str]] = {}
    for path in json.loads(roots).get("files") or ():
        while path and not path.isascii():
            found.setdefault(unicodedata.normalize("NFC", path), set()).add(path)
            path = path.rpartition("/")[0]
    return found


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _normalize_bare(path: str) -> str:
    """The path without empty segments, `.` and `x/..`; a path that begins with a slash stays."""
    if path.startswith("/") or not path:
        return path
    if "//" not in path and "/." not in path and "./" not in path and not path.endswith("/"):
        return path
    kept: list[str] = []
    for segment in path.split("/"):
        if segment in ("", "."):
            continue
        if segment == ".." and kept and kept[-1] != ".." and "*" not in kept[-1]:
            kept.pop()
        else:
            kept.append(segment)
    return "/".join(kept) or "."


def _encode_once(rest: str) -> str:
    """`rest` percent-encoded, but not twice; glob characters stay as they are, encoded or not."""
    pieces = _ESCAPES.split(_keep_names(rest))
    pieces[::2] = [quote(piece, safe=_COMPONENT + "/?[]{}", errors="replace") for piece in pieces[::2]]
    pieces[1::2] = [_encode_escapes(piece) for piece in pieces[1::2]]
    return _PLAIN_MARK.sub("!", "".join(pieces))


def _keep_names(rest: str) -> str:
    """`rest` with `%21` for each `!` that begins no glob, and would begin one if the parentheses after it were decoded."""
    bare = rest.rfind(")") + 1
    closed = max(bare, rest.rfind("%29") + 1)
    first, then = (piece.replace("!%28", "%21%28") for piece in (rest[:bare], rest[bare:closed]))
    return first + then.replace("!(", "%21(") + rest[closed:]


def _encode_escapes(escapes: str) -> str:
    """Percent escapes in canonical form: of a letter that makes a glob, it stays; what is not UTF-8 is encoded again."""
    try:
        text = bytes.fromhex(escapes.replace("%", "")).decode()
    except UnicodeDecodeError:
        text = escapes
    return quote(text, safe=_NO_WILDCARD)


def path_slug(text: str | None) -> str | None:
    """A path made of the first 80 characters of `text`, percent-encoded after the cut; '' if nothing is left.

    White space becomes `_`, a comma begins a new segment, empty segments are dropped. A slug is a name, never a pattern.
    """
    if text is None:
        return None
    return _slug(text.strip()[:SLUG_LENGTH].rstrip())


@lru_cache(maxsize=256)
def _slug(text: str) -> str:
    """`path_slug` of a text that is cut already. It is cached: an action needs that of its target several times."""
    cut = _SPACE.sub("_", text).replace(",", "/")
    slug = "/".join(quote(part, safe=_COMPONENT, errors="replace") for part in cut.split("/") if part)
    return slug.replace("*", "%2A").replace("!(", "%21(")


def path_readable(path: str) -> str:
    """`path` with the letters that its escapes stand for, as a person reads it; what would be read as another path, and
    what is not seen as itself, stays escaped. `path_normalize` gives `path` back. Files, web addresses and what is no path
    are as they are.
    """
    if not _ENCODED.match(path):
        return path
    read = _ESCAPES.sub(_letters, path)
    # a blank at the end is not seen
    return read if read == (seen := read.rstrip(" ")) else seen + "%20" * (len(read) - len(seen))


def _letters(escapes: re.Match[str]) -> str:
    try:
        text = bytes.fromhex(escapes[0].replace("%", "")).decode()
    except UnicodeDecodeError:
        return escapes[0]
    return "".join(each if each.isprintable() and each not in _MEANT else quote(each, safe="") for each in text)


def path_error(path: str | None) -> str | None:
    """What is wrong with `path` as the name of an entry, as a sentence; NULL if nothing is."""
    if path is None:
        return None
    if not path.strip():
        return _EMPTY
    if wrong := _unnamable(path):
        return wrong
    while path_scheme(path) == "file":
        path = path[len("file://") :]
    return _bare_error(path) if path_scheme(path) is None else None


def _unnamable(path: str) -> str | None:
    """What is wrong with `path` before it is read: it is too long, or has a control character."""
    if len(path) > MAXIMUM_PATH:
        return f"path has {len(path)} characters, but at most {MAXIMUM_PATH} are allowed"
    if not path.isprintable() and (control := _CONTROL.search(path)):
        return f"path has the control character U+{ord(control[0]):04X}: leave it out"
    return None


def _bare_error(path: str) -> str | None:
    """What is wrong with a bare path, which must be inside the project on every system; None if nothing is."""
    normal = _normalize_bare(path)
    if not normal.strip():
        return _EMPTY
    if any(each.startswith(("/", "\\")) or _DRIVE.match(each) for each in (path, normal)):
        return f"{path!r} is outside the project folder: {_INSIDE}"
    depth = 0
    for segment in path.replace("\\", "/").split("/"):
        if segment == "..":
            depth -= 1
        elif segment not in ("", ".", "**"):
            depth += 1
        if depth < 0:
            return f"{path!r} leaves the project folder: {_INSIDE}"
    if depth == 0 and "*" not in path:
        return f"path {path!r} is the project root itself: name a file inside it"
    return None


def path_is_pattern(path: str | None) -> int | None:
    """1 if `path` is a glob over paths (`*`, `?`, `[a-z]`, `[!a-z]`, not escaped), else 0.

    The `?` of a web address begins its query, and `[id]` is an ordinary folder name: neither makes a pattern.
    """
    if path is None:
        return None
    if "*" not in path and "?" not in path and "[" not in path and "!" not in path:
        return 0
    wildcard = _WEB_WILDCARD if path_scheme(path) in _WEB_SCHEMES else _WILDCARD
    return int(wildcard.search(path) is not None)


def log_path(turn: int | None, action: str | None, target: str | None) -> str | None:
    """The path of the log entry of an action: `log://turn_N/ACTION/SLUG`, with the slug of its target, or `_` if that is ''.

    NULL for a NULL turn or action.
    """
    if turn is None or action is None:
        return None
    return f"log://turn_{turn}/{action}/{path_slug(target or '') or '_'}"

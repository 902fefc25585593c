"""Links of Markdown texts to other files of their project, and which of them a prompt is about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.functions.compact import to_json
from engine.functions.lazy import lazy_regex

MOST_LINKS = 200
"""How many links of a text are taken, the first ones."""
_MOST_CHARACTERS = 200_000
_MOST_WORDS = 50_000
_LONGEST_TITLE = 200
_LONGEST_TARGET = 1_000
# bounded, so that no line takes longer than its length; an image is no link, and one around an image is called like it
_TARGET = r"\([ \t]{0,20}(<[^<>\n]{1,1000}>|[^\s()<>]{1,1000})(?:[ \t][^()\n]{0,300})?\)"
_IMAGE = r"!\[([^\[\]]{0,300})\]\([^()\n]{0,1000}\)"
_LINK = lazy_regex(rf"(?<!!)\[(?:[ \t]{{0,20}}{_IMAGE}([^\[\]]{{0,300}})|([^\[\]]{{1,300}}))\]{_TARGET}")
_ADDRESS = lazy_regex(r"https?://[^\s/]", re.IGNORECASE)
_MENTION = lazy_regex(r"(?<![\w@./-])@((?:\.{1,2}/)*\w[\w./-]{0,300})")
_CODE = lazy_regex(r"`[^`]*`")
_FENCE = lazy_regex(r"\s{0,3}(`{3,}|~{3,})")
_ELSEWHERE = lazy_regex(r"[A-Za-z][A-Za-z0-9+.-]*:|//|/|#|\\")


def markdown_links(text: str | None, folder: str | None) -> str | None:
    """The links `[title](path)` and `@path` of a text to files, as a JSON array of objects: line (from 1), title, target.

    A target is a path below the root, resolved against `folder` ('' or ending in '/') without what follows '#' or '?', or an
    address of http or https as it stands. Other addresses, absolute paths and places in the text itself are left out,
    and so are images, links in blocks of code, a second link to the same target, and one that leads out of the root. A link
    around an image has the text of the image for a title.
    """
    if text is None or folder is None:
        return None
    found: dict[str, dict[str, object]] = {}
    for line, title, target in _links(text):
        path = target if _ADDRESS.match(target) else _resolved(folder, target)
        if path and path not in found:
            found[path] = {"line": line, "title": " ".join(title.split())[:_LONGEST_TITLE], "target": path}
            if len(found) == MOST_LINKS:
                break
    return to_json(list(found.values()))


def terms_share(title: str | None, prompt: str | None) -> float | None:
    """The share of the words of a title that the first 50,000 characters of a prompt have, in any form: 0 to 1."""
    if title is None or prompt is None:
        return None
    from engine.functions.passages.question_terms import question_terms

    wanted = {term.stems for term in question_terms(title)}
    if not wanted:
        return 0.0
    words = {re.sub(r"\W+", "", word) for word in re.split(r"[\W_]+", prompt[:_MOST_WORDS].casefold())}
    return sum(any(word.startswith(stems) for word in words) for stems in wanted) / len(wanted)


def _links(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, title and target of each link outside of blocks of code."""
    fence = ""
    for number, line in enumerate(text[:_MOST_CHARACTERS].split("\n"), 1):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence:
            for link in _LINK.finditer(line[:5_000]):
                title = link[3] or f"{link[1] or ''} {link[2] or ''}".strip()
                target = link[4].strip("<>")
                yield number, title or target, target
            for mention in _MENTION.finditer(_CODE.sub("", line[:5_000])) if "@" in line else ():
                path = mention[1].rstrip("./-")
                if "." in path or "/" in path:
                    yield number, path, path


def _resolved(folder: str, target: str) -> str | None:
    """The path that a target names, seen from `folder`; None for what is no file below the root."""
    if _ELSEWHERE.match(target):
        return None
    from urllib.parse import unquote

    plain = unquote(re.split(r"[#?]", target, maxsplit=1)[0])
    parts: list[str] = [part for part in folder.split("/") if part]
    for part in plain.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    path = "/".join(parts)
    return path if 0 < len(path) <= _LONGEST_TARGET and path.isprintable() else None

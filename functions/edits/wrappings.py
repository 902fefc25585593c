"""What models put around a patch: fences of Markdown, here documents of a shell, sentences."""

from __future__ import annotations

from engine.functions.lazy import lazy_regex

_FENCE = lazy_regex(r"(`{3,}|~{3,})[ \t]*[\w+.-]*\s*")
_COMMAND = lazy_regex(r"(?P<command>[^\n<]*)<<-?[ \t]*(?P<quote>['\"]?)(?P<word>\w+)(?P=quote)(?:\s[^\n]*)?")
_OWN = lazy_regex(r"NEW|PREPEND|APPEND|REPLACE|DELETE|SEARCH")
_LONGEST_COMMAND = 500
_DEPTH = 4
_LONGEST_HEAD = 8_192


class BadPatch(Exception):  # noqa: N818 - an outcome, not a defect
    """The patch cannot be read; the message tells the model what to correct."""


def head_inside(text: str) -> str:
    """The beginning of `text` inside its wrappings."""
    head = text.lstrip("\ufeff \t\r\n")[:_LONGEST_HEAD]
    for _ in range(_DEPTH):
        line, _, rest = head.partition("\n")
        if not (_FENCE.fullmatch(line) or _word(line)):
            break
        head = rest.lstrip(" \t\r\n")
    return head


def unwrap(text: str) -> str:
    """`text` without its wrappings. Raises `BadPatch`."""
    text = text.lstrip("\ufeff \t\r\n")
    for _ in range(_DEPTH):
        line, _, rest = text.partition("\n")
        if fence := _FENCE.fullmatch(line):
            text = _inside_fence(rest, fence[1])
        elif word := _word(line):
            text = _inside_document(rest, word)
        else:
            break
        text = text.lstrip(" \t\r\n")
    return text


def written_by_command(text: str) -> bool:
    """Whether `text` is nothing but a shell command that writes a here document into a file."""
    line, _, rest = text.strip().partition("\n")
    program = line[:_LONGEST_COMMAND].removeprefix("$ ").partition(" ")[0]
    if program != "tee" and not (program == "cat" and ">" in line):
        return False
    return rest.rpartition("\n")[2].strip() == _word(line)


def _word(line: str) -> str | None:
    """The word that ends the here document that `line` begins; None if it begins none, as an edit marker does not."""
    found = _COMMAND.fullmatch(line)
    if found is None or (not found["command"].strip() and not found["quote"] and _OWN.match(found["word"])):
        return None
    return found["word"]


def _inside_document(rest: str, word: str) -> str:
    lines = rest.rstrip().split("\n")
    if lines[-1].strip() != word:
        raise BadPatch(f"the here document has no {word!r} alone on its last line")
    return "".join(f"{line}\n" for line in lines[:-1])


def _inside_fence(rest: str, mark: str) -> str:
    """The text between fences; several fenced texts, one after another, are joined."""
    lines = rest.rstrip().split("\n")
    if not _closes(lines[-1], mark):
        raise BadPatch(f"the fence has no {mark!r} alone on its last line")
    kept: list[str] = []
    at, end = 0, len(lines) - 1
    while at < end:
        line = lines[at]
        at += 1
        if _closes(line, mark):
            at = next((place for place in range(at, end) if lines[place].strip()), end)
            if at == end or not _FENCE.fullmatch(lines[at]):
                raise BadPatch(f"text stands behind the fence {mark!r} that ends the patch: leave it out")
            at += 1
        else:
            kept.append(line)
    return "".join(f"{line}\n" for line in kept)


def _closes(line: str, mark: str) -> bool:
    bare = line.strip()
    return bare.startswith(mark) and not bare.strip(mark[0])

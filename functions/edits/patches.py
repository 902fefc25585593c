"""Patches: changes of one or more files in one body. `patch_parse` reads them, `patch_apply` changes one text."""

from __future__ import annotations

from typing import Any

from engine.functions.compact import from_json, to_json
from engine.functions.limits import Exceeded

from .diffs import parse_unified
from .hunks import apply_hunks
from .lines import Mismatch
from .mixed import other_edit, told
from .patch_notation import Change, Hunk, embedded_patch, parse_codex, patch_form
from .wrappings import BadPatch, unwrap, written_by_command


def patch_parse(text: str | None) -> str | None:
    """The changes in the patch `text` as JSON ``{"form", "files", "error"}``.

    `form` is codex or unified by how the text begins inside fences and here documents; embedded for a text with a patch
    in it, or a shell command that writes one; null for any other text. A file is ``{"action":
    "add|update|delete", "path", "to", "hunks": [{"at", "line", "end", "lines"}]}``; `error` tells the model what
    to correct: then there are no files.
    """
    if text is None:
        return None
    form = patch_form(text)
    files: list[Change] = []
    error = None
    try:
        if form is not None:
            files = _READERS[form](unwrap(text))
        elif inside := embedded_patch(text):
            form, notation, patch = "embedded", *inside
            _check_other(text, patch)
            files = _READERS[notation](patch)
        elif written_by_command(text):
            form = "embedded"
            raise BadPatch("the body is a shell command that writes a file: write only the text of the file")
    except BadPatch as problem:
        error = f"{problem}\nTo keep the body as a text, wrap it in <<NEW."
    return to_json({"form": form, "files": [change.as_row() for change in files], "error": error})


def _check_other(text: str, patch: str) -> None:
    """Raise `BadPatch` where the text around an embedded `patch` holds another edit."""
    before, _, behind = text.partition(patch)
    if (line := other_edit(before) or other_edit(behind)) is not None:
        raise BadPatch(f"{told(line)}. Nothing was changed.")


_READERS = {"codex": parse_codex, "unified": parse_unified}


def patch_apply(current: str | None, change: str | None) -> str | None:
    """What `change`, one of the files of `patch_parse`, makes of the text `current` (NULL: there is no file), as JSON.

    ``{"state": "resolved", "body", "changed", "warnings"}``, `body` being null for a file that is deleted; or
    ``{"state": "failed", "outcome": "conflict" | "not_found" | "validation", "message"}``: then nothing was changed.
    """
    if change is None:
        return None
    try:
        wanted = _change(from_json(change))
    except (ValueError, TypeError, KeyError, AttributeError):
        return _failed("validation", "the change is not one that patch_parse gives")
    if wanted.action == "add":
        if current is not None:
            return _failed("conflict", f"{wanted.path} exists already: change it with '*** Update File: {wanted.path}'")
        return _resolved(None, _added(wanted), [])
    if current is None:
        return _failed("not_found", f"{wanted.path} not found: the patch can {wanted.action} only what is there")
    if wanted.action == "delete":
        return _resolved(current, None, [])
    warnings: list[str] = []
    try:
        body = apply_hunks(current, wanted, warnings)
    except Mismatch as mismatch:
        return _failed(mismatch.outcome, str(mismatch))
    except Exceeded as exceeded:
        return _failed("validation", str(exceeded))
    return _resolved(current, body, warnings)


def _change(row: Any) -> Change:
    hunks = [Hunk(list(each["at"]), each["line"], bool(each["end"]), list(each["lines"])) for each in row["hunks"]]
    if not all(isinstance(line, str) for hunk in hunks for line in (*hunk.lines, *hunk.at)):
        raise TypeError("a line must be text")
    return Change(str(row["action"]), str(row["path"]), row["to"], hunks)


def _failed(outcome: str, message: str) -> str:
    return to_json({"state": "failed", "outcome": outcome, "message": message})


def _resolved(before: str | None, body: str | None, warnings: list[str]) -> str:
    return to_json({"state": "resolved", "body": body, "changed": body != before, "warnings": warnings})


def _added(change: Change) -> str:
    """The text of a new file: it ends in a line feed unless the patch says that it does not."""
    lines = [line for hunk in change.hunks for line in hunk.lines]
    text = "\n".join(line[1:] for line in lines if line[:1] in ("+", " "))
    bare = any(line.startswith("\\") for line in lines)
    return text if bare or not any(line[:1] in ("+", " ") for line in lines) else f"{text}\n"

"""Edits: the new text of an entry after a `set`, and the diff between two texts.

A body with markers is a list of operations. They are applied in order, each to the result of the one before, all or
none. A body without markers is the new text, unless it consists of sed substitutions or hunks and the entry exists.
"""

from __future__ import annotations

from typing import Any

from engine.functions.compact import to_json
from engine.functions.lazy import lazy_regex
from engine.functions.limits import SUBSTITUTION_HITS, Exceeded, Work

from .anchors import apply_anchored, has_anchors
from .blocks import begins_with_block, holds_block, may_hold_block, parse_blocks
from .diffs import parse_hunks
from .hunks import apply_hunks
from .markers import Operation, Parsed, parse_markers
from .matching import Mismatch, ambiguity, locate, with_ending
from .patch_notation import Change
from .sed import Hit, Substitution, apply_hits, find_hits, is_named, parse_sed, plain_text, problem, replace_literally
from .wrappings import BadPatch, head_inside, unwrap

_COUNTED_HITS = 60
"""Hits that a message is made of; it says of more than 50 that there are more."""
_ON_PURPOSE = "To keep the body as a text, wrap it in <<NEW."
_MARK = "\ufeff"
"""A byte order mark, which stays at the beginning."""
_SIGNS = ("<<", "@@", "```", "~~~", "SEARCH", "ORIGINAL", "End Patch")
_LINE_SIGNS = lazy_regex(r"\n[ \t\ufeff]*(?:s[^\w\s]|---|\+\+\+|\*\*\*|diff|Index:|cat|tee|\$)")
"""Each edit, block, hunk and patch has one of these, the second kind at the beginning of a line."""


def read_edits(body: str, current: str | None) -> Parsed:
    """The operations that `body` is written in, for an entry whose text is `current`, NULL where there is none.

    Blocks of SEARCH and REPLACE behind other text count only where `current` holds no such blocks itself.
    """
    blocks = may_hold_block(body)
    if blocks and begins_with_block(body):
        return parse_blocks(body)
    parsed = parse_markers(body) if "<<" in body else Parsed(plain=True)
    if blocks and parsed.plain and current is not None and holds_block(body) and not holds_block(current):
        return parse_blocks(body)
    return parsed


def edit_apply(current: str | None, body: str | None) -> str | None:
    """What `body` makes of the text `current` (NULL: there is no entry), as JSON.

    ``{"state": "resolved", "body", "changed", "whole", "warnings"}``, `body` being NULL if there still is no entry, `whole`
    saying whether the whole text, or more than half of it by regular expressions, was replaced without naming it; or
    ``{"state": "failed", "outcome": "conflict" | "validation", "message"}``: then nothing was changed.
    """
    if body is None:
        return None
    if has_anchors(body):
        return apply_anchored(current, body)
    parsed = read_edits(body, current)
    if parsed.error is not None:
        return _json(state="failed", outcome="validation", message=parsed.error)
    warnings = list(parsed.warnings)
    whole = False
    try:
        if not parsed.plain:
            text = _perform(current, parsed.operations, warnings)
            whole = any(
                operation.op in ("new", "replace") and operation.search is None for operation in parsed.operations
            )
        elif current is None:
            text = body
        elif substitutions := parse_sed(body):
            text, whole = _substitute(current, substitutions)
        elif "@@" in body and (change := _hunks_alone(body)):
            text = apply_hunks(current, change, warnings)
        else:
            text, whole = body, True
    except BadPatch as bad:
        return _json(state="failed", outcome="validation", message=f"{bad}\n{_ON_PURPOSE}")
    except Exceeded as exceeded:
        return _json(state="failed", outcome="validation", message=str(exceeded))
    except Mismatch as mismatch:
        return _json(state="failed", outcome="conflict", message=str(mismatch))
    return _json(
        state="resolved", body=text, changed=text != current, whole=whole and current is not None, warnings=warnings
    )


def edit_has_marks(body: str | None) -> int | None:
    """0 where `body` holds no sign of an edit or a patch, so that `edit_apply` makes just `body` of any text; else 1."""
    if body is None:
        return None
    return int(any(sign in body for sign in _SIGNS) or _LINE_SIGNS.search(f"\n{body}") is not None)


def _hunks_alone(body: str) -> Change | None:
    """The change in a body of hunks without the name of a file. Raises `BadPatch`."""
    return parse_hunks(unwrap(body), "the entry") if head_inside(body).startswith("@@") else None


def _json(**result: Any) -> str:
    return to_json(result)


def _perform(current: str | None, operations: list[Operation], warnings: list[str]) -> str | None:
    """The text after all `operations`; appends to `warnings`. Raises `Mismatch`."""
    text = current
    work = Work()
    for number, operation in enumerate(operations, 1):
        work.check()
        if text is None or (current is None and operation.search is not None and _only_edits(operations[:number])):
            text = _begin(text, operation, warnings)
        elif operation.search is not None:
            text = _edit(text, operation, _name(operation, number, operations), warnings)
        else:
            text = _place(text, operation)
    return text


def _only_edits(operations: list[Operation]) -> bool:
    """Whether all operations so far search: then an entry that did not exist has no text to search in."""
    return all(operation.search is not None for operation in operations)


def _begin(text: str | None, operation: Operation, warnings: list[str]) -> str | None:
    """The text of an entry that did not exist: an edit adds its replacement, a deletion does nothing."""
    if operation.op == "delete":
        warnings.append("DELETE was left out: there is no text to delete from")
        return text
    if operation.op == "edit":
        warnings.append("the entry did not exist: the replacement was added as its text")
    return (text or "") + operation.body


def _place(text: str, operation: Operation) -> str:
    """`text` after prepend, append, new or replace."""
    if operation.op in ("new", "replace"):
        return operation.body
    body = with_ending(operation.body, "\r\n") if "\r\n" in text else operation.body
    if operation.op == "append":
        return text + body
    mark = _MARK if text.startswith(_MARK) else ""
    return mark + body + text[len(mark) :]


def _edit(text: str, operation: Operation, name: str, warnings: list[str]) -> str:
    """`text` with the searched region replaced; an empty search adds lines at the end."""
    search = operation.search or ""
    if not search.strip():
        return _append_lines(text, operation.body)
    place = locate(text, search, operation.body, name)
    if place.warning:
        warnings.append(place.warning)
    return text[: place.start] + place.replacement + text[place.end :]


def _append_lines(text: str, body: str) -> str:
    """`text` with `body` added as lines of its own; an empty body adds nothing."""
    if not body:
        return text
    ending = "\r\n" if "\r\n" in text else "\n"
    gap = "" if not text or text.endswith("\n") else ending
    added = with_ending(body, ending)
    return text + gap + added + ("" if added.endswith("\n") else ending)


def _name(operation: Operation, number: int, operations: list[Operation]) -> str:
    """How a message names an operation: with its number if there are several."""
    word = "SEARCH text" if operation.op == "edit" else "DELETE text"
    return word if len(operations) == 1 else f"{word} of edit {number} of {len(operations)}"


def _substitute(text: str, substitutions: list[Substitution]) -> tuple[str, bool]:
    """`text` after sed substitutions, and whether regular expressions matched more than half of it.

    One without the flag g must hit exactly once. Raises `Mismatch`, `Exceeded`.
    """
    work, unnamed, length = Work(), 0, len(text)
    for each in substitutions:
        work.check()
        replaced = replace_literally(each, text)
        if replaced is None:
            hits = _hits(text, each)
            if not is_named(each, text):
                unnamed += sum(hit.end - hit.start for hit in hits)
            replaced = apply_hits(text, hits)
        text = replaced
    return text, 2 * unnamed > length


def _hits(text: str, each: Substitution) -> list[Hit]:
    """The places that a substitution replaces. Raises `Mismatch`, `Exceeded`."""
    hits = find_hits(each, text, SUBSTITUTION_HITS + 1)
    if not hits and (reason := problem(each)):
        raise Exceeded(f"{reason}. Nothing was changed.")
    if not hits:
        place = locate(text, plain_text(each.old), plain_text(each.new), f"s/{each.old}/")
        return [Hit(place.start, place.end, place.replacement)]
    if len(hits) > 1 and not each.everywhere:
        message = ambiguity(text, [hit.start for hit in hits[:_COUNTED_HITS]], f"s/{each.old}/")
        raise Mismatch(f"{message}\nTo change all of them, add the flag g.")
    if len(hits) > SUBSTITUTION_HITS:
        raise Exceeded(f"s/{each.old}/ hits more than {SUBSTITUTION_HITS:,} times. Nothing was changed. Narrow it.")
    return hits

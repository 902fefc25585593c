"""Edits: the new text of an entry after a `set`, and the diff between two texts.

A body with markers is a list of operations. They are applied in order, each to the result of the one before, all or
none. A body without markers is the new text, unless it consists of sed substitutions or hunks and the entry exists.
"""

from __future__ import annotations

from typing import Any

from engine.functions.compact import to_json
from engine.functions.lazy import lazy_regex
from engine.functions.limits import Exceeded, Work

from .anchors import apply_anchored, check_copied, has_anchors
from .blocks import begins_with_block, holds_block, may_hold_block, parse_blocks
from .diffs import parse_hunks
from .fitting import Hand
from .hunks import apply_hunks
from .lines import Lines, Mismatch, NoText, Run, Unreadable
from .lookalikes import check_lookalike, is_lookalike
from .markers import Operation, Parsed, parse_markers
from .mixed import other_edit, told
from .patch_notation import Change
from .searching import Search, apply_search
from .sed import nearly_sed, parse_sed
from .substituting import substitute
from .wrappings import BadPatch, head_inside, unwrap

_ON_PURPOSE = "To keep the body as a text, wrap it in <<NEW."
_SIGNS = ("<<", "@@", "```", "~~~", "SEARCH", "ORIGINAL", "End Patch", "|")
_LINE_SIGNS = lazy_regex(r"\n[ \t\ufeff]*(?:(?:\d|\$|,)*s[^\w\s]|---|\+\+\+|\*\*\*|diff|Index:|cat|tee|\$)")
"""Each edit, block, hunk and patch has one of these, the second kind at the beginning of a line."""


def read_edits(body: str, current: str | None) -> Parsed:
    """The operations that `body` is written in, for an entry whose text is `current`, NULL where there is none.

    Blocks of SEARCH and REPLACE behind other text count only where `current` holds no such blocks itself.
    """
    blocks = may_hold_block(body)
    if blocks and begins_with_block(body):
        return parse_blocks(body, current)
    parsed = parse_markers(body) if "<<" in body else Parsed(plain=True)
    if blocks and parsed.plain and current is not None and holds_block(body) and not holds_block(current):
        return parse_blocks(body, current)
    return parsed


def edit_apply(current: str | None, body: str | None) -> str | None:
    """What `body` makes of the text `current` (NULL: there is no entry), as JSON.

    ``{"state": "resolved", "body", "changed", "whole", "warnings"}``, `body` being NULL if there still is no entry, `whole`
    saying whether the whole text, or more than half of it by regular expressions, was replaced without naming it; or
    ``{"state": "failed", "outcome": "conflict" | "validation" | "not_found", "message"}``: then nothing was changed.
    """
    if body is None:
        return None
    warnings: list[str] = []
    try:
        text, whole = _edited(current, body, warnings)
    except BadPatch as bad:
        return _json(state="failed", outcome="validation", message=f"{bad}\n{_ON_PURPOSE}")
    except Exceeded as exceeded:
        return _json(state="failed", outcome="validation", message=str(exceeded))
    except Mismatch as mismatch:
        return _json(state="failed", outcome=mismatch.outcome, message=str(mismatch))
    return _json(
        state="resolved", body=text, changed=text != current, whole=whole and current is not None, warnings=warnings
    )


def _edited(current: str | None, body: str, warnings: list[str]) -> tuple[str | None, bool]:
    """The new text, and whether it was given whole; appends to `warnings`. Raises `Mismatch`, `Exceeded`, `BadPatch`."""
    if has_anchors(body):
        return apply_anchored(current or "", body), False
    parsed = read_edits(body, current)
    if parsed.error is not None:
        raise Unreadable(parsed.error)
    warnings += parsed.warnings
    if not parsed.plain:
        check_copied([line for each in parsed.operations for line in each.written], current)
        return _perform(current, parsed.operations, warnings), any(each.whole for each in parsed.operations)
    if current is None:
        _check_new(body)
        return body, False
    if substitutions := parse_sed(body):
        return substitute(current, substitutions, warnings)
    if "@@" in body and (change := _hunks_alone(body)):
        return apply_hunks(current, change, warnings), False
    check_copied(body.split("\n"), current)
    _check_one_notation(body)
    if _is_bare_hunk(body, current):
        raise Unreadable(
            f"The body looks like lines of a diff. Nothing was changed. Write '@@' above them. {_ON_PURPOSE}"
        )
    if nearly_sed(body):
        raise Unreadable(
            "The body looks like commands of sed, but only s/old/new/ with the flags g, i, m and s is read. "
            f"Nothing was changed. Use <<SEARCH and <<REPLACE. {_ON_PURPOSE}"
        )
    check_lookalike(body, current)
    return body, True


def _check_one_notation(body: str) -> None:
    """Raise `Unreadable` for a body that begins with a substitution, and holds an edit in another notation."""
    first, _, rest = body.lstrip().partition("\n")
    if rest and nearly_sed(first) and (line := other_edit(rest, commands=False)) is not None:
        raise Unreadable(f"Refused, for {told(line)}. Nothing was changed. {_ON_PURPOSE}")


def _check_new(body: str) -> None:
    """Raise `Mismatch` for a new text that is an edit of a text which is not there. Raises `BadPatch`."""
    if parse_sed(body) or ("@@" in body and _hunks_alone(body)):
        raise NoText(
            "The body is an edit, and nothing stands at this path. Nothing was changed. Name a path that exists. "
            f"{_ON_PURPOSE}"
        )
    check_lookalike(body, None)


def edit_has_marks(body: str | None) -> int | None:
    """0 where `body` holds no sign of an edit or a patch, so that `edit_apply` makes just `body` of any text; else 1."""
    if body is None:
        return None
    if any(sign in body for sign in _SIGNS) or _is_signed(body) or _LINE_SIGNS.search(f"\n{body}"):
        return 1
    return int(is_lookalike(body) or nearly_sed(body))


def _is_signed(body: str) -> bool:
    """Whether lines of `body` begin with `-`, and others with `+`."""
    return ("\n-" in body or body.startswith("-")) and ("\n+" in body or body.startswith("+"))


def _is_bare_hunk(body: str, current: str) -> bool:
    """Whether each line of `body` has a sign, and all old ones among them are lines of the text."""
    if not _is_signed(body):
        return False
    lines = [line for line in body.split("\n") if line.strip()]
    present = {line.strip() for line in current.split("\n")}
    signed = all(line[0] in "+- " for line in lines)
    return signed and all(line[1:].strip() in present for line in lines if line[0] == "-")


def _hunks_alone(body: str) -> Change | None:
    """The change in a body of hunks without the name of a file. Raises `BadPatch`."""
    return parse_hunks(unwrap(body), "the entry") if head_inside(body).startswith("@@") else None


def _json(**result: Any) -> str:
    return to_json(result)


def _perform(current: str | None, operations: list[Operation], warnings: list[str]) -> str | None:
    """The text after all `operations`; appends to `warnings`. Raises `Mismatch`, `Exceeded`."""
    lines = None if current is None else Lines.of(current)
    hand = Hand.of(line for each in operations for line in (*(each.old or ()), *each.written))
    work = Work()
    for number, operation in enumerate(operations, 1):
        work.check()
        if operation.whole:
            lines = Lines.of(operation.text)
            lines.fresh = [True] * len(lines.rows)
        elif operation.old:
            name = _name(operation, number, operations)
            lines = _search(lines, Search(name, operation.old, operation.new, operation.part, hand), warnings)
        elif operation.new:
            lines = _add(lines or Lines(), operation)
    return None if lines is None else lines.text()


def _search(lines: Lines | None, search: Search, warnings: list[str]) -> Lines:
    """`lines` with the searched lines replaced. Raises `NoText` where there are none to search in."""
    if lines is None:
        raise NoText(
            f"{search.name}: nothing stands at this path, so there is nothing to search in. Nothing was changed. "
            "Name a path that exists. To begin a new text, write it whole with <<NEW."
        )
    return apply_search(lines, search, warnings)


def _add(lines: Lines, operation: Operation) -> Lines:
    """`lines` with whole lines added at the beginning or, by an append and an empty search, at the end."""
    at = 0 if operation.op == "prepend" else len(lines.rows)
    ending = lines.ending((at, at), lines.kinds(at - 1, at + 1))
    if not lines.rows:
        ended = "".join(line[-1:] for line in operation.new).count("\r")
        ending = "\r\n" if ended == len(operation.new) else "\n"
    rows = [line.removesuffix("\r") for line in operation.new]
    coded = any(line.endswith("\r") for line in operation.new)
    ends = [("\r\n" if line.endswith("\r") else "\n") if coded else ending for line in operation.new]
    return lines.replaced([Run(at, at, rows, ends)], None if lines.rows else False)


def _name(operation: Operation, number: int, operations: list[Operation]) -> str:
    """How a message names an operation: with its number if there are several."""
    word = "DELETE text" if operation.op == "delete" else "SEARCH text"
    return word if len(operations) == 1 else f"{word} of edit {number} of {len(operations)}"

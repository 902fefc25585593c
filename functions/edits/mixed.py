"""Bodies that hold edits in two notations: only one of them would be done, so all are refused.

What stands outside of the blocks of a notation is taken for sentences and left out; it must hold no other edit.

spec: @edit_lookalikes
"""

from __future__ import annotations

from engine.functions.lazy import lazy_regex

from .lookalikes import holds_named_parts
from .sed import nearly_sed

_EDIT = lazy_regex(
    r"(?m)^[ \t]*(?:<<(?:SEARCH|REPLACE|NEW|APPEND|PREPEND|DELETE|AFTER)\w{0,20}(?=\s|\Z)"
    r"|(?:<{5,9}|-{5,9}) ?(?:SEARCH|ORIGINAL)\b|\*\*\* (?:Begin Patch|(?:Add|Update|Delete) File:)"
    r"|--- [^\n]+\n\+\+\+ |@@(?: [^\n]*)?\r?\n[-+ ])[^\n]{0,80}"
)
_LONGEST_COMMAND = 1_000
_SIGNS = ("<<", "@@", "---", "***", "SEARCH", "ORIGINAL")


def other_edit(outside: str, commands: bool = True) -> str | None:
    """The first line of an edit in the text `outside` of the edits that were read; None if it holds none.

    `commands` says whether substitutions of sed count.
    """
    if any(sign in outside for sign in _SIGNS) and (found := _EDIT.search(outside)):
        return found[0].strip().partition("\n")[0]
    lines = outside.split("\n")
    command = next((line for line in lines if commands and len(line) < _LONGEST_COMMAND and nearly_sed(line)), None)
    if command is not None:
        return command.strip()
    return next(filter(None, map(str.strip, lines))) if holds_named_parts(outside) else None


def told(line: str) -> str:
    """What a message says of another edit."""
    return (
        f"the body holds edits in two notations: {line[:80]!r} stands outside of those that were read. Write all edits of a "
        "body in one notation"
    )

"""The answers of hooks: whether a command that a person has put at a point of a run refuses what comes, and why."""

from __future__ import annotations

import json
from typing import Any

from .terminals import terminal_text

_MOST_REASON = 2_000
"""Characters of a reason that are kept."""
_REFUSES = 2
"""The exit code that refuses."""
_NO = ("block", "deny")


def hook_verdict(ended: str | None, code: int | None, stdout: str | None, stderr: str | None) -> str | None:
    """What a hook says, as JSON: `verdict` is allowed, refused or failed, `reason` says why, null where it says nothing.

    `ended` is exited, timed_out, or how else its process ended, with the exit code `code`. Exit code 2 refuses, with stderr
    as the reason; so does JSON on stdout with a `decision` of block or deny. Any other code is a failure of the hook.
    """
    if ended is None:
        return None
    errors, printed = _text(stderr), _text(stdout)
    if ended != "exited":
        return _verdict("failed", "took too long" if ended == "timed_out" else errors or "could not start")
    if code == _REFUSES:
        return _verdict("refused", errors or printed)
    if code:
        return _verdict("failed", f"exit={code}" + (f": {errors or printed}" if errors or printed else ""))
    if not (stdout or "").lstrip().startswith("{"):
        return _verdict("allowed", "")
    try:
        said = json.loads(stdout or "")
    except (ValueError, RecursionError):
        return _verdict("failed", "its answer is not JSON")
    own = said.get("hookSpecificOutput")
    more: dict[str, Any] = own if isinstance(own, dict) else {}
    decision = said.get("decision", more.get("permissionDecision"))
    reason = said.get("reason", more.get("permissionDecisionReason", said.get("stopReason")))
    refuses = (isinstance(decision, str) and decision in _NO) or said.get("continue") is False
    return _verdict("refused" if refuses else "allowed", _text(reason) if isinstance(reason, str) else "")


def _text(text: str | None) -> str:
    """What is shown of a text, cut."""
    shown = terminal_text(text or "").replace("\0", "\ufffd").strip()
    return shown if len(shown) <= _MOST_REASON else f"{shown[:_MOST_REASON].rstrip()}…"


def _verdict(verdict: str, reason: str) -> str:
    return json.dumps({"verdict": verdict, "reason": reason or None}, ensure_ascii=False)

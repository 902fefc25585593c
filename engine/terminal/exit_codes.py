"""Exit codes of the commands:

0 answered (200, 204) · 1 failed, rejected, refused (500, 403, 409, …) or not accepted · 2 wrong usage, or no such run,
model or folder (400, 404) · 3 cannot be done (422) · 4 aborted (499) · 5 too large (413) · 6 waits for a decision (202)
· 7 nothing to resume · 8 not of the form that was asked for (406)
· 130 interrupted by Ctrl-C or a signal, to be resumed.
"""

from __future__ import annotations

FAILED = 1
NOTHING_TO_DO = 7
INTERRUPTED = 130

_BY_STATUS = {200: 0, 204: 0, 400: 2, 404: 2, 406: 8, 422: 3, 499: 4, 413: 5, 100: 6, 102: 6, 202: 6}


def exit_code(status: int, *, accepted: bool | None = None) -> int:
    """The exit code for the HTTP status of a result or an error; an answer that was not `accepted` is a failure."""
    return _BY_STATUS.get(status, FAILED) or (FAILED if accepted is False else 0)

"""Asks a hook: runs its command with JSON on standard input, and reports how it ended. What it means is decided in SQL.

A hook of the user runs with the user's rights, as the commands that he types; one of a project runs in the sandbox of shell
commands. Both are ended, with all that they started, when their time is over.

spec: @hooks @hook_answers
"""

from __future__ import annotations

import os
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import EngineError
from engine.processes.shell import ProcessResult, run_process

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from engine.db.database import Row
    from engine.handle import Handle
    from engine.sandbox import Confined

    from .lease import Lease

_MOST_OUTPUT = 64_000
"""Bytes of each channel that are read, its beginning and its end."""
_CHOICE = "select value from settings where name = 'sandbox'"


def ask_hook(db: Handle, run: str, run_id: int, lease: Lease) -> None:
    """Ask the hook that the file names next. A driver that is stopped meanwhile reports nothing: it is asked again."""
    with db.transaction():
        hook = db.row("select * from _next_hooks where run_id = ?", (run_id,))
        assert hook is not None, "the step says that one is due"
        db.insert("_begin_hook", run=run, lease=lease.token)
    said: dict[int, list[str]] = {1: [], 2: []}
    try:
        with _place(db, hook) as confined, tempfile.TemporaryFile() as file:
            file.write((hook["input"] + "\n").encode(errors="replace"))
            file.seek(0)
            result = run_process(
                hook["line"],
                cwd=Path(hook["root"] or os.path.expanduser("~")),
                timeout_s=hook["timeout_s"],
                on_start=lambda _: None,
                on_output=lambda channel, text: said[channel].append(text),
                cancelled=lease.stopped,
                max_output=_MOST_OUTPUT,
                confined=confined,
                given=file.fileno(),
            )
    except EngineError as error:  # there is no sandbox for it
        result, said[2] = ProcessResult(None, "failed_to_start", 0.0), [error.message]
    if result.ended == "cancelled":
        return
    if result.ended == "failed_to_start" and result.message:
        said[2].append(result.message)
    columns = {
        "ended": result.ended,
        "exit_code": result.exit_code,
        "stdout": "".join(said[1]),
        "stderr": "".join(said[2]),
    }
    db.insert("_end_hook", run=run, lease=lease.token, **columns)


def _place(db: Handle, hook: Row) -> AbstractContextManager[Confined | None]:
    """What a hook of a project is started with: the sandbox of shell commands, which `auto` may do without."""
    if hook["layer"] != "project" or hook["root"] is None:
        return nullcontext()
    from engine import sandbox
    from engine.effects.confinement import confinements

    choice = db.value(_CHOICE)
    found, reason = sandbox.find(choice)
    if found is not None:
        return found.confine(confinements(db)(Path(hook["root"]), ""))
    if choice != "auto":
        raise sandbox.SandboxMissing(f"it needs a sandbox, and none is available ({reason})")
    return nullcontext()

"""The outputs of shell commands, in the Python API: follow one, and end its command."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

from engine.arguments import expects
from engine.db.database import Store

from .kept_jobs import KeptJobs


class Output(TypedDict):
    """A piece of what a shell command printed: `path` is that of the output, `channel` 1 (stdout) or 2 (stderr).

    `left_out` is True if output before this piece was dropped.
    """

    path: str
    channel: int
    text: str
    left_out: bool


class Outputs(Store):
    """An open engine file, with methods for what shell commands print. `engine.Database` is one."""

    kept_jobs: KeptJobs
    """The commands in the background that outlive their runs."""

    @expects(run="a text", path="a text", follow="True or False")
    def output(self, run: str, path: str, *, follow: bool = True) -> Iterator[Output]:
        """What a shell command of a run has printed and, with `follow`, what it prints until it ends, whoever drives it.

        `path` is that of one output (`sh://turn_1/build_1`), without its `_1` of both, or that of the log entry.
        Each piece is an `engine.Output`; the same text never comes twice. Raises `NotFound` (404) for an unknown run, and
        where the path is that of no command.
        """
        from engine.processes.streaming import stream

        return stream(self, run, path, follow=follow)

    @expects(run="a text", path="a text", reason="a text or None", by="a text")
    def cancel(self, run: str, path: str, *, reason: str | None = None, by: str = "client") -> None:
        """Ask for the end of a shell command that runs, in the background or not; whoever drives the run ends it.

        `path` is one that `output` takes. The model is told who asked, and the reason. Raises `NotFound` (404) for an
        unknown run or command, `Conflict` (409) for one that does not run.
        """
        from engine.processes.streaming import cancel

        cancel(self, run, path, reason=reason, by=by)

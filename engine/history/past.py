"""The part of the Python API that is about runs as they stand: fork, rename, describe, undo, rewind, purge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engine.arguments import expects
from engine.handle import Handle

if TYPE_CHECKING:
    from engine.history.undo_results import Undone

_TEXT = "a text or None"
_NUMBER = "a whole number or None"


class Past(Handle):
    """The methods of `Database` that name runs, and that go back to what a run did."""

    @expects(run="a text", alias=_TEXT, at=_NUMBER)
    def fork(self, run: str, alias: str | None = None, at: int | None = None) -> str:
        """Fork a run as it is now, or as it was when its turn `at` was sent; returns the child's name."""
        from engine.driving import runs

        return runs.fork(self, run, alias, at)

    @expects(run="a text", name="a text")
    def rename(self, run: str, name: str) -> None:
        """Give a run another name; what refers to it follows.

        Raises `NotFound` (404) for an unknown run, `ValidationError` (400) for what is no name, and `Conflict` (409) for one
        that is taken, and while the run or one below it is driven.
        """
        from engine.driving import runs

        runs.rename(self, run, name)

    @expects(run="a text", title=_TEXT, archived="True or False or None")
    def describe(
        self,
        run: str,
        title: str | None = None,
        *,
        labels: Sequence[str] = (),
        drop_labels: Sequence[str] = (),
        archived: bool | None = None,
    ) -> None:
        """Change what a run is called in lists: its title ("" is that of its first prompt again), its labels, and whether
        lists leave it out. Raises `NotFound` (404), and `ValidationError` (400) for a title or a label that is none.
        """
        from engine.driving import runs

        runs.describe(self, run, title, labels, drop_labels, archived)

    @expects(run="a text")
    def capabilities(self, run: str) -> dict[str, Any]:
        """What a run may do as its latest prompt stands, JSON-ready: its mode, folder, persona, model, tools, flags, limits,
        schemes that its model may write, rules for files, and grants. Raises `NotFound` (404) for an unknown run.
        """
        from engine.driving import capabilities

        return capabilities.capabilities(self, run)

    @expects(run="a text", turn=_NUMBER, redo="True or False", by="a text", dry_run="True or False", plan=_TEXT)
    def undo(
        self,
        run: str,
        turn: int | None = None,
        *,
        redo: bool = False,
        by: str = "client",
        dry_run: bool = False,
        plan: str | None = None,
    ) -> Undone:
        """Take back the newest edit of a run that stands, or all edits of `turn`; called again, the one before.

        With `redo` the newest undo is taken back instead. With `dry_run` nothing is done: the result says what would be, and
        its `plan`, given to another call, refuses anything else. `by` is recorded as who decided. Where a file is not as
        the edit left it, nothing is done.

        Raises `NotFound` (404) for an unknown run and where nothing is left to take back, `Conflict` (409) for a file that
        has changed since, while the run is driven, and inside a transaction.
        """
        from engine.history.undo import undo

        return undo(self, run, turn, redo=redo, by=by, dry_run=dry_run, plan=plan)

    @expects(
        run="a text", turn="a whole number", files="True or False", by="a text", dry_run="True or False", plan=_TEXT
    )
    def rewind(
        self,
        run: str,
        turn: int,
        *,
        files: bool = False,
        by: str = "client",
        dry_run: bool = False,
        plan: str | None = None,
    ) -> Undone:
        """Put a run where its turn `turn` was sent, which is its next one then; the run as it was is `old` in the result.

        With `files` what the run changed since goes back, too, what its shell commands changed included; `stays` says of a
        file why it does not. The other arguments are those of `undo`, which also takes a rewind back.

        Raises `NotFound` (404) for an unknown run or a turn that was not sent, `Conflict` (409) while the run is driven, and
        inside a transaction.
        """
        from engine.history.undo import rewind

        return rewind(self, run, turn, with_files=files, by=by, dry_run=dry_run, plan=plan)

    @expects(run="a text", tree="True or False")
    def purge(self, run: str, *, tree: bool = False) -> int:
        """Remove a run for good, with `tree` all runs below it too; return the bytes that the file shrank by.

        See `engine.db.purging.purge`.
        """
        from engine.db.purging import purge

        return purge(self, run, tree=tree)

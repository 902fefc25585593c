"""Performs the pending effects of a run, one after the other, and reports how each ended.

spec: @run_without_root
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import plugins
from engine.errors import Conflict, EngineError, PermissionDenied
from engine.processes.ending import Asked, process_row
from engine.processes.shell import kill_leftover, run_process
from engine.system.identity import read_identity
from engine.system.secrets import scrubbed

from . import delegation, discovery, files, pages
from .functions import Functions

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.effects.children import Children
    from engine.handle import Handle
    from engine.processes.confinement import Place
    from engine.processes.jobs import Jobs
    from engine.processes.kept_output import KeptOutput

Output = Callable[[int, str], None]
_CALLS = ("function", "mcp")
_CANCEL = "select asked_by || coalesce(': ' || reason, '') from process_cancels where effect_id = ?"
_OURS = "select 1 from _pending_effects where effect_id = ? and (state = 'pending' or kind not in ('process', 'job'))"
_OF_RUN = (
    "where run_id = :run and (not :requested or effect_id in (select effect_id from _requested_effects)) "
    "order by effect_id"
)


class Performer:
    """Performs effects for the driver whose lease has the token `token`; when `stopped` is set, a running process ends and
    is told as interrupted.

    `on_output` gets the channel (1 stdout, 2 stderr) and the text of what a process prints, one in the background excepted;
    `kept` gets every byte. `on_begin` gets the id of each effect that has been marked as started. `app` is the app's object
    for its tools; `on_progress` gets the id of an effect and what its tool says of its progress.
    """

    def __init__(
        self,
        db: Handle,
        token: str | None,
        stopped: threading.Event,
        on_output: Output | None = None,
        kept: KeptOutput | None = None,
        children: Callable[[], Children] | None = None,
        tell: Callable[[], None] | None = None,
        on_begin: Callable[[int], None] | None = None,
        app: object = None,
        on_progress: Callable[[int, str], None] = lambda *_: None,
    ) -> None:
        self._db = db
        self._token = token
        self._stopped = stopped
        self._on_output = on_output
        self._kept = kept
        self._children = children
        self._tell = tell
        self._on_begin = on_begin
        self._jobs: Jobs | None = None
        self._functions = Functions(db, token, stopped, app, on_progress)
        self._of_plugins = plugins.effect_handlers()
        self._handlers: dict[str, Callable[[Row], Mapping[str, Any]]] = {
            "file_write": partial(files.write, db),
            "file_delete": partial(files.delete, db),
            "process": self._process,
            "job": self._job,
            "fetch": partial(pages.perform, db, stopped),
            "search": partial(pages.perform, db, stopped),
            "find": partial(discovery.perform, db),
            "verify": self._judge,
            "commit": self._commit,
            **self._of_plugins,
        }

    def perform_requested(self, run_id: int) -> None:
        """Perform what was asked of a run from outside its turns, and nothing else."""
        while not self._stopped.is_set() and self._db.value(
            "select 1 from _requested_effects where run_id = ?", (run_id,)
        ):
            self.perform(run_id, requested=True)

    def perform(self, run_id: int, *, requested: bool = False) -> None:
        """Perform the next effect of a run that is pending, or was begun and can safely be done again; with `requested` one
        that was asked for from outside its turns.

        Of effects that are done together or not at all, each is checked against the disk before the first is performed: the
        first that would fail is reported as failed, and nothing is performed.
        """
        which = {"run": run_id, "requested": requested}
        for checked in self._db.rows(f"select * from _atomic_effects {_OF_RUN}", which):  # noqa: S608 - ours
            if failure := self._claimed_failure(checked) or files.failure_ahead(self._db, checked):
                self._report(checked["effect_id"], failure)
                return
        effect = self._db.row(f"select * from _pending_effects {_OF_RUN} limit 1", which)  # noqa: S608
        if effect is None or self._stopped.is_set():
            return
        if effect["kind"] == "workflow":
            self._perform_workflow(effect)
            return
        if effect["kind"] == "delegate":
            assert self._children is not None, "a driver delegates"
            delegation.perform(self._db, self._token, self._children(), run_id)
            return
        if failure := self._claimed_failure(effect):
            self._report(effect["effect_id"], failure)
            return
        if self._db.recorded is not None and (recorded := self._db.recorded.result(effect)) is not None:
            self._give(effect, *recorded)
            return
        try:
            if effect["kind"] not in ("process", "job"):
                self._mark_started(effect["effect_id"], None)
            if effect["kind"] in _CALLS:
                self._functions.perform(effect, partial(self._report, effect["effect_id"]))
            else:
                self._report(effect["effect_id"], self._handle(effect))
        except Conflict:
            if self._db.value(_OURS, (effect["effect_id"],)):  # else a client was first, or an abort
                raise

    def _give(self, effect: Row, result: Mapping[str, Any], output: Sequence[tuple[int, str]]) -> None:
        """Report an effect as it was recorded, without doing anything."""
        self._mark_started(effect["effect_id"], None)
        for channel, text in output:
            self._append(effect["effect_id"], channel, text)
        self._report(effect["effect_id"], result)

    def _perform_workflow(self, effect: Row) -> None:
        """Drive the steps of a workflow. It ends by a door of its own, and not where a step waits for a person."""
        from engine.effects.workflows import Workflow  # few runs have steps

        assert self._children is not None, "a run of a workflow has a driver"
        assert self._tell is not None, "a run of a workflow has a driver"
        self._mark_started(effect["effect_id"], None)
        Workflow(self._db, self._token, self._children(), self._tell, effect).perform()

    def recover(self, run_id: int) -> None:
        """Kill the processes of a driver that died and record them as interrupted, functions too; none is started again."""
        for process in self._db.rows("select * from _leftover_processes where run_id = ?", (run_id,)):
            kill_leftover(read_identity(process["identity"]))
            interrupted = {"state": "failed", "outcome": "interrupted", "message": process["message"]}
            self._report(process["effect_id"], interrupted)

    def recover_jobs(self, run: str) -> None:
        """The same for commands in the background that a driver before this one has left; those that were kept go on."""
        if not self._db.has("jobs"):
            return
        for job in self._db.rows(
            "select j.* from _leftover_jobs as j join runs as r on r.id = j.run_id where r.alias = ?", (run,)
        ):
            if job["keeper"] is not None:
                self._take_up_kept(job["run_id"])
                continue
            kill_leftover(read_identity(job["identity"]))
            self._db.insert("_finish_job", effect_id=job["effect_id"], outcome="interrupted", lease=self._token)

    def _take_up_kept(self, run_id: int) -> None:
        """Look at those of the run that were kept, and record the end of those whose keeper is dead."""
        if self._jobs is None:
            from engine.processes.stale import heal

            heal(self._db)
            self._jobs = self._jobs_of(run_id)

    def _jobs_of(self, run_id: int) -> Jobs:
        from engine.processes.jobs import Jobs

        return Jobs(self._db, run_id, self._token, self._stopped, self._kept)

    @property
    def jobs(self) -> Jobs | None:
        """The commands that run in the background; None where there was none."""
        return self._jobs

    def close(self) -> None:
        """End what runs in the background, and record how it ended."""
        self._functions.close()
        if self._jobs is not None:
            self._jobs.close()

    def _handle(self, effect: Row) -> Mapping[str, Any]:
        handler = self._handlers.get(effect["kind"])
        if handler is None:
            return {
                "state": "failed",
                "outcome": "error",
                "message": f"nothing performs effects of kind {effect['kind']!r}",
            }
        try:
            return handler(effect)
        except EngineError as error:
            return files.failure(error)
        except Exception as error:
            if effect["kind"] not in self._of_plugins:
                raise
            return {"state": "failed", "outcome": "error", "message": scrubbed(f"{type(error).__name__}: {error}")}

    def _claimed_failure(self, effect: Row) -> dict[str, Any] | None:
        """Claim the file of an effect for its run; a failure where a run that works at the same time was first."""
        written = effect["kind"] in ("file_write", "file_delete")
        if not written or not self._db.has("delegation") or not self._is_child(effect["run_id"]):
            return None
        which = (effect["effect_id"],)
        with self._db.transaction():
            self._db.insert("_claim_files", effect_id=effect["effect_id"])
            refusal = self._db.value("select refusal from _claim_refusals where effect_id = ?", which)
        return refusal and {"state": "failed", "outcome": "conflict", "message": refusal}

    def _is_child(self, run_id: int) -> bool:
        return bool(self._db.value("select 1 from children where run_id = ?", (run_id,)))

    def _process(self, effect: Row) -> dict[str, Any]:
        """Run an accepted shell command in the project's root; its start is recorded before it can do anything."""
        place = self._place(effect)
        asked = Asked(self._stopped, lambda: self._db.value(_CANCEL, (effect["effect_id"],)))
        with place.confine() as confined:
            result = run_process(
                json.loads(effect["detail"])["command"],
                cwd=Path(effect["root"]),
                timeout_s=self._timeout(effect),
                on_start=lambda identity: self._mark_started(effect["effect_id"], identity.to_json()),
                on_output=lambda channel, text: self._append(effect["effect_id"], channel, text),
                cancelled=asked,
                max_output=effect["max_output"],
                confined=confined,
                on_bytes=self._keeper(effect),
            )
        refused = confined.refused if confined else []
        if result.ended != "cancelled" or asked.by is None:
            return process_row(result, refused, place.told, self._kept)
        result = replace(result, message=f"stopped by {asked.by}")
        return process_row(result, refused, place.told, self._kept) | {"outcome": "cancelled"}

    def _judge(self, effect: Row) -> Mapping[str, Any]:
        from engine.effects import acceptance

        assert self._children is not None, "a result is verified while its run is driven"
        return acceptance.perform(self._db, self._children, effect)

    def _commit(self, effect: Row) -> Mapping[str, Any]:
        from engine.effects import commits

        return commits.perform(self._db, self._stopped, effect)

    def _job(self, effect: Row) -> Mapping[str, Any]:
        """Start an accepted shell command in the background. Its effect is over then; how it ends is told by `Jobs`."""
        refusal = self._db.value("select refusal from _job_refusals where effect_id = ?", (effect["effect_id"],))
        if refusal is not None:
            outcome, _, message = refusal.partition(": ")
            return {"state": "failed", "outcome": outcome, "message": message}
        place = self._place(effect)
        if self._jobs is None:
            self._jobs = self._jobs_of(effect["run_id"])
        return self._jobs.start(effect, place, self._timeout(effect), self._keeper(effect))

    def _place(self, effect: Row) -> Place:
        """Where a process runs. Raises `PermissionDenied` (403) in a run without a folder."""
        if effect["root"] is None:
            raise PermissionDenied(
                "this run has no folder, so it cannot run commands; start a run with --root FOLDER (root=)"
            )
        from engine.effects import confinement  # a run without processes needs none of it

        return confinement.place_of(self._db, effect)

    def _timeout(self, effect: Row) -> float:
        seconds = "select timeout_s from _effect_timeouts where effect_id = ?"
        return float(self._db.value(seconds, (effect["effect_id"],)))

    def _keeper(self, effect: Row) -> Callable[[int, bytes], None] | None:
        """What takes every byte that a process prints, for the file that a person named; None without one."""
        if self._kept is None:
            return None
        paths = self._db.tuples(
            "select channel, path from _effect_channels where effect_id = ?", (effect["effect_id"],)
        )
        names, kept = dict(paths), self._kept
        return lambda channel, data: kept.write(names[channel], data)

    def _mark_started(self, effect_id: int, identity: str | None) -> None:
        """Record the start of an effect; raises `Conflict` (409) while another process works on its run."""
        self._db.insert("_start_effect", effect_id=effect_id, identity=identity, lease=self._token)
        if self._on_begin:
            self._on_begin(effect_id)

    def _append(self, effect_id: int, channel: int, text: str) -> None:
        self._db.insert("_append_output", effect_id=effect_id, channel=channel, text=text, lease=self._token)
        if self._on_output:
            self._on_output(channel, text)

    def _report(self, effect_id: int, result: Mapping[str, Any]) -> None:
        columns = {**result}
        if not isinstance(columns.get("detail", ""), str):
            columns["detail"] = json.dumps(columns["detail"])
        self._db.insert("_finish_effect", effect_id=effect_id, lease=self._token, **columns)

"""The part of the Python API that runs a recorded run again.

spec: @replay
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.arguments import expects
from engine.handle import Handle

if TYPE_CHECKING:
    from engine.models.protocol import Model

    from .results import Replay

_TEXT = "a text or None"


_TOP = """
    select r.alias as run, r.id as run_id
    from children as c
    join runs as r on r.id = c.root_run_id
    where c.run_id = ?
"""


class Replays(Handle):
    """The method of `Database` that replays runs."""

    @expects(run="a text", at="a whole number or None", prompt=_TEXT, live="True or False", keep=_TEXT)
    def replay(
        self,
        run: str,
        *,
        at: int | None = None,
        model: str | Model | None = None,
        prompt: str | None = None,
        live: bool = False,
        keep: str | None = None,
    ) -> Replay:
        """Run a run again in a copy of this file and a scratch folder, and name the first difference from its record.

        Answers of models, decisions, and what came of processes, pages and tools are those of the record. With `at` it
        begins with the prompt that had that turn. Of a run below another one that one is replayed, and only the run itself
        and those below it are compared. With `model` that model is asked from turn `at` on; with `prompt` the
        first prompt is another one, and the run's own model is asked as soon as a packet differs. With `live` processes
        run, in a sandbox. `keep` is a name: the replayed run is kept in this file under it; nothing else is written to it.

        Raises `NotFound` (404) for an unknown run, turn or model, `Conflict` (409) while the run is driven and for a name
        that a run has, `PermissionDenied` (403) where a handle for reading is asked for more than the record, and
        `EngineError` (422) for a run that cannot be replayed, and says why.
        """
        from engine.driving.prompts import check_name
        from engine.errors import Conflict, EngineError, PermissionDenied, ValidationError

        from .playing import Player
        from .recording import run_id_of
        from .scratch import scratch

        if prompt is not None and not prompt.strip():
            raise ValidationError("the prompt is empty; write what the run should do")
        check_name(keep)
        if self.read_only and (model is not None or prompt is not None or live or keep is not None):
            raise PermissionDenied(
                f"{self.path}: is open for reading only, so only the recorded run can be replayed; open it for writing"
            )
        run_id = run_id_of(self, run)
        if keep is not None and self.value("select 1 from runs where alias = ?", (keep,)):
            raise Conflict(f"run {keep!r}: already exists; choose another name")
        if (top := self.row(_TOP, (run_id,))) is not None:
            if at is not None or model is not None or prompt is not None or keep is not None:
                raise EngineError(
                    f"run {run}: cannot be replayed on another line: it works for run {top['run']}; replay that one so",
                    422,
                )
            with scratch(self, top["run"]) as (copy, folder):
                return Player(copy, folder, top["run"], top["run_id"], live=live, only=run).play()
        named = self.app_models.name(model)
        with scratch(self, run) as (copy, folder):
            done = Player(copy, folder, run, run_id, at=at, model=named, prompt=prompt, live=live).play()
            return done if keep is None else self._kept(copy, done, run_id, keep)

    def _kept(self, copy: Handle, done: Replay, run_id: int, keep: str) -> Replay:
        """The replayed run, taken into this file as `keep`; what it was forked from comes with it as `keep`.before."""
        import tempfile
        from dataclasses import replace

        from engine.transfer.importing import import_run
        from engine.transfer.writing import write_run

        from .scratch import RECORDED

        copy.insert("verb_rename_run", run=f"{RECORDED}{run_id}", name=f"{keep}.before")
        copy.insert("verb_rename_run", run=done.run, name=keep)
        with tempfile.TemporaryDirectory(prefix="engine-replay-") as folder:
            file = Path(folder) / "run.jsonl"
            write_run(copy, keep, file)
            kept = import_run(self, file, name=keep, trust=True)
        self.insert("verb_describe_run", run=kept, title=f"replay of {done.run}")
        return replace(done, kept=kept)

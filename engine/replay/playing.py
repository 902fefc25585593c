"""Runs a recorded run again: prompts and decisions as recorded, in a scratch file and folder.

spec: @replay
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from engine.driving.loop import GOES_ON, Driver
from engine.driving.model_choice import choose_model
from engine.errors import EngineError, NotFound

from .answers import Answers
from .comparison import Comparison
from .effects import Effects
from .folder import Folder
from .recording import Recording
from .results import Replay
from .scratch import RECORDED
from .tools import RecordedTools

if TYPE_CHECKING:
    from pathlib import Path

    from engine.db.database import Row
    from engine.handle import Handle

    from .results import Difference

_LOOPS = """
    select l.id, l.sequence, min(t.sequence) as first, l.mode, l.model, l.prompt
    from loops as l
    join turns as t on t.loop_id = l.id
    where l.run_id = ?
    group by l.id
    order by first
"""
_OPEN = """
    select p.proposal_id, p.run, p.turn, c.ordinal, q.ordinal as place
    from tree_runs as t
    join open_proposals as p on p.run = t.run
    join proposals as q on q.id = p.proposal_id
    join commands as c on c.id = q.command_id
    where t.top = ?
    order by p.proposal_id
"""
_COSTS = """
    select case when count(t.cost) = count(t.response) then coalesce(sum(t.cost), 0.0) end
    from tree_runs as r
    join turns as t on t.run_id = r.run_id
    where r.top = :top and (r.level > 0 or t.sequence >= :first)
"""
_LAST = """
    select case when l.status in (100, 102) then r.status else l.status end as status, l.answer
    from loops as l
    join runs as r on r.id = l.run_id
    where r.alias = ?
    order by l.sequence desc
    limit 1
"""
_ONCE = ("root", "fork", "at", "project")
"""Options that a prompt of the record gave its run when that began; a replay gives its own."""


class Player:
    """Runs `run` of the file that `db` has open again, from its turn `at` or from where it began.

    `only` is a run below it: then that one is compared, and those below it.
    """

    def __init__(
        self,
        db: Handle,
        place: Path,
        run: str,
        run_id: int,
        *,
        at: int | None = None,
        model: str | None = None,
        prompt: str | None = None,
        live: bool = False,
        only: str | None = None,
    ) -> None:
        self.db = db
        self._only = only or run
        self.recording = Recording(db, run, run_id)
        self.recording.expect_replayable()
        self._run = run
        self._top = f"{RECORDED}{run_id}"
        self._prompt = prompt
        self._live = live
        self._loops = db.rows(_LOOPS, (run_id,))
        self._first = self._first_turn(at)
        if self._forks():
            self.recording.expect_nothing_taken_back(self._first)
        self._folder = Folder(self.recording, place)
        self._given: set[int] = set()
        self._is_unfinished = False
        ask = model if model is not None or prompt is None else ""
        self._model = choose_model(db, None, model) if model else None
        self._answers = Answers(self.recording, db.app_models, self._before, self._actual(ask), at or self._first)
        if model is None:
            self._answers.at = None
        if db.value("select 1 from tree_runs where top = ? and level > 0", (self._top,)):
            self._answers.order = self.recording.order(self._top)
        db.app_models = self._answers
        db.recorded = Effects(self.recording, self._folder, self._answers, live=live)
        db.use_tools(RecordedTools(self.recording, self._top))

    def _actual(self, ask: str | None) -> str | None:
        if not ask:
            return ask
        return str(self.db.value("select actual from models where alias = ?", (self._model,)) or self._model)

    def _first_turn(self, at: int | None) -> int:
        """The first turn of the loop that took the turn `at`."""
        firsts = [row["first"] for row in self._loops]
        if not firsts:
            raise NotFound(f"run {self._run!r}: has no turns, so there is nothing to replay")
        if at is None:
            return int(firsts[0])
        if at not in self.recording.turns(self._run):
            raise NotFound(f"run {self._run!r}: has no turn {at}; 'engine log {self._run}' shows its turns")
        return int(max(first for first in firsts if first <= at))

    def play(self) -> Replay:
        """Give the run its prompts again, drive it, and compare."""
        loops = [row for row in self._loops if row["first"] >= self._first]
        for loop in loops:
            self._take_back_before(loop)
            if self._answers.parted is None:
                self._bring(loop["first"])
            self._give(loop)
            self._drive()
            if self._is_over():
                break
        if not self._is_over() and self._answers.parted is None:
            self._finish()
        if self._answers.refusal is not None:
            raise self._answers.refusal
        return self._compared()

    def _is_over(self) -> bool:
        return (
            self._is_unfinished
            or self._answers.refusal is not None
            or (self._answers.difference is not None and self._answers.parted is None)
        )

    def _bring(self, first: int) -> None:
        turn = self.recording.turn(self._run, first)
        if turn is not None and turn.seen_at is not None:
            self._folder.bring(turn.seen_at)

    def _give(self, loop: Row) -> None:
        """Do what was asked of the run before a loop began, the prompt of the loop included."""
        is_first = loop["first"] == self._first
        if is_first and self._forks():
            self._fork()
        for request in self.recording.requests:
            if request["turn"] is None or request["turn"] > loop["first"]:
                break
            # a fork has what was written before its turn was sent
            of_run = (request["path"] or "").startswith("run://") and request["turn"] == loop["first"]
            if is_first and self._forks() and not of_run:
                continue
            if request["id"] not in self._given:
                self._ask(request)

    def _finish(self) -> None:
        """Do what was asked of the run after its last turn, prompts excepted."""
        for request in self.recording.requests:
            if request["turn"] is None and request["action"] in ("undo", "redo"):
                self._take_back(request)
            elif request["turn"] is None and not (request["path"] or "").startswith("run://"):
                self._ask(request)

    def _forks(self) -> bool:
        """Whether the replay is a fork of the recorded run, or of what that was forked from."""
        parent = "select parent_run_id from runs where id = ?"
        return self._first > 1 or self.db.value(parent, (self.recording.run_id,)) is not None

    def _fork(self) -> None:
        attributes = json.dumps({"fork": self._top, "at": self._first})
        self.db.insert("verb_set", run=self._run, path=f"run://{self._run}", attributes=attributes)

    def _ask(self, request: Row) -> None:
        """Do again what was asked from outside a turn."""
        self._given.add(request["id"])
        said: dict[str, Any] = json.loads(request["attributes"])
        attributes = said.pop("attributes", None) or {}
        path = request["path"]
        if path is not None and path.startswith("run://"):
            path = f"run://{self._run}"
            attributes = self._options(attributes, is_prompt=request["body"] is not None)
        if request["action"] not in ("set", "rm", "cp", "mv", "get"):
            return
        columns = {
            key: said[key]
            for key in ("visibility", "state", "outcome", "append", "pattern", "filter")
            if said.get(key) is not None
        }
        columns |= {"body": self._body(request), "to": request["destination"]}
        self.db.insert(
            f"verb_{request['action']}",
            run=self._run,
            path=path,
            attributes=json.dumps(attributes),
            **{name: value for name, value in columns.items() if value is not None},
        )

    def _take_back_before(self, loop: Row) -> None:
        """Take back what was taken back before a loop, before the folder is brought to where the loop began."""
        is_first = loop["first"] == self._first
        for request in self.recording.requests:
            is_due = request["turn"] is not None and request["turn"] <= loop["first"]
            if request["action"] in ("undo", "redo") and is_due and not is_first and request["id"] not in self._given:
                self._take_back(request)

    def _take_back(self, request: Row) -> None:
        """Take edits back again, in the scratch folder."""
        from engine.history.undo import undo

        self._given.add(request["id"])
        said = json.loads(request["attributes"])
        try:
            undo(self.db, self._run, said["turn"], redo=request["action"] == "redo", by=said["by"])
        except EngineError as error:
            self._answers.refusal = EngineError(
                f"run {self._run}: cannot be replayed from turn {self._first}: {error.message}", 422
            )

    def _body(self, request: Row) -> str | None:
        if self._prompt is None or request["body"] is None or not (request["path"] or "").startswith("run://"):
            return None if request["body"] is None else str(request["body"])
        prompt, self._prompt = self._prompt, None
        return prompt

    def _options(self, attributes: dict[str, Any], *, is_prompt: bool) -> dict[str, Any]:
        options = {name: value for name, value in attributes.items() if name not in _ONCE}
        if "root" in attributes and not self._forks():
            options["root"] = str(self._folder.place)
        if "fork" in attributes:
            options.pop("persona", None)
        if is_prompt and self._model is not None and self._answers.at == self._first:
            options["model"] = self._model
        if is_prompt and self._live:
            options["sandbox"] = "require"
        return options

    def _drive(self) -> None:
        """Drive the run until it ends, or waits for a decision that is not recorded."""
        while not self._is_over():
            driver = Driver(self.db, self._run)
            self._answers.stop = driver.stop
            driver.drive()
            if not (self._abort() or self._decide() or self.db.value(GOES_ON, (self._run,))):
                return

    def _abort(self) -> bool:
        """Abort what was aborted while its model was asked; False if nothing was."""
        if self._answers.ended is None:
            return False
        aborted = self.recording.aborted(*self._answers.ended)
        if aborted is None:
            self._is_unfinished = True
            return False
        self._answers.ended = None
        run, reason = aborted
        self.db.insert("verb_set", run=run, path=f"run://{run}", state="cancelled", outcome=reason)
        return True

    def _decide(self) -> bool:
        """Decide on the open proposals as was recorded; False if there is none, or of none is known how."""
        decided = False
        for open_ in self.db.rows(_OPEN, (self._run,)):
            found = self.recording.decision(open_["run"], open_["turn"], open_["ordinal"], open_["place"])
            if found is not None and found["decision"] is None and found["state"] in ("proposed", "cancelled"):
                continue
            answer = self._answer(found)
            if answer is not None:
                self.db.insert("verb_answer_proposal", proposal_id=open_["proposal_id"], **answer)
                decided = True
        return decided

    def _answer(self, found: Row | None) -> dict[str, Any] | None:
        if found is not None and found["decision"] in ("accept", "reject"):
            columns = ("decision", "body", "reason", "decided_by")
            return {name: found[name] for name in columns if found[name] is not None}
        # what is not in the record is done in a scratch folder
        return None if self._answers.parted is None else {"decision": "accept", "decided_by": "replay"}

    def _before(self, run: str, turn: int) -> None:
        """What came from outside while the model of a turn was asked: changes of files, and what was asked of the run."""
        if run != self._run:
            return
        for request in self.recording.requests:
            if request["turn"] == turn and request["id"] not in self._given and turn not in self._firsts:
                self._ask(request)

    @property
    def _firsts(self) -> set[int]:
        return {row["first"] for row in self._loops}

    def _compared(self) -> Replay:
        answers = self._answers
        comparison = Comparison(self.recording, self._first, self._only)
        whole = answers.difference is None and answers.parted is None and not self._is_unfinished
        difference: Difference | None = comparison.first_difference(whole=whole)
        row = self.db.row(_LAST, (self._only,)) or {"status": 0, "answer": None}
        recorded = f"{RECORDED}{self.recording.id_of(self._only)}"
        costs = [self.db.value(_COSTS, {"top": top, "first": self._first}) for top in (self._only, recorded)]
        return Replay(
            self._only,
            comparison.turns,
            answers.difference or difference,
            row["status"],
            row["answer"],
            answers.parted,
            costs[0],
            costs[1],
            notes=list(self._folder.notes.values()),
        )

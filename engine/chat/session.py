"""A session of `engine chat`: the run that it goes on with, and how prompts are given to it."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import TYPE_CHECKING

from engine.terminal.driver import say_whose_key
from engine.terminal.exit_codes import exit_code
from engine.terminal.hints import db_flag
from engine.terminal.interrupt import Interrupt
from engine.terminal.printing import print_error, say

from .answers import drive_or_follow
from .ended import TAKEN_BACK
from .standing import standing_lines

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.contract import Options
    from engine.db.database import Row
    from engine.errors import EngineError

_LAST_ACTIVE = """
    select r.alias
    from runs as r
    join projects as p on p.id = r.project_id
    where r.role = 'main' and p.root = ? and r.archived_at is null
    order by r.updated_at desc, r.id desc
    limit 1
"""
_LAST_PROMPT = "select prompt, answer, mode, model from loop_list where run = ? order by loop desc limit 1"
_FLAGS = """
    select group_concat(f.flag)
    from runs as r
    join loops as l on l.run_id = r.id
    join _loop_flags as f on f.loop_id = l.id
    where r.alias = ? and l.sequence = r.next_loop - 1
"""
_UNFINISHED = """
    select o.loop, o.status
    from open_prompts as o
    where o.run = ?
    order by o.loop
    limit 1
"""
"""The prompt of a run that has not ended and is the first in line."""
_STOPPED = """
    select loop
    from open_prompts
    where run = ? and status = 102
"""
"""The prompt of a run that was stopped, if nobody drives it; another one ends it."""
_QUEUE = """
    select l.sequence as loop, l.prompt
    from loops as l
    join runs as r on r.id = l.run_id
    where r.alias = ? and l.status = 100
    order by l.sequence
"""
MODES = ("ask", "act", "accept-edits", "yolo")
"""How a prompt may change the world: not at all, after a person has agreed, files at once, or everything at once."""


class Session:
    """What one `engine chat` knows besides the file: its run, and the options of the next prompt.

    `run` is the name of the run, or of the one that the first prompt begins; None where that gets a name by itself.
    """

    def __init__(self, db: Database, given: Path | None, root: Path, *, yolo: bool, persona: str | None) -> None:
        self.db = db
        self.given = given
        self.mode = "yolo" if yolo else "act"
        self.pending: list[tuple[str, str]] = []
        """Entries that are written once there is a run: paths and texts."""
        self.is_over = False
        self.is_told_to_end = False
        self.failed = 0
        """The exit code of the first prompt or command that failed."""
        self.root = root
        self.allows_yolo = yolo
        """Whether this session was started with --yolo, which its modes have then."""
        self._persona = persona
        self._model: str | None = None
        self._effort: str | None = None
        self._named: str | None = None
        self._run_id: int | None = None

    @property
    def run(self) -> str | None:
        """The name of the run; where that is renamed the session follows."""
        alias = self.db.value("select alias from runs where id = ?", (self._run_id,))
        return self._named if alias is None else str(alias)

    @property
    def is_new(self) -> bool:
        """Whether the next prompt begins the run."""
        return not self.db.value("select 1 from runs where id = ?", (self._run_id,))

    def last_active(self) -> str | None:
        """The run of this folder that was active last; None where there is none."""
        from engine.project.workspace import Workspace

        found = self.db.value(_LAST_ACTIVE, (str(Workspace(self.root).root),))
        return None if found is None else str(found)

    def go_on(self, run: str) -> None:
        """Go on with a run that there is, in the mode of its last prompt."""
        self._run_id = self.db.value("select id from runs where alias = ?", (run,))
        self._named = self._model = self._effort = None
        if (last := self.last_prompt()) and not self.allows_yolo:
            flags = self.db.value(_FLAGS, (self.run,)) or ""
            self.mode = "accept-edits" if last["mode"] == "act" and "accept_edits" in flags else str(last["mode"])

    def take_up(self, name: str | None) -> None:
        """Go on with the run of that name, by default with the one that was active last; where there is none begin one."""
        found = self.db.value("select alias from runs where alias = ?", (name,)) if name else self.last_active()
        if found is None:
            self.begin(name)
        else:
            self.go_on(str(found))

    def begin(self, name: str | None) -> None:
        """Have the next prompt begin a new run; raises `Conflict` (409) for a name that is taken."""
        from engine.errors import Conflict

        if name is not None and self.db.value("select 1 from runs where alias = ?", (name,)):
            raise Conflict(f"run {name!r}: already exists; to continue it: '--run {name}' or '/run {name}'")
        self._run_id, self._named = None, name

    def use_model(self, name: str) -> None:
        """Let a model answer from the next prompt on; raises `NotFound` (404) for one that there is not."""
        from engine.driving import runs
        from engine.driving.model_choice import choose_model, sync_environment_models

        sync_environment_models(self.db)
        self._model = choose_model(self.db, self.run, name, self.root)
        if not self.is_new:
            runs.configure(self.db, str(self.run), model=self._model)

    def use_effort(self, effort: str) -> None:
        """Have the model think that hard from the next prompt on; raises `ValidationError` (400) for what is no effort."""
        from engine.driving import runs
        from engine.errors import ValidationError
        from engine.functions.values import value_error

        if wrong := value_error(effort, "effort", None, None):
            raise ValidationError(f"the effort {wrong}")
        self._effort = effort
        if not self.is_new:
            runs.configure(self.db, str(self.run), effort=effort)

    def effort(self) -> str | None:
        """How hard the model is asked to think; None where it is left to the alias or the setting."""
        own = self.db.value("select effort from runs where id = ?", (self._run_id,))
        return self._effort or (None if own is None else str(own))

    def model(self) -> str | None:
        """The model that the next prompt asks for; None where it is left to the setting or the default."""
        own = self.db.value("select model from runs where id = ?", (self._run_id,))
        return self._model or (None if own is None else str(own))

    def last_prompt(self) -> Row | None:
        """The latest prompt of the run, with its answer; None where it has none."""
        return None if self.is_new else self.db.row(_LAST_PROMPT, (self.run,))

    def summary(self) -> str:
        """The run, its model, how hard that thinks, and the mode, in a line."""
        effort = self.effort()
        parts = [f"run {self.run or '(new)'}", self.model(), f"effort {effort}" if effort else None, self.mode]
        return ", ".join(filter(None, parts))

    def status(self) -> list[str]:
        """Where the run stands, line by line."""
        return [self.summary(), *standing_lines(self.db, self.run)]

    def give(self, text: str) -> None:
        """Give a prompt to the run, and show how it is answered."""
        from engine.errors import EngineError

        was_new = self.is_new
        try:
            loop = self.store(text)
            if was_new:
                say(f"run {self.run}, {self.model()}", dim=True)
            self.drive(loop)
        except EngineError as error:
            self.fail(error)

    def store(self, text: str) -> int:
        """Give a prompt to the run, which ends one that was stopped; returns its number. Nobody drives it yet."""
        from engine.driving import prompts
        from engine.driving.lease import is_held
        from engine.models.protocol import storable

        options: Options = {
            "mode": "ask" if self.mode == "ask" else "act",
            "accept_edits": self.mode == "accept-edits",
            "yolo": self.mode == "yolo",
            "model": self._model,
            "effort": self._effort,
            "persona": self._persona,
        }
        if self.is_new:
            options["root"] = self.root
        is_driven = self.run is not None and is_held(self.db, self.run)
        stopped = [] if is_driven else self.db.rows(_STOPPED, (self.run,))
        run, loop = prompts.prompt(self.db, storable(text), self.run, options)
        # a prompt that is refused ends nothing
        for row in stopped:
            self.db.abort(run, "stopped by a new prompt", loop=row["loop"])
        self._run_id, self._named = self.db.value("select id from runs where alias = ?", (run,)), None
        return loop

    def queue(self) -> list[Row]:
        """The prompts in line, by number, the first first."""
        return self.db.rows(_QUEUE, (self.run,))

    def take_back(self, loop: int) -> None:
        """Take a prompt out of the line."""
        self.db.abort(str(self.run), TAKEN_BACK, loop=loop)

    def modes(self) -> tuple[str, ...]:
        """The modes that this session goes through: yolo only where it was allowed."""
        return MODES if self.allows_yolo else MODES[:-1]

    def fail(self, error: EngineError) -> None:
        """Print an error, and remember its exit code."""
        print_error(error.message)
        self.note(exit_code(error.status))

    def note(self, code: int) -> None:
        """Remember the exit code of a prompt or a command."""
        self.failed = self.failed or code

    def drive(self, loop: int | None = None) -> None:
        """Drive the run until it ends, waits or is stopped, and show the result of that prompt, by default the latest."""
        from engine.driving import results
        from engine.errors import LeaseHeld

        run = str(self.run)
        say_whose_key(self.db, run)
        with Interrupt() as interrupt:
            try:
                drive_or_follow(self.db, run, interrupt, yolo=self.allows_yolo, own=loop)
            except LeaseHeld:
                say(
                    f"another process works on {run}; 'engine log{db_flag(self.given)} {run}' shows what it does",
                    "yellow",
                )
                self.note(exit_code(100))
                return
            except OSError as error:
                # with SIGHUP the terminal is gone, and cannot be written to
                if not interrupt.struck or error.errno not in (errno.EIO, errno.EPIPE):
                    raise
            self.is_told_to_end = interrupt.ends
        if self.is_told_to_end:
            return
        result = results.result(self.db, run, loop)
        self.note(exit_code(result.status, accepted=result.accepted))
        self.tell_unfinished()

    def tell_unfinished(self) -> None:
        """Say so where a prompt of the run has not ended, and what goes on with it."""
        if text := self.unfinished():
            say(text, "yellow")

    def unfinished(self) -> str:
        """What goes on with a prompt of the run that has not ended; empty where all have."""
        from engine.driving.lease import is_held

        unfinished = self.db.row(_UNFINISHED, (self.run,))
        match unfinished and {**unfinished, "is_driven": is_held(self.db, str(self.run))}:
            case {"is_driven": True}:
                return f"another process works on it; 'engine log{db_flag(self.given)} {self.run}' shows it"
            case {"status": 202}:
                return "it waits for a decision; /resume asks again, /proposals lists the open proposals"
            case {"status": 102}:
                return "its last prompt was stopped; /resume continues it, a new prompt replaces it"
            case {"status": 100}:
                return "prompts are still queued; /resume starts the next"
        return ""


__all__ = ["Session"]

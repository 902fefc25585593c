"""The loop: carry out the step that `_next_steps` names until the run ends or waits for a person.

The steps of a turn are: begin, render the packet, ask the model, store the response, dispatch, perform effects. The file
says which comes next, so a run that was killed goes on with the step that was not finished.

spec: @driver_loop
"""

from __future__ import annotations

import json
import time
from contextlib import ExitStack, suppress
from functools import cached_property
from typing import TYPE_CHECKING, cast

from engine.effects import files, pages
from engine.effects.perform import Performer
from engine.errors import Conflict, EngineError, LeaseHeld, LeaseLost, NotFound
from engine.functions.limits import Stopped
from engine.handle import Provided
from engine.packets.rendering import Renderer
from engine.threads.joining import join_threads

from .commit_wires import hang_commits
from .dispatching import Dispatcher
from .hook_offers import offer_hooks
from .lease import Lease
from .model_calls import ModelCalls
from .preparing import prepare_turn, search_for_prompt
from .progress import Progress, watched
from .run_tools import RunTools
from .servers import RunServers

if TYPE_CHECKING:
    from engine.contract import OnProposal, Proposal
    from engine.db.database import Row
    from engine.events import OnEvent
    from engine.handle import Handle
    from engine.processes.kept_output import KeptOutput

    from .children import Children

_CHILD = "select 1 from children as c join runs as r on r.id = c.run_id where r.alias = ?"
_DELEGATES = "select 1 from _delegating_runs where run = ?"
GOES_ON = "select 1 from _next_steps where run = ? and step not in ('end', 'wait')"
"""Whether somebody gave a prompt, or decided, while the lease was about to be given back."""
_FIRST_PROPOSAL = """
    select p.*
    from tree_runs as t
    join open_proposals as p on p.run = t.run
    where t.top = ? and p.run not in (select value from json_each(?))
    order by p.proposal_id
    limit 1
"""


class Driver:
    """Drives one run. `on_event` gets each event, `on_proposal` each open proposal as a row of `open_proposals`:
    True accepts it, False rejects it, a text answers a question, None leaves it open. `kept` gets all that processes print.
    `provided` is for the app's tools.
    """

    loop: int | None = None
    """The number of the prompt that it was made for; None: whatever is open."""

    def __init__(
        self,
        db: Handle,
        run: str,
        on_event: OnEvent | None = None,
        on_proposal: OnProposal | None = None,
        kept: KeptOutput | None = None,
        provided: Provided | None = None,
    ) -> None:
        self._db = db
        self._run = run
        self._lease = Lease(db, run)
        self._provided = provided or Provided()
        self._given = on_event, on_proposal, kept, self._provided
        self._at_end = self._told_to_stop = False
        self._next_driver: Driver | None = None
        self._on_event = watched(db, on_event)
        self._on_proposal = watched(db, on_proposal)
        self._decided_by = getattr(on_proposal, "decided_by", "callback")
        self._kept = kept
        self._left_open: set[str] = set()
        self._progress = Progress(db, run, self._on_event)
        self._renderer = Renderer(db)
        self._performer = Performer(
            db,
            self._lease.token,
            self._lease.stopped,
            self._progress.output,
            kept,
            lambda: self.children,
            self._progress.tell,
            self._progress.began,
            db.app_context if self._provided.context is None else self._provided.context,
            self._progress.progress,
        )
        self._servers = RunServers(db, run, self._lease, self._progress)
        self._tools = RunTools(db, run, self._lease.token, self._provided.tools)
        self._model_calls = ModelCalls(db, run, self._lease, self._renderer, self._progress)
        dispatch = Dispatcher(db, run, self._lease).dispatch
        self._inside = {"begin": self._begin, "render": self._render, "dispatch": dispatch, "verify": self._verify}
        self._outside = {
            "scan": self._scan,
            "prepare": self._prepare,
            "ask": self._model_calls.ask,
            "perform": self._perform,
            "recover": self._recover,
            "confine": self._confine,
            "hook": self._ask_hook,
            "wait": self._decide,
        }

    @property
    def run(self) -> str:
        """The run that it drives."""
        return self._run

    def stop(self) -> None:
        """Stop driving, from another thread or a signal handler; the run stays where it is, and a resume goes on.

        A model call that is under way is given up and asked again later, a process is ended and told as interrupted. An
        answer that has arrived is kept.
        """
        self._told_to_stop = True
        self._lease.stopped.set()
        if "children" in self.__dict__:
            self.children.stop()
        if self._next_driver:
            self._next_driver.stop()

    @cached_property
    def children(self) -> Children:
        """What drives the children of the run; their callbacks are those of the run."""
        from .children import Children

        ask = self._ask_person if self._on_proposal else None
        given = self._on_event, ask, self._kept, self._decided_by, self._provided
        return Children(self._db, self._lease.stopped, *given)

    def claim(self) -> None:
        """Claim the lease before `drive`, in the transaction of a prompt; `release` follows. Raises `LeaseHeld` (409)."""
        self._lease.take()

    def release(self) -> None:
        """Give the lease back; harmless where it was not claimed, or is given back already."""
        self._lease.release()

    def drive(self) -> None:
        """Drive the run until it ends, waits for a person, or is stopped.

        Steps inside the file share one transaction, which is committed before each step outside of it. Raises `Conflict`
        (409) inside a transaction of the caller, `LeaseHeld` (409) while another process drives the run, `LeaseLost` (409)
        when another process takes it over, and `EngineError` (500) when the file is removed or replaced.
        """
        self._drive()
        driver = self
        # who gave a prompt or decided while the lease was held relies on who held it
        while (
            driver._at_end
            and not driver._left_open
            and not self._told_to_stop
            and self._db.value(GOES_ON, (self._run,))
        ):
            self._next_driver = driver = Driver(self._db, self._run, *self._given)
            if self._told_to_stop:
                driver.stop()
            try:
                driver._drive()
            except LeaseHeld:  # whoever drives it looks for prompts as well
                return

    def _drive(self) -> None:
        self._db.expect_no_transaction()
        if self._db.recorded is not None:
            self._db.recorded.begins(self._run)
        with self._db.driven(), ExitStack() as held:
            held.callback(self._lease.release)
            with self._db.working():
                if not self._lease.taken:
                    self._lease.take()
                self._lease.keep()
                self._take_up()
            try:
                with suppress(Stopped):
                    self._servers.connect()
                    self._take_steps()
            except (Conflict, NotFound) as error:
                # a lease that is lost never comes back, so it is no matter when it is looked for
                self._expect_lease(error)
                raise
            finally:
                self._performer.close()
                self._tools.close()
            self._expect_lease()
            self._progress.tell()
            self._expect_file()

    def _take_up(self) -> None:
        """Tell the file what this driver can do, and what one before it has left."""
        pages.offer_search(self._db, self._run, self._lease.token)
        self._tools.offer()
        self._db.take_in(self._run)
        if self._db.has("delegation") and self._db.value(_DELEGATES, (self._run,)):
            self._db.insert("_offer_delegation", run=self._run, lease=self._lease.token)
        join_threads(self._db, self._run)
        offer_hooks(self._db, self._run, self._lease.token)
        hang_commits(self._db)
        self._performer.recover_jobs(self._run)

    def _take_steps(self) -> None:
        going = True
        while going and not self._lease.stopped.is_set():
            if jobs := self._performer.jobs:
                jobs.await_ends()
            self._servers.look()
            self._tools.look()
            step = self._steps_inside()
            self._progress.tell()
            self._at_end = step["step"] in ("end", "wait")
            self._trace(step)
            act = self._outside.get(step["step"])
            going = step["step"] in self._inside or (act is not None and act(step) is not False)

    def _trace(self, step: Row) -> None:
        """Send what has happened, once a turn and at the end."""
        if self._db.tracer is not None and (self._at_end or step["step"] == "ask"):
            self._db.tracer.look(self._db, self._run)

    def _expect_file(self) -> None:
        """Raise `EngineError` (500) where the database was removed or replaced: what is written to it now is lost."""
        if self._db.moved():
            what = f"was removed or replaced while run {self._run} was driven; later work is lost"
            raise EngineError(f"{self._db.path}: {what}")

    def _steps_inside(self) -> Row:
        self._expect_file()
        began = time.monotonic()
        with self._db.transaction():
            judged = None
            while (step := self._next())["step"] in self._inside:
                judged = step["turn_id"] or judged
                self._inside[step["step"]](step)
                # a job that was told to end has ended before the model is told of anything that comes after
                if (jobs := self._performer.jobs) and jobs.any_to_end():
                    break
            if judged:
                self._db.execute(
                    "update turns set ms_engine = coalesce(ms_engine, 0) + ? where id = ?",
                    (round((time.monotonic() - began) * 1000), judged),
                )
        return step

    def _next(self) -> Row:
        step = self._db.row("select run_id, turn_id, turn, step from _next_steps where run = ?", (self._run,))
        if step is None:  # whoever took it over is done with it, and it was purged
            raise LeaseLost(f"run {self._run}: was removed by another process that worked on it")
        return step

    @cached_property
    def _is_child(self) -> bool:
        return bool(self._db.value(_CHILD, (self._run,)))

    def _begin(self, _: Row) -> None:
        if (
            self._is_child
            and self._db.has("delegation")
            and self._db.value("select 1 from _spent_children where run = ?", (self._run,))
        ):
            self._db.insert("_stop_spent_child", run=self._run)
        else:
            self._db.call_door("_begin_turn", run=self._run, lease=self._lease.token)

    def _scan(self, step: Row) -> None:
        if request := self._db.row("select * from _scan_requests where turn_id = ?", (step["turn_id"],)):
            files.scan(self._db, request)

    def _prepare(self, step: Row) -> None:
        search_for_prompt(self._db, self._run, step["turn_id"], self._lease.token)

    def _render(self, step: Row) -> None:
        if files.look_at_watched(self._db, step["run_id"]):
            files.bring_pictures(self._db, step["turn_id"])
        if self._performer.jobs:
            self._db.insert("_show_job_output", run_id=step["run_id"])
        self._db.take_in(self._run)
        prepare_turn(self._db, step["turn_id"])
        self._renderer.offer(step["turn_id"], self._lease.token)
        self._model_calls.open(step["turn_id"])

    def _verify(self, _: Row) -> None:
        self._db.insert("_verify_turn", run=self._run, lease=self._lease.token)

    def _confine(self, step: Row) -> None:
        """Tell which sandboxes there are for the processes that come up."""
        from engine import sandbox

        for question in self._db.rows("select choice from _sandbox_questions where run_id = ?", (step["run_id"],)):
            found, reason = sandbox.find(question["choice"])
            self._db.insert(
                "_confine_processes",
                run=self._run,
                lease=self._lease.token,
                choice=question["choice"],
                sandbox=found.name if found else None,
                reason=reason or None,
            )

    def _ask_hook(self, step: Row) -> None:
        from .hooks import ask_hook

        ask_hook(self._db, self._run, step["run_id"], self._lease)

    def _perform(self, step: Row) -> None:
        self._performer.perform(step["run_id"])

    def _recover(self, step: Row) -> None:
        self._performer.recover(step["run_id"])

    def _decide(self, step: Row) -> bool:
        """Ask about the open proposals of the run and those below it, one after the other; False when one stays open."""
        if self._db.has("delegation"):
            self._db.insert("_wait_for_children", run_id=step["run_id"])
        if self._on_proposal is None:
            return False
        decided = False
        while not self._lease.stopped.is_set():
            left = json.dumps(sorted(self._left_open))
            proposal = cast("Proposal | None", self._db.row(_FIRST_PROPOSAL, (self._run, left)))
            if proposal is None:
                break
            answer = self._ask_person(proposal)
            if not (answer is None or isinstance(answer, bool) or (isinstance(answer, str) and answer)):
                raise TypeError(
                    f"on_proposal returned {answer!r}: return True to accept, False to reject, a text to answer with "
                    "(not an empty one), or None to leave it open"
                )
            if answer is None:
                continue
            decided = True
            self._db.insert(
                "verb_answer_proposal",
                proposal_id=proposal["proposal_id"],
                decision="reject" if answer is False else "accept",
                body=answer if isinstance(answer, str) else None,
                decided_by=self._decided_by,
            )
        # else it waits for what a client carries out, unless somebody else decided meanwhile
        return not self._left_open and (decided or self._next()["step"] != "wait")

    def _ask_person(self, proposal: Proposal) -> bool | str | None:
        """What a person says; a run of which one is left open is not asked about again."""
        assert self._on_proposal is not None, "there is somebody to ask"
        if (answer := self._on_proposal(proposal)) is None:
            self._left_open.add(proposal["run"])
        return answer

    def _expect_lease(self, error: EngineError | None = None) -> None:
        """Raise `LeaseLost` (409) where driving ended because another process has taken the run over."""
        held = "select 1 from leases where token = ?"
        if (error or self._lease.stopped.is_set()) and not self._db.value(held, (self._lease.token,)):
            raise LeaseLost(f"run {self._run}: another process works on it now") from error

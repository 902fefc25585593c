"""The loop: carry out the step that `next_steps` names until the run ends or waits for a person.

The steps of a turn are: begin, render the packet, ask the model, store the response, dispatch, perform effects. The file
says which comes next, so a run that was killed goes on with the step that was not finished.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, cast

from .behaviour import join_threads
from .dispatching import Dispatcher
from .effects import files, pages
from .effects.perform import Performer
from .errors import EngineError, LeaseLost
from .functions.limits import Stopped
from .knowledge import prepare_loop, search_for_prompt
from .lease import Lease
from .model_choice import keys_for
from .models import protocol, resolve_model
from .models.retry import complete_with_retry
from .models.stuck import Listener
from .packet import Renderer
from .packet_store import pictures_of
from .progress import Progress, watched

if TYPE_CHECKING:
    from .children import Children
    from .contract import OnEvent, OnProposal, Proposal
    from .database import Row, Store
    from .effects.kept_output import KeptOutput

_CHILD = "select 1 from children as c join runs as r on r.id = c.run_id where r.alias = ?"
_DELEGATES = "select 1 from _delegating_runs where run = ?"
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
    """

    def __init__(
        self,
        db: Store,
        run: str,
        on_event: OnEvent | None = None,
        on_proposal: OnProposal | None = None,
        kept: KeptOutput | None = None,
    ) -> None:
        self._db = db
        self._run = run
        self._lease = Lease(db, run)
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
        )
        self._asked_turn: int | None = None
        dispatcher = Dispatcher(db, run, self._lease)
        self._inside = {
            "begin": self._begin,
            "render": self._render,
            "dispatch": dispatcher.dispatch,
            "verify": self._verify,
        }
        self._outside = {
            "scan": self._scan,
            "prepare": self._prepare,
            "ask": self._ask,
            "perform": self._perform,
            "recover": self._recover,
            "confine": self._confine,
            "wait": self._decide,
        }

    def stop(self) -> None:
        """Stop driving, from another thread or a signal handler; the run stays where it is, and a resume goes on.

        A model call that is under way is given up and asked again later, a process is ended and told as interrupted. An
        answer that has arrived is kept.
        """
        self._lease.stopped.set()
        if "children" in self.__dict__:
            self.children.stop()

    @cached_property
    def children(self) -> Children:
        """What drives the children of the run; their callbacks are those of the run."""
        from .children import Children

        return Children(
            self._db,
            self._lease.stopped,
            self._on_event,
            self._ask_person if self._on_proposal else None,
            self._kept,
            self._decided_by,
        )

    def drive(self) -> None:
        """Drive the run until it ends, waits for a person, or is stopped.

        Steps inside the file share one transaction, which is committed before each step outside of it. Raises `Conflict`
        (409) inside a transaction of the caller and while another process drives the run, `LeaseLost` (409) when another
        process takes it over, and `EngineError` (500) when the file is removed or replaced.
        """
        self._db.expect_no_transaction()
        with self._db.driven(), self._lease:
            pages.offer_search(self._db, self._run, self._lease.token)
            self._db.offer_tools(self._run, self._lease.token)
            if self._db.value(_DELEGATES, (self._run,)):
                self._db.insert("offer_delegation", run=self._run, lease=self._lease.token)
            join_threads(self._db, self._run)
            self._performer.recover_jobs(self._run)
            try:
                with suppress(Stopped):
                    self._take_steps()
            finally:
                self._performer.close()
            self._expect_lease()
            self._progress.tell()
            self._expect_file()

    def _take_steps(self) -> None:
        going = True
        while going and not self._lease.stopped.is_set():
            if jobs := self._performer.jobs:
                jobs.await_ends()
            step = self._steps_inside()
            self._progress.tell()
            act = self._outside.get(step["step"])
            going = step["step"] in self._inside or (act is not None and act(step) is not False)

    def _expect_file(self) -> None:
        """Raise `EngineError` (500) where the database was removed or replaced: what is written to it now is lost."""
        if self._db.moved():
            raise EngineError(
                f"{self._db.path}: was removed or replaced while run {self._run} was driven; what it did since is in no file"
            )

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
        step = self._db.row("select run_id, turn_id, turn, step from next_steps where run = ?", (self._run,))
        assert step is not None, "a leased run is there"
        return step

    @cached_property
    def _is_child(self) -> bool:
        return bool(self._db.value(_CHILD, (self._run,)))

    def _begin(self, _: Row) -> None:
        if self._is_child and self._db.value("select 1 from _spent_children where run = ?", (self._run,)):
            self._db.insert("_stop_spent_child", run=self._run)
            return
        self._db.call_door("begin_turn", run=self._run, lease=self._lease.token)

    def _scan(self, step: Row) -> None:
        request = self._db.row("select * from _scan_requests where turn_id = ?", (step["turn_id"],))
        if request:
            files.scan(self._db, request)

    def _prepare(self, step: Row) -> None:
        search_for_prompt(self._db, self._run, step["turn_id"], self._lease.token)

    def _render(self, step: Row) -> None:
        if files.look_at_watched(self._db, step["run_id"]):
            files.bring_pictures(self._db, step["turn_id"])
        if self._performer.jobs:
            self._db.insert("show_job_output", run_id=step["run_id"])
        self._db.insert("prepare_packet", turn_id=step["turn_id"])
        prepare_loop(self._db, step["turn_id"])
        self._renderer.offer(step["turn_id"], self._lease.token)
        self._open_call(step["turn_id"])

    def _open_call(self, turn_id: int) -> None:
        """Record that the model is about to be asked, in the transaction that stores the packet."""
        self._db.insert("open_call", turn_id=turn_id)
        self._asked_turn = turn_id

    def _verify(self, _: Row) -> None:
        self._db.insert("verify_turn", run=self._run, lease=self._lease.token)

    def _ask(self, step: Row) -> None:
        if self._asked_turn != step["turn_id"]:
            self._open_call(step["turn_id"])
        self._asked_turn = None
        row = self._db.row("select * from _model_requests where turn_id = ?", (step["turn_id"],))
        assert row is not None, "an asking turn has a request"
        if row["answer_cache"] and self._answer_from_cache(step, row):
            return
        began = time.monotonic()
        listener = Listener(self._lease.stopped, self._progress.delta)
        try:
            with self._progress.answering(step["turn"]):
                completion = complete_with_retry(
                    self._db.given_models.find(row["actual"])
                    or resolve_model(row["actual"], keys_for(self._db, self._run)),
                    self._request(row),
                    listener.hear,
                    listener,
                    deadline_s=row["deadline_s"],
                    on_retry=listener.starting_over(self._progress.retry),
                )
        except protocol.ModelError as error:
            if listener.finish_reason:
                cut = protocol.Completion(listener.text, "", protocol.Usage(), listener.finish_reason)
                self._store(step["turn_id"], cut, round((time.monotonic() - began) * 1000))
            elif not self._lease.stopped.is_set():
                self._db.insert(
                    "fail_call",
                    turn_id=step["turn_id"],
                    status=error.status,
                    message=protocol.storable(error.message),
                )
            return
        ms_model = round((time.monotonic() - began) * 1000)
        try:
            self._store(step["turn_id"], completion, ms_model)
        except KeyboardInterrupt:
            self._store(step["turn_id"], completion, ms_model)  # it was paid for
            raise
        self._progress.answered(step["turn_id"])

    def _answer_from_cache(self, step: Row, row: Row) -> bool:
        """Store an answer of before, if there is one that fits. What its prompt means is found before the transaction."""
        from .answer_cache import given_answer, question_of

        packet = self._renderer.beside_prompt(step["turn_id"])
        question = question_of(self._db, step["turn_id"], packet, self._tools(row))
        if question is None:
            return False
        with self._progress.answering(step["turn"]):
            with self._db.transaction():
                given = given_answer(self._db, question)
                if given:
                    self._store(step["turn_id"], given, 0)
            if given:
                self._progress.answered(step["turn_id"])
        return given is not None

    def _request(self, row: Row) -> protocol.Request:
        messages, grammar = self._renderer.messages(row["turn_id"]), row["grammar"]
        if row["profile"] == "compact":
            from .models.grammar import packet_grammar

            found = self._db.row("select quotes, has_files from _passage_quotes where turn_id = ?", (row["turn_id"],))
            assert found is not None, "an asking turn has a loop"
            grammar = packet_grammar(messages[-1].content, found["quotes"], bool(found["has_files"]))
        return protocol.Request(
            messages=messages,
            temperature=row["temperature"],
            max_tokens=row["max_tokens"],
            grammar=grammar,
            timeout_s=row["timeout_s"],
            position=row["position"],
            run=row["run"],
            tools=self._tools(row),
            pictures=pictures_of(self._db, row["turn_id"]),
        )

    def _tools(self, row: Row) -> tuple[protocol.ToolSpec, ...]:
        if row["tool_calling"] != "native":
            return ()
        query = "select name, description, schema from turn_tools where turn_id = ? order by ordinal"
        return tuple(protocol.ToolSpec(**tool) for tool in self._db.rows(query, (row["turn_id"],)))

    def _store(self, turn_id: int, completion: protocol.Completion, ms_model: int) -> None:
        """Store the response before it is read, so that an error in reading it loses nothing that was paid for."""
        usage, text = protocol.known(completion.usage), completion.text
        if completion.calls:
            from .models.tools import response_text

            text = response_text(completion, self._db.value("select json_group_array(name) from tools"))
        text, ended = protocol.cut_off(protocol.storable(text), protocol.finish_reason(completion.finish_reason))
        self._db.execute(
            "update turns set response = ?, finish_reason = ?, native = ?, reasoning = ?, prompt_tokens = ?, "
            "cached_tokens = ?, completion_tokens = ?, reasoning_tokens = ?, cost = ?, ms_model = ?, lease = ? where id = ?",
            (
                text,
                ended,
                completion.native,
                protocol.cut_off(protocol.storable(completion.reasoning))[0] or None,
                usage.prompt_tokens,
                usage.cached_tokens,
                usage.completion_tokens,
                usage.reasoning_tokens,
                usage.cost,
                ms_model,
                self._lease.token,
                turn_id,
            ),
        )

    def _confine(self, step: Row) -> None:
        """Tell which sandboxes there are for the processes that come up."""
        from . import sandbox

        for question in self._db.rows("select choice from _sandbox_questions where run_id = ?", (step["run_id"],)):
            found, reason = sandbox.find(question["choice"])
            self._db.insert(
                "confine_processes",
                run=self._run,
                lease=self._lease.token,
                choice=question["choice"],
                sandbox=found.name if found else None,
                reason=reason or None,
            )

    def _perform(self, step: Row) -> None:
        self._performer.perform(step["run_id"])

    def _recover(self, step: Row) -> None:
        self._performer.recover(step["run_id"])

    def _decide(self, step: Row) -> bool:
        """Ask about the open proposals of the run and of those below it, one after the other; False when one stays open."""
        self._db.insert("wait_for_children", run_id=step["run_id"])
        if self._on_proposal is None:
            return False
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
            self._db.insert(
                "answer_proposal",
                proposal_id=proposal["proposal_id"],
                decision="reject" if answer is False else "accept",
                body=answer if isinstance(answer, str) else None,
                decided_by=self._decided_by,
            )
        return not self._left_open

    def _ask_person(self, proposal: Proposal) -> bool | str | None:
        """What a person says; a run of which one is left open is not asked about again."""
        assert self._on_proposal is not None, "there is somebody to ask"
        answer = self._on_proposal(proposal)
        if answer is None:
            self._left_open.add(proposal["run"])
        return answer

    def _expect_lease(self) -> None:
        """Raise `LeaseLost` (409) where driving ended because another process has taken the run over."""
        if self._lease.stopped.is_set() and not self._db.value(
            "select 1 from leases where token = ?", (self._lease.token,)
        ):
            raise LeaseLost(f"run {self._run}: another process drives it now")

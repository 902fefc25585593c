"""One prompt of a session: given to its run, which is driven in a thread until the prompt has ended or waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from acp import RequestError, schema
from pydantic import ValidationError

from engine.display.escapes import drawn
from engine.display.statuses import words_for_end
from engine.driving import prompts, results, runs
from engine.errors import EngineError, LeaseHeld
from engine.functions.counts import counted
from engine.system.in_thread import in_thread

from .permissions import Permissions
from .updates import Updates, message

if TYPE_CHECKING:
    from acp import Client

    from engine.api.database import Database
    from engine.contract import Options, Result
    from engine.db.database import Row
    from engine.driving.loop import Driver

    from .content import Prompt
    from .lines import Lines
    from .sessions import Session

_T = TypeVar("_T")

_TICK_S = 0.2
_BUFFER_S = 2.0
"""How long a client may take to say what it has of a file."""
CANCELLED = "cancelled"
"""The reason of a prompt that the client has cancelled."""
_QUESTION = """
    select p.proposal_id, p.run
    from tree_runs as t
    join open_proposals as p on p.run = t.run
    where t.top = ? and p.kind = 'question'
    order by p.proposal_id
    limit 1
"""
"""The question that a prompt answers."""
_ACTIVE = "select max(loop) from open_prompts where run = ? and status <> 100"
_WAITING = """
    select p.kind, p.detail
    from tree_runs as t
    join open_proposals as p on p.run = t.run
    where t.top = ?
    order by p.proposal_id
"""
_VOTER = """
    select v.voter
    from loops as l
    join runs as r on r.id = l.run_id
    join turns as t on t.id = (select max(o.id) from turns as o where o.loop_id = l.id)
    join _turn_verdicts as v on v.turn_id = t.id
    where r.alias = ? and l.sequence = ? and v.vote = 'stop'
"""


class Prompting:
    """Drives a session's run for one prompt, and tells the client what happens."""

    def __init__(self, session: Session, client: Client, lines: Lines) -> None:
        self._session = session
        self._client = client
        self._lines = lines
        self._loop = asyncio.get_running_loop()
        self._stopped = threading.Event()
        self._drivers: list[Driver] = []
        self._number: int | None = None
        self._lock = threading.Lock()
        self.is_cancelled = False
        """Whether the client has cancelled it."""
        self._asked: set[Future[Any]] = set()

    async def answer(self, prompt: Prompt) -> schema.PromptResponse:
        """Give the prompt, drive its run, and say how it ended. Raises an `EngineError` where it cannot be done.

        A task that is cancelled stops the driving; what is open stays open.
        """
        return await in_thread(lambda: self._work(prompt), cancel=self.stop)

    def stop(self) -> None:
        """Stop the driving, from any thread: the client is gone. The run can be resumed."""
        self._stopped.set()
        for driver in tuple(self._drivers):
            driver.stop()

    def expect_client(self) -> None:
        """Raise `ConnectionError` where this was stopped: a prompt whose turn comes then is not given to the run."""
        if self._stopped.is_set():
            raise ConnectionError("the client has disconnected")

    async def cancel(self) -> None:
        """End the prompt at 499, wherever it stands; what it asks is answered with nothing."""
        await in_thread(self._abort)
        for asked in tuple(self._asked):
            asked.cancel()

    def _abort(self) -> None:
        with self._lock:
            self.is_cancelled = True
            number = self._number
        if number is not None:
            with self._session.database.shared() as db:
                runs.abort(db, self._session.run, CANCELLED, number)

    def _work(self, prompt: Prompt) -> schema.PromptResponse:
        with self._session.database.shared() as db:
            number = self._given(db, prompt)
            with self._lock:
                self._number = number
                is_cancelled = self.is_cancelled
            if is_cancelled:
                self._abort()
            updates = Updates(db, self._session.run, self._session.root, self._send)
            self._drive(db, updates)
            result = results.result(db, self._session.run, number)
            return self._told(db, updates, result, number)

    def _given(self, db: Database, prompt: Prompt) -> int:
        """Give the prompt to the run, or to the question that it has asked; the number of the prompt that is answered."""
        run = self._session.run
        question = db.row(_QUESTION, (run,))
        if question is None:
            options: Options = {**self._options(db), "attachments": prompt.files or None}
            return prompts.prompt(db, prompt.text, run, options, prompt.embedded)[1]
        if prompt.files:
            raise EngineError("the run has asked a question; answer it with a text", 415)
        text = prompts.joined(prompt.text, prompt.embedded, None) if prompt.embedded else prompt.text
        db.insert(
            "verb_answer_proposal",
            proposal_id=question["proposal_id"],
            decision="accept",
            body=text,
            decided_by="client",
        )
        return int(db.value(_ACTIVE, (run,)))

    def _options(self, db: Database) -> Options:
        is_there = db.value("select 1 from runs where alias = ?", (self._session.run,))
        return {**self._session.options(), **({} if is_there else {"root": self._session.root})}

    def _drive(self, db: Database, updates: Updates) -> None:
        run = self._session.run
        permissions = Permissions(db, self, updates, self._abort)
        try:
            runs.drive(db, run, on_event=updates, on_proposal=permissions, on_driver=self._watch)
        except LeaseHeld:
            self._abort()
            raise

    def _watch(self, driver: Driver) -> None:
        self._drivers.append(driver)
        if self._stopped.is_set():
            driver.stop()

    def _told(self, db: Database, updates: Updates, result: Result, number: int) -> schema.PromptResponse:
        """Tell how the prompt ended."""
        updates.end(result.answer)
        usage = _usage(result.usage)
        if result.status == 500:
            raise EngineError(f"run {result.run!r}: {result.reason or 'the model failed'}", 500)
        if waiting := db.rows(_WAITING, (result.run,)):
            self._send(_what_waits(waiting))
        elif result.status != 200 and result.reason and result.reason != CANCELLED:
            self._send(message(f"\n\n{words_for_end(db, result.status, result.reason)}"))
        voter = db.value(_VOTER, (result.run, number))
        return schema.PromptResponse(stop_reason=_stop_reason(result, voter), usage=usage)

    def _send(self, update: Any) -> None:
        """Send an update, and wait until it is written. Raises `ConnectionError` where the client is gone."""
        self._await(self._client.session_update(self._session.run, update))

    def ask(
        self, call: schema.ToolCallUpdate, options: Sequence[schema.PermissionOption]
    ) -> schema.RequestPermissionResponse | None:
        """Ask the client for a decision; None where it gives none, or the prompt is cancelled meanwhile."""
        with suppress(ConnectionError, RequestError, ValidationError, CancelledError):
            asked = self._client.request_permission(self._session.run, call, list(options))
            return self._await(asked, can_be_cancelled=True)
        return None

    def unsaved(self, target: str) -> bool:
        """Whether the client has another text of a file of the project than the disk; False where it cannot say."""
        text = self._session.text_on_disk(target)
        if text is None or not self._session.reads_files:
            return False
        place = str(self._session.root / target)
        with suppress(ConnectionError, RequestError, ValidationError, CancelledError, TimeoutError):
            read = asyncio.wait_for(self._client.read_text_file(self._session.run, place), _BUFFER_S)
            return _lines_of(self._await(read, can_be_cancelled=True).content) != _lines_of(text)
        return False

    def _await(self, work: Coroutine[Any, Any, _T], *, can_be_cancelled: bool = False) -> _T:
        """The result of `work` on the event loop, waited for in this thread until the driving is stopped."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        if can_be_cancelled:
            self._asked.add(future)
        try:
            while not self._stopped.is_set() and not self._lines.ended.is_set():
                with suppress(TimeoutError):
                    return future.result(_TICK_S)
                if future.done():
                    return future.result()
            future.cancel()
            raise ConnectionError("the client has disconnected")
        finally:
            self._asked.discard(future)


def _lines_of(text: str) -> list[str]:
    return text.replace("\r\n", "\n").rstrip("\n").split("\n")


def _what_waits(proposals: Sequence[Row]) -> schema.AgentMessageChunk:
    """What is open: a question, which the next prompt answers, or decisions, which it asks for again."""
    questions = [str(each["detail"]) for each in proposals if each["kind"] == "question"]
    if questions:
        return message(f"\n\n{drawn(questions[0])}")
    return message(f"\n\nIt waits for {counted(len(proposals), 'decision')}; the next prompt asks again.")


_CAPPED = ("turns", "clock", "strikes")
"""Voters that end a prompt by a limit."""


def _stop_reason(result: Result, voter: str | None) -> Any:
    match result.status:
        case 413:
            return "max_tokens"
        case 499:
            return "max_turn_requests" if voter in _CAPPED else "cancelled"
        case _:
            return "end_turn"


def _usage(used: dict[str, int]) -> schema.Usage | None:
    """The tokens of a prompt; None where nobody has told them."""
    if not used["prompt_tokens"]:
        return None
    return schema.Usage(
        input_tokens=used["prompt_tokens"],
        output_tokens=used["completion_tokens"],
        total_tokens=used["prompt_tokens"] + used["completion_tokens"],
        thought_tokens=used["reasoning_tokens"],
        cached_read_tokens=used["cached_tokens"],
    )

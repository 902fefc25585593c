"""Drives child runs, several at once: each in a thread, with a handle that borrows its connection.

The thread of the parent meanwhile holds nothing in the file. It calls the callbacks, so an app is called in the thread in
which it began, by one run of the tree at a time, and it passes on an order to stop.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from engine.db.connections import MEMORY
from engine.errors import LeaseHeld
from engine.system.waiting import Flag, Inbox

from .loop import Driver

if TYPE_CHECKING:
    from engine.contract import OnProposal, Proposal
    from engine.events import Event, OnEvent
    from engine.handle import Handle, Provided
    from engine.processes.kept_output import KeptOutput

AtRest = Callable[[str], Sequence[str] | None]
_LOOK_S = 0.1
"""How often the parent looks whether it is to stop, and a child whether another process has let go of its run."""


class _Call:
    """What a thread asks the thread of the parent to do; `unanswered` is held until `answer` is there."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.answer: Any = None
        self.unanswered = threading.Lock()
        self.unanswered.acquire()


class Children:
    """Drives child runs for a parent that ends when `stopped` is set.

    `on_event` gets their events, each with the name of its run as `run`, and `on_proposal` their proposals; both are called
    by the thread that calls `drive`. `decided_by` is recorded as who decided. `provided` is for the app's tools, as that of
    the parent.
    """

    def __init__(
        self,
        db: Handle,
        stopped: threading.Event,
        on_event: OnEvent | None = None,
        on_proposal: OnProposal | None = None,
        kept: KeptOutput | None = None,
        decided_by: str = "callback",
        provided: Provided | None = None,
    ) -> None:
        self.db = db
        self.stopping = Flag()
        self.on_proposal = on_proposal
        self.decided_by = decided_by
        self._stopped = stopped
        self._on_event = on_event
        self._kept = kept
        self._provided = provided
        self._drivers: set[Driver] = set()

    def drive(self, runs: Sequence[str], at_rest: AtRest | None = None) -> None:
        """Drive `runs`, as many at once as the setting max_parallel_children allows, until each has ended or waits.

        `at_rest` gets the name of each run when it is not driven any more; it may return further runs, which are driven,
        too. A run that another process drives is waited for.
        Returns early where the parent is stopped. An error of one child, of a callback or of `at_rest` stops the others and
        is raised; all of them can be resumed.
        """
        self.stopping.clear()
        if str(self.db.path) == MEMORY:
            self._drive_in_turn(runs, at_rest)
            return
        most = int(self.db.value("select value from settings where name = 'max_parallel_children'"))
        _Group(self, runs, at_rest or _nothing, most).drive()

    def stop(self) -> None:
        """Stop the driving, from any thread or a signal handler."""
        self.stopping.set()
        for driver in tuple(self._drivers):
            driver.stop()

    def pass_on_stop(self) -> None:
        """Stop the driving where the parent is to stop."""
        if self._stopped.is_set() and not self.stopping.is_set():
            self.stop()

    def hearer(self, run: str) -> OnEvent | None:
        """What gets the events of a child; None where nobody listens."""
        if (on_event := self._on_event) is None:
            return None
        # what a child of the child tells has the name of that one
        return lambda event: on_event(cast("Event", {"run": run, **event}))

    def drive_one(self, db: Handle, run: str, on_event: OnEvent | None, on_proposal: OnProposal | None) -> None:
        """Drive a child with the handle `db`; wait while another process works on it."""
        while not self.stopping.is_set():
            driver = Driver(db, run, on_event, on_proposal, self._kept, self._provided)
            self._drivers.add(driver)
            if self.stopping.is_set():
                driver.stop()
            try:
                driver.drive()
                return
            except LeaseHeld:
                self.stopping.wait(_LOOK_S)
            finally:
                self._drivers.discard(driver)

    def _drive_in_turn(self, runs: Sequence[str], at_rest: AtRest | None) -> None:
        """Drive children of a database in memory, which has one handle, one after the other."""
        ahead = deque(runs)
        while ahead:
            self.pass_on_stop()
            run = ahead.popleft()
            self.drive_one(self.db, run, self.hearer(run), self.on_proposal)
            ahead += (at_rest or _nothing)(run) or ()


class _Group:
    """One call of `Children.drive`: its threads, and what they tell the thread of the parent."""

    def __init__(self, children: Children, runs: Sequence[str], at_rest: AtRest, most: int) -> None:
        self._children = children
        self._most = most
        self._ahead = deque(runs)
        self._calls: Inbox[_Call | None] = Inbox()
        self._at_work: set[threading.Thread] = set()
        self._at_rest = at_rest
        self._error: BaseException | None = None
        self._left = False

    def drive(self) -> None:
        """Start the threads, serve them until the last one has ended, and raise what went wrong."""
        try:
            try:
                self._start(len(self._ahead))
                while self._at_work and self._error is None:
                    self._serve()
            except BaseException as error:  # an interruption of this thread
                self._fail(error)
            if self._error is not None:
                self._serve()  # meanwhile one that is being started comes to life
                while any(thread.is_alive() for thread in tuple(self._at_work)):
                    self._serve()
        finally:
            self._left = True
        if self._error is not None:
            raise self._error

    def _start(self, workers: int) -> None:
        """Start more threads, as far as there may be more."""
        for _ in range(min(workers, self._most - len(self._at_work))):
            thread = threading.Thread(target=self._work, name="engine child")
            self._at_work.add(thread)
            thread.start()

    def _rest(self, run: str) -> None:
        """Tell that a run is not driven any more; what is driven next goes to the thread that asked, and to others."""
        more = self._at_rest(run) or ()
        self._ahead += more
        self._start(len(more) - 1)

    def _serve(self) -> None:
        """Do what a thread asks for, or hear of its end. After an error nothing is done any more, so that all end."""
        self._children.pass_on_stop()
        if not self._calls.wait(_LOOK_S):
            return
        call = self._calls.items[0]  # taken when it is answered: an interruption may come before that
        try:
            if call is None:
                # it may have ended just before something was ahead again
                if self._error is None and not self._children.stopping.is_set():
                    self._start(min(1, len(self._ahead)))
            elif self._error is None:
                call.answer = call.work()
        except BaseException as error:
            self._fail(error)
        finally:
            if call is not None and call.unanswered.locked():
                call.unanswered.release()
            self._calls.items.popleft()

    def _fail(self, error: BaseException) -> None:
        self._error = self._error or error
        self._children.stop()

    def _work(self) -> None:
        """Drive one run after the other with one handle."""
        try:
            with self._children.db.shared() as db:
                while not self._children.stopping.is_set() and (run := self._next()) is not None:
                    self._children.drive_one(db, run, self._event_teller(run), self._proposal_teller())
                    self._ask(partial(self._rest, run))
        except BaseException as error:
            self._fail(error)
        finally:
            self._at_work.discard(threading.current_thread())
            self._calls.put(None)

    def _next(self) -> str | None:
        try:
            return self._ahead.popleft()
        except IndexError:
            return None

    def _ask(self, work: Callable[[], Any]) -> Any:
        """Have the thread of the parent do something, and return what came of it."""
        call = _Call(work)
        self._calls.put(call)
        while not call.unanswered.acquire(timeout=_LOOK_S):
            if self._left:  # nobody answers any more
                break
        return call.answer

    def _event_teller(self, run: str) -> OnEvent | None:
        told = self._children.hearer(run)
        return None if told is None else lambda event: self._ask(partial(told, event))

    def _proposal_teller(self) -> OnProposal | None:
        on_proposal = self._children.on_proposal
        if on_proposal is None:
            return None

        def ask(proposal: Proposal) -> bool | str | None:
            return cast("bool | str | None", self._ask(partial(on_proposal, proposal)))

        ask.decided_by = self._children.decided_by  # type: ignore[attr-defined]
        return ask


def _nothing(_: str) -> None:
    """At rest, and nobody wants to know."""

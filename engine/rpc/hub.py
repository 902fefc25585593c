"""What the clients of one file share: its database, the runs that are driven in it, and what they are told of these.

spec: @rpc_notifications
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from engine.errors import EngineError, LeaseHeld
from engine.processes import claims

from .messages import error_of, unforeseen
from .telling import Teller

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.events import Event

_LOOK_S = 0.1
"""How often is looked whether anything has happened in a run that nobody follows."""
_NEWEST = "select coalesce(max(id), 0) from events"
GOES_ON = "select 1 from _next_steps where run = ? and step not in ('end', 'wait')"
"""Whether there is something to do in a run. Who has a lease may be dead, which a driver finds out."""
_STIRRED = """
    select distinct r.alias as run, p.root
    from runs as r
    join projects as p on p.id = r.project_id
    where r.id in (select run_id from events where id > :after and id <= :newest)
        or r.id in (select run_id from loops where status in (100, 102))
"""
"""The runs in which something has happened, and those with a prompt that has not ended."""


class Listener(Protocol):
    """A client, as far as a hub knows it."""

    @property
    def root(self) -> str | None:
        """The folder of the project that it works in."""

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification when the client can take it; never waits."""


class Hub:
    """Drives the runs of one file, and tells its listeners of these and of runs that other processes drive."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self._listeners: set[Listener] = set()
        self._driving: set[asyncio.Task[None]] = set()
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._tellers: dict[str, Teller] = {}
        self._following: dict[str, asyncio.Task[None]] = {}
        self._looking: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()

    def enter(self, listener: Listener) -> None:
        """Tell a client from now on of what happens in the runs of its folder."""
        self._listeners.add(listener)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look(int(self.db.value(_NEWEST))))

    def leave(self, listener: Listener) -> None:
        """Tell it no longer; nobody looks where nobody listens."""
        self._listeners.discard(listener)
        if not self._listeners and self._looking is not None:
            for task in (self._looking, *self._following.values()):
                task.cancel()
            self._looking = None

    def tell(self, root: str | None, method: str, params: dict[str, Any]) -> None:
        """Tell all clients of the folder `root`, or of any folder where it is None."""
        for listener in [*self._listeners]:  # one that does not read leaves meanwhile
            if root is None or listener.root == root:
                listener.tell(method, params)

    def drive(self, run: str) -> None:
        """Drive `run`, or the one that waits for it, in the background until it ends or waits; to be called after each
        prompt and each decision.
        """
        task = asyncio.create_task(self._drive(self._driven(run)))
        self._driving.add(task)
        task.add_done_callback(self._driving.discard)

    def _driven(self, run: str) -> str:
        """The run whose driver goes on with `run`: the one that waits for it, or itself."""
        return str(self.db.value("select driven from _runs_to_drive where run = ?", (run,)) or run)

    async def release(self, claimant: str) -> None:
        """Give back what a client that is gone was to carry out; where the file cannot be written, `heal` does that."""
        with suppress(EngineError):
            if claims.has_any(self.db, claimant):
                await self.db.call_async(lambda db: claims.release(db, claimant))

    async def close(self) -> None:
        """Stop driving and close the file; runs that were under way can be resumed."""
        for task in self._driving:
            task.cancel()
        await asyncio.gather(*self._driving, return_exceptions=True)
        await self.db.close_async()

    async def _drive(self, run: str) -> None:
        async with self._turns[run]:  # a decision may come while the driving that asked for it is still ending
            if not self.db.value(GOES_ON, (run,)):
                return
            try:
                await self.db.resume_async(run, on_event=lambda event: self._pass_on(run, event))
            except LeaseHeld:
                return  # whoever drives it goes on with what is new
            except Exception as error:
                self._failed(run, error)

    def _failed(self, run: str, error: Exception) -> None:
        self.tell(None, "ui/notify", {"run": run, "level": "error", "text": _line(error, f"run {run}")})

    def _pass_on(self, run: str, event: Event) -> None:
        """Pass on what a driver tells and the file does not, from its thread; of a loop that has ended nobody is told."""
        if event["type"] in ("output", "retry"):
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._passed_on, run, event)

    def _passed_on(self, run: str, event: Event) -> None:
        if teller := self._tellers.get(run):
            teller.told(event)

    async def _look(self, after: int) -> None:
        """Follow each run in which something happens, whoever drives it, until that cannot be read any more."""
        try:
            await self._follow_all(after)
        except Exception as error:
            self._looking = None
            self.tell(None, "ui/notify", {"level": "error", "text": _line(error, "following runs")})

    async def _follow_all(self, after: int) -> None:
        newest = -1
        while True:
            if (now := int(self.db.value(_NEWEST))) != newest:
                for row in self.db.rows(_STIRRED, {"after": after, "newest": now}):
                    if row["run"] not in self._following:
                        self._following[row["run"]] = asyncio.create_task(self._follow(**row, after=after))
                after = newest = now
            await asyncio.sleep(_LOOK_S)

    async def _follow(self, run: str, root: str | None, after: int) -> None:
        teller = self._tellers[run] = Teller(self, run, root, max(after, self._last_of(run)))
        try:
            async with teller:
                async for event in self.db.events_async(run, after=teller.last):
                    teller.told(event)
        except Exception as error:
            self._failed(run, error)
        finally:
            del self._following[run]

    def _last_of(self, run: str) -> int:
        """The last event of a run that clients were told of."""
        return self._tellers[run].last if run in self._tellers else 0


def _line(error: Exception, where: str) -> str:
    """What is told of an error."""
    return (error_of(error) if isinstance(error, EngineError) else unforeseen(error, where)).message

"""Connections to one file that the drivers of a process share: each is borrowed for one statement or one transaction.

SQLite has one writer at a time, so all that is written goes through one connection, whose statements stay compiled. What is
read while that one is at work goes through another. So any number of runs needs a few connections, and a run that waits,
for its model, a command, a child or a person, has none.

spec: @driver_connections
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from engine.db.lines import WAIT_S, Queue, kept
from engine.db.log_sync import LogSync
from engine.errors import Conflict, EngineError
from engine.system.own_files import identity

if TYPE_CHECKING:
    import apsw

    from engine.api.shared_handle import SharedHandle

_MOST_READERS = 2
"""Connections that only read, besides those that write."""
_PATIENCE_S = 0.05
"""How long who reads waits for the connection that writes: to open another one takes as long."""


class Pool:
    """Connections like that of `owner`, for any number of threads; `users` are the handles that borrow them.

    Who has one never waits for another, and only the thread whose turn it is has one that writes: so nobody waits for ever.
    They are opened when they are needed, and stay until `close`. Errors are those of `engine.open`.
    """

    def __init__(self, owner: SharedHandle) -> None:
        self.owner = owner
        self._line = owner.line
        self._queue = Queue()
        # by whether the rules of threads hang in it
        self._writers: dict[bool, SharedHandle] = {}
        self._readers: list[SharedHandle] = []
        self._open_readers = 0
        self._users = 0
        self.closed = False
        self.identity = identity(owner.place)
        self._changed = threading.Condition()
        self._sync: LogSync | None = None

    @property
    def size(self) -> int:
        """How many connections are open."""
        return len(self._writers) + self._open_readers

    def moved(self) -> bool:
        """Whether another file has the name now, or none."""
        return identity(self.owner.place) != self.identity

    def enter(self) -> None:
        """Count one more user; raises `Conflict` (409) where the pool was closed and has none any more.

        What is driven goes on when it is closed, with its children and its commands in the background.
        """
        with self._changed:
            if self.closed and not self._users:
                raise Conflict(f"{self.owner.path}: is closed; open it again")
            self._users += 1

    def leave(self) -> None:
        """Count one user less; of a pool that was closed meanwhile, the last one closes the connections."""
        with self._changed:
            self._users -= 1
        self._close_unused()

    def close(self) -> None:
        """Let nobody enter any more; the connections are closed when the last user has left."""
        with self._changed:
            self.closed = True
        self._close_unused()

    @contextmanager
    def writing(self, wires: tuple[str, ...]) -> Iterator[apsw.Connection]:
        """The connection that writes, while it is the turn of this thread. With `wires`, one that has these triggers.

        Raises `Conflict` (409) where another thread keeps the file for long.
        """
        with self._turn_within(WAIT_S, patiently=True) as mine:
            if not mine:
                raise kept(self.owner.place)
            connection = self._writer(wires).connection
            try:
                yield connection
            finally:
                if connection.in_transaction:  # it would keep everybody else from writing
                    connection.execute("rollback")

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """A connection to read with: the one that writes, or another where it is not the turn of this thread soon."""
        with self._turn_within(_PATIENCE_S if self._writers else WAIT_S) as mine:
            if mine:
                yield self._writer(()).connection
                return
        with self.looking() as connection:
            yield connection

    @contextmanager
    def looking(self) -> Iterator[apsw.Connection]:
        """A connection that only reads."""
        reader = self._take_reader()
        try:
            yield reader.connection
        finally:
            with self._changed:
                self._readers.append(reader)
                self._changed.notify()

    def sync(self) -> None:
        """Return when all that was committed so far would outlast a power cut, where the file is opened so."""
        if self._sync is not None:
            self._sync.sync()

    @contextmanager
    def _turn_within(self, seconds: float, *, patiently: bool = False) -> Iterator[bool]:
        """Whether it is the turn of this thread within some seconds; where it is, until the end."""
        with self._queue.turn_within(seconds, patiently=patiently) as first:
            if not first:
                yield False
                return
            with self._line.turn_within(seconds) as mine:
                if mine:
                    self._queue.note_turn()
                yield mine

    def _writer(self, wires: tuple[str, ...]) -> SharedHandle:
        """Called by the thread whose turn it is."""
        kind = bool(wires)
        if kind not in self._writers:
            writer = self._open(tools=True)
            try:
                for wire in wires:
                    writer.execute(wire)
                self._synchronize_later(writer)
            except BaseException:
                writer.close()
                raise
            self._writers[kind] = writer
        if (tools := self.owner.app_tools) is not None and self._writers[kind].app_tools is None:
            self._writers[kind].app_tools = tools
            tools.attach(self._writers[kind])
        return self._writers[kind]

    def _synchronize_later(self, writer: SharedHandle) -> None:
        """Have what is committed synchronized by `sync`, when others may write again; else SQLite does it before that."""
        if self._sync is None and writer.synchronous == "FULL":
            with suppress(OSError):
                self._sync = LogSync(writer.place)
        if self._sync is not None:
            writer.execute("pragma synchronous = normal")

    def _take_reader(self) -> SharedHandle:
        with self._changed:
            while not self._readers:
                if self._open_readers < _MOST_READERS:
                    self._open_readers += 1
                    break
                self._changed.wait()
            else:
                return self._readers.pop()
        try:
            return self._open(tools=False)
        except BaseException:
            with self._changed:
                self._open_readers -= 1
                self._changed.notify()
            raise

    def _open(self, *, tools: bool) -> SharedHandle:
        """One more connection, to the same file as the others; raises `EngineError` (500) where that was removed."""
        gone = f"{self.owner.path}: was removed or replaced; later changes are lost"
        if self._writers and self.moved():  # opened by name, it would come back empty
            raise EngineError(gone)
        opened = self.owner.again(tools=tools)
        if not self._writers and self.identity is None:  # it was made just now
            self.identity = opened.identity
        if opened.identity != self.identity:
            opened.close()
            raise EngineError(gone)
        return opened

    def _close_unused(self) -> None:
        with self._changed:
            if not self.closed or self._users:
                return
            unused = [*self._writers.values(), *self._readers]
            self._writers, self._readers, self._open_readers = {}, [], 0
            common, self._sync = self._sync, None
        with ExitStack() as closed:  # all of them, also where one cannot be closed
            if common is not None:
                closed.callback(common.close)
            for each in unused:
                closed.callback(each.close)
            if self.owner.app_tools is not None:
                closed.callback(self.owner.app_tools.close)

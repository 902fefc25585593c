"""The lease of a run: the driver claims it, renews it in the background, and releases it."""

from __future__ import annotations

import threading
import uuid
from types import TracebackType
from typing import TYPE_CHECKING

import apsw

from . import identity
from .errors import Conflict

if TYPE_CHECKING:
    from .database import Store

_POLL_S = 0.2
_RELEASES = 6
"""How often a release is tried; each waits for others who write as long as any statement does."""


class Lease:
    """A context manager inside which this process is the only driver of `run`.

    Entering raises `Conflict` (409) while another process drives the run; a holder that is provably dead is replaced at
    once. `stopped` is set when the run is aborted from outside or another process takes the lease.
    """

    def __init__(self, db: Store, run: str) -> None:
        self._db = db
        self.run = run
        self.token: str = uuid.uuid4().hex
        self.stopped: threading.Event = threading.Event()
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Lease:
        self._db.insert(
            "claim_lease",
            run=self.run,
            token=self.token,
            holder=identity.this_process().to_json(),
            replaces=self._token_of_the_dead(),
        )
        if self._db.path.exists():
            self._thread = threading.Thread(target=self._keep, name=f"lease of {self.run}", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()
        for tries_left in reversed(range(_RELEASES)):
            try:
                self._db.insert("release_lease", token=self.token)
                return
            except Conflict:  # others write; a lease that stays keeps its run from being driven until it expires
                if not tries_left:
                    raise

    def _token_of_the_dead(self) -> str | None:
        held = self._db.row("select token, holder from run_leases where run = ?", (self.run,))
        if held and identity.state(identity.ProcessIdentity.from_json(held["holder"])) == "dead":
            return str(held["token"])
        return None

    def _keep(self) -> None:
        """Look five times a second whether the lease is still ours, and renew it after a third of its time."""
        try:
            # without CREATE: a file that was just removed must not come back empty
            connection = apsw.Connection(str(self._db.place), flags=apsw.SQLITE_OPEN_READWRITE)
        except apsw.CantOpenError:
            if self._db.moved():
                return  # the driver notices it too, and raises
            raise
        connection.set_busy_timeout(1_000)
        try:
            # `.get` reads to the end: an open statement would keep this connection at the file's state of now
            seconds = connection.execute("select cast(value as integer) from settings where name = 'lease_seconds'").get
            renew_every = max(int(seconds) / 3, _POLL_S)
            waited = 0.0
            while not self._done.wait(_POLL_S):
                waited += _POLL_S
                self._look(connection)
                if waited >= renew_every:
                    waited = 0.0
                    self._renew(connection, int(renew_every * 3_000))
        finally:
            connection.close()

    def _look(self, connection: apsw.Connection) -> None:
        try:
            rows = connection.execute("select aborted from leases where token = ?", (self.token,)).fetchall()
        except apsw.BusyError:
            return
        if rows != [(0,)]:
            self.stopped.set()

    def _renew(self, connection: apsw.Connection, milliseconds: int) -> None:
        try:
            connection.execute(
                "update leases set expires_at = ? where token = ?",
                (self._db.clock() + milliseconds, self.token),
            )
        except apsw.BusyError:
            return  # the next round tries again, before the lease expires

"""The lease of a run's driver: taken, renewed in the background, given back."""

from __future__ import annotations

import threading
import uuid
from types import TracebackType
from typing import TYPE_CHECKING

import apsw

from . import identity

if TYPE_CHECKING:
    from .database import Store

_POLL_S = 0.2


class Lease:
    """Makes this process the one driver of `run`, as a context manager.

    Raises `Conflict` (409) on entry while another process drives the run. A holder that provably died is replaced at once.
    `stopped` is set when the run was aborted under us or the lease was lost to another process.
    """

    def __init__(self, db: Store, run: str) -> None:
        self._db = db
        self.run = run
        self.token = uuid.uuid4().hex
        self.stopped = threading.Event()
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
        self._db.insert("release_lease", token=self.token)

    def _token_of_the_dead(self) -> str | None:
        held = self._db.row("select token, holder from live_leases where run = ?", (self.run,))
        if held and identity.state(identity.ProcessIdentity.from_json(held["holder"])) == "dead":
            return str(held["token"])
        return None

    def _keep(self) -> None:
        """Renew the lease a few times in its life, and look whether it is still ours."""
        connection = apsw.Connection(str(self._db.path))
        connection.set_busy_timeout(1_000)
        try:
            # get reads to the end: a statement left open would hold this connection to what the file was at the start
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
            return  # the next round tries again, long before the lease expires

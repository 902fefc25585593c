"""The lease of a run: the driver claims it, renews it in the background, and releases it.

spec: @crash_safety
"""

from __future__ import annotations

import threading
import uuid
from types import TracebackType
from typing import TYPE_CHECKING

from engine.driving import lease_renewal
from engine.errors import Conflict, LeaseHeld
from engine.system import identity
from engine.system.waiting import Flag

if TYPE_CHECKING:
    from engine.db.database import Store

_OTHER = "select 1 from run_leases where run = ? and token is not ?"
_HOLDER = """
    select l.holder, l.token
    from runs as r
    join _leases_in_force as f on f.run_id = r.id
    join leases as l on l.run_id = r.id
    where r.alias = ?
"""
_left: set[str] = set()
"""The tokens of leases that this process could not give back, as on a full disk: their drivers have ended."""
_RELEASES = 2
"""How often a release is tried; each waits for others who write as long as any statement does."""


class Lease:
    """A context manager inside which this process is the only driver of `run`; or what is between `claim` and `release`.

    To claim it raises `LeaseHeld` (409) while another process drives the run; a holder that is provably dead is replaced at
    once. `stopped` is set when the run is aborted from outside or another process takes the lease.
    """

    def __init__(self, db: Store, run: str) -> None:
        self.db = db
        self.run = run
        self.token: str = uuid.uuid4().hex
        self.stopped: threading.Event = Flag()
        self.taken = False
        """Whether a claim was made: `release` has something to give back."""

    def __enter__(self) -> Lease:
        try:
            self.claim()
        except BaseException:
            self.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def claim(self) -> None:
        """Claim the lease and keep it. `release` follows in any case: an interruption may come when it is claimed."""
        self.take()
        self.keep()

    def take(self) -> None:
        """Claim the lease, perhaps in the transaction of a prompt: one that is rolled back leaves nothing to give back."""
        holder = identity.this_process().to_json()
        self.taken = True
        try:
            with self.db.transaction():  # until it is known why a claim was refused, no lease is given back
                self._insert(holder, self._token_of_the_dead())
        except Conflict:
            self.taken = False
            raise

    def keep(self) -> None:
        """Renew it in the background from now on, when it has been committed."""
        lease_renewal.keep(self)

    def _insert(self, holder: str, replaces: str | None) -> None:
        try:
            self.db.insert("_claim_lease", run=self.run, token=self.token, holder=holder, replaces=replaces)
        except Conflict as error:
            if self.db.value(_OTHER, (self.run, replaces)):
                raise LeaseHeld(error.message) from None
            raise

    def release(self) -> None:
        """Give the lease back, where it was claimed."""
        if not self.taken:
            return
        try:
            lease_renewal.let_go(self)
        finally:
            _left.add(self.token)
            try:
                self._give_back()
            except KeyboardInterrupt:
                self._give_back()  # a lease that stays keeps its run from being driven until it expires
                _left.discard(self.token)
                raise
            _left.discard(self.token)
        self.taken = False

    def _give_back(self) -> None:
        for tries_left in reversed(range(_RELEASES)):
            try:
                self.db.insert("_release_lease", token=self.token)
                return
            except Conflict:  # others write
                if not tries_left:
                    raise

    def _token_of_the_dead(self) -> str | None:
        held = self.db.row("select token, holder from run_leases where run = ?", (self.run,))
        if held and (held["token"] in _left or _is_dead(held["holder"])):
            return str(held["token"])
        return None


def is_held(db: Store, run: str) -> bool:
    """Whether a process drives `run`, as far as can be told: one that is provably dead does not."""
    held = db.row(_HOLDER, (run,))
    return held is not None and held["token"] not in _left and not _is_dead(held["holder"])


def _is_dead(told: str) -> bool:
    holder = identity.read_identity(told)
    return holder is not None and identity.state(holder) == "dead"

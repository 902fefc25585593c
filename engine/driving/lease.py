"""The lease of a run: the driver claims it, renews it in the background, and releases it."""

from __future__ import annotations

import threading
import uuid
from types import TracebackType
from typing import TYPE_CHECKING

from engine.errors import Conflict

from . import identity, keeper

if TYPE_CHECKING:
    from engine.db.database import Store

_RELEASES = 6
"""How often a release is tried; each waits for others who write as long as any statement does."""


class Lease:
    """A context manager inside which this process is the only driver of `run`.

    Entering raises `Conflict` (409) while another process drives the run; a holder that is provably dead is replaced at
    once. `stopped` is set when the run is aborted from outside or another process takes the lease.
    """

    def __init__(self, db: Store, run: str) -> None:
        self.db = db
        self.run = run
        self.token: str = uuid.uuid4().hex
        self.stopped: threading.Event = threading.Event()

    def __enter__(self) -> Lease:
        self.db.insert(
            "claim_lease",
            run=self.run,
            token=self.token,
            holder=identity.this_process().to_json(),
            replaces=self._token_of_the_dead(),
        )
        keeper.keep(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        keeper.let_go(self)
        for tries_left in reversed(range(_RELEASES)):
            try:
                self.db.insert("release_lease", token=self.token)
                return
            except Conflict:  # others write; a lease that stays keeps its run from being driven until it expires
                if not tries_left:
                    raise

    def _token_of_the_dead(self) -> str | None:
        held = self.db.row("select token, holder from run_leases where run = ?", (self.run,))
        holder = identity.read_identity(held["holder"]) if held else None
        if held and holder and identity.state(holder) == "dead":
            return str(held["token"])
        return None

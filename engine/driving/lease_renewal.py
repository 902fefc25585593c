"""Keeps the leases that this process holds: one thread and one connection for each file, however many runs are driven."""

from __future__ import annotations

import os
import threading
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import apsw

from engine.schema.registration import system_clock

if TYPE_CHECKING:
    from pathlib import Path

    from engine.driving.lease import Lease
    from engine.system.own_files import Identity

_POLL_S = 0.2


class Keeper:
    """Looks five times a second whether leases of one file are still ours, and renews them after a third of their time."""

    def __init__(self, first: Lease) -> None:
        self._leases: dict[str, Lease] = {first.token: first}
        self._place = first.db.place
        # held until the thread is to end; no event, see `waiting`
        self._going = threading.Lock()
        self._going.acquire()
        self._thread = threading.Thread(target=self.keep, name=f"leases in {self._place.name}", daemon=True)

    def add(self, lease: Lease) -> bool:
        """Keep a lease too; returns whether it is kept, which it is not when the thread has ended."""
        self._leases[lease.token] = lease
        return self._thread.is_alive()

    def remove(self, lease: Lease) -> bool:
        """Keep a lease no longer; returns whether any is left."""
        self._leases.pop(lease.token, None)
        return bool(self._leases)

    def start(self) -> None:
        """Keep them in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and with it the connection."""
        self._going.release()
        if self._thread.is_alive():
            self._thread.join()

    def keep(self) -> None:
        """Keep the leases until `stop`, or until none is left: who gave the last one back may have been interrupted."""
        # not at once: to open the file takes as long as some turns
        while not self._going.acquire(timeout=_POLL_S):
            try:
                self._poll()
                return
            except (apsw.CantOpenError, apsw.IOError, apsw.FullError):
                leases = [*self._leases.values()]
                # where the file was removed, the driver notices it too, and raises; what else there is may pass
                if all(lease.db.moved() for lease in leases) if leases else self._retires():
                    return

    def _poll(self) -> None:
        # without CREATE: a file that was just removed must not come back empty
        with closing(apsw.Connection(str(self._place), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
            connection.set_busy_timeout(1_000)
            waited, renew_every = _POLL_S, 0.0
            while not self._going.acquire(timeout=_POLL_S):
                waited += _POLL_S
                leases = [*self._leases.values()]
                if not leases and self._retires():
                    return
                # where the file is busy, the next round tries again, before a lease expires
                with suppress(apsw.BusyError, apsw.ProtocolError):
                    renew_every = renew_every or max(_lease_seconds(connection) / 3, _POLL_S)
                    for lease in leases:
                        self._look(connection, lease)
                    if waited >= renew_every:
                        for lease in leases:
                            _renew(connection, lease, int(renew_every * 3_000))
                        waited = 0.0

    def _look(self, connection: apsw.Connection, lease: Lease) -> None:
        found = connection.execute("select aborted from leases where token = ?", (lease.token,)).fetchall()
        if found != [(0,)]:
            lease.stopped.set()
        if not found:  # another process has it, or it was given back
            self.remove(lease)

    def _retires(self) -> bool:
        """Whether it has no lease, which nobody gives it from then on."""
        with _changing:
            if self._leases:
                return False
            for file in [file for file, keeper in _keepers.items() if keeper is self]:
                del _keepers[file]
            return True


def _lease_seconds(connection: apsw.Connection) -> int:
    # `.get` reads to the end: an open statement would keep this connection at the file's state of now
    return int(connection.execute("select cast(value as integer) from settings where name = 'lease_seconds'").get)


def _renew(connection: apsw.Connection, lease: Lease, milliseconds: int) -> None:
    expires_at = system_clock() + milliseconds  # an app's own clock dates the record only
    connection.execute("update leases set expires_at = ? where token = ?", (expires_at, lease.token))


_keepers: dict[tuple[Path, Identity], Keeper] = {}
"""By the name of the file and what it is: another file may come under the name, and some file systems have no inodes."""
_changing = threading.Lock()


def keep(lease: Lease) -> None:
    """Keep a lease that was claimed, until `let_go`."""
    if lease.db.identity is None:
        return  # a database in memory: no other process can take it
    file = (lease.db.place, lease.db.identity)
    with _changing:
        found = _keepers.get(file)
        if found is None or not found.add(lease):
            _keepers[file] = Keeper(lease)
            _keepers[file].start()


def let_go(lease: Lease) -> None:
    """Keep a lease no longer; of the last one in a file, the connection is closed before this returns."""
    with _changing:
        ended = [file for file, keeper in _keepers.items() if not keeper.remove(lease)]
        keepers = [_keepers.pop(file) for file in ended]
    for keeper in keepers:
        keeper.stop()


def _start_over() -> None:
    """In a process that was forked: the threads are not there."""
    global _changing
    _changing = threading.Lock()
    _keepers.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_start_over)

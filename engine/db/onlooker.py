"""The connection for queries that an app or a person wrote.

A query is confined by an authorizer and a pragma. When either is set, SQLite compiles all statements of that connection
anew; to do that for the statements of a turn takes as long as five turns. So a handle that is queried between turns answers
the queries with a second connection.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import apsw

from .connections import MEMORY, connect_beside

if TYPE_CHECKING:
    from .database import Store


class Onlooker:
    """The connection that answers the queries of one handle on a file: the handle's own, or one beside it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        """Held while the connection beside is used."""
        self._beside: apsw.Connection | None = None
        self._was_asked = False
        self._is_worth_it = False

    def note_door(self) -> None:
        """Note that the handle calls a door: a query before that has cost it its compiled statements."""
        self._is_worth_it = self._is_worth_it or self._was_asked

    def connection_for(self, db: Store) -> apsw.Connection:
        """The connection that answers the next query.

        It is the handle's own inside a transaction, whose rows nobody else sees, and for an app's temporary tables.
        """
        self._was_asked = True
        if not self._is_worth_it or str(db.path) == MEMORY or db.connection.in_transaction or db.moved():
            return db.connection
        if db.connection.execute("select 1 from temp.sqlite_schema").get is not None:
            return db.connection
        if self._beside is None:
            try:
                self._beside = connect_beside(db.path, db.clock, db.rights)
            except apsw.Error:
                return db.connection
        return self._beside

    def close(self) -> None:
        """Close the connection beside, where there is one."""
        with self.lock:
            if self._beside is not None:
                self._beside.close()
                self._beside = None

"""Lets several statements read one state of the file, whoever writes meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .database import Store


@contextmanager
def one_state(db: Store) -> Iterator[None]:
    """While all that `db.connection` reads is of one state of the file; a part of the transaction that is open."""
    with db.held():
        if db.connection.in_transaction:
            yield
            return
        db.connection.execute("begin").fetchall()
        try:
            yield
        finally:
            if db.connection.in_transaction:
                db.connection.execute("rollback").fetchall()

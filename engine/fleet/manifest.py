"""The manifest of a fleet: a SQLite file whose triggers and views decide who works on what.

spec: @fleet_manifest @fleet_growth
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Self

import apsw

from engine import texts
from engine.errors import Conflict, EngineError, NotFound, PermissionDenied, ValidationError, error_for
from engine.schema.objects import objects_of
from engine.system.identity import this_process
from engine.trust import known_files

APPLICATION_ID = 0x464C4545
"""The mark of a manifest in its header: 'FLEE'."""
VERSION = 1
_BUSY_MS = 30_000
_CALL = """
    select
        case
            when exists (select 1 from calls where id = :id) then 'go'
            when (select spent + :bound > max_cost from budget) then 'ceiling'
            else 'wait'
        end as verdict,
        max(coalesce((select wait_ms from rate_waits where key = :key), 0), 20) as wait_ms
"""

Row = dict[str, Any]


class Manifest:
    """An open manifest. Any thread may use it; each call is one transaction.

    A door that refuses something raises the `EngineError` of its status, and nothing is stored.
    """

    def __init__(self, path: Path, *, read_only: bool = False, trust: bool = False) -> None:
        """Open the manifest at `path`.

        Raises `NotFound` (404) without a file, `ValidationError` (400) for a file that is no manifest, `Conflict` (409) for
        one with other rules than this build's, and `PermissionDenied` (403) for one of somebody else that is to be carried
        out, unless `trust`.
        """
        self.path = path
        self._lock = threading.RLock()
        if not path.is_file():
            raise NotFound(f"{path}: there is no such manifest; 'engine fleet run TASKS' makes one")
        flags = apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE
        self._connection = apsw.Connection(str(path), flags=flags)
        try:
            _set_up(self._connection)
            self._expect_ours()
            if not read_only:
                self._expect_known(trust)
                self._connection.execute("pragma foreign_keys = on").fetchall()
                level = "full" if self.value("select max_cost from fleet") is not None else "normal"
                self._connection.execute(f"pragma synchronous = {level}").fetchall()
        except apsw.NotADBError:
            self.close()
            raise ValidationError(f"{path}: is not a database") from None
        except BaseException:
            self.close()
            raise

    @classmethod
    def make(
        cls, path: Path, settings: Mapping[str, Any], tasks: Iterable[tuple[Any, ...]], rates: Iterable[Row]
    ) -> Manifest:
        """Make a new manifest with these tasks (name, kind, definition, file, root), all of it or nothing.

        Raises `Conflict` (409) if `path` exists, and for two tasks with one name or file.
        """
        if path.exists() or path.is_symlink():
            raise Conflict(
                f"{path}: exists already; continue with 'engine fleet resume {path}', or name another manifest"
            )
        mark = known_files.new_mark()
        made = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        os.close(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            connection = apsw.Connection(str(made))
            try:
                for _ in connection.execute(f"pragma journal_mode = delete; begin immediate; {_sql()}"):
                    pass
                columns = ", ".join(settings)
                connection.execute(
                    f"insert into fleet (id, mark, created_at, {columns}) "  # noqa: S608 - names of ours
                    f"select 1, ?, ms, {', '.join('?' * len(settings))} from _now",
                    (mark, *settings.values()),
                ).fetchall()
                connection.executemany(
                    "insert into tasks (name, kind, definition, file, root) values (?, ?, ?, ?, ?)", tasks
                )
                connection.executemany(
                    "insert into rates (key, requests, tokens) values (:key, :requests, :tokens)", rates
                )
                for statement in (f"application_id = {APPLICATION_ID}", f"user_version = {VERSION}"):
                    connection.execute(f"pragma {statement}").fetchall()
                connection.execute("commit").fetchall()
            finally:
                connection.close()
            os.link(made, path)  # fails if somebody else has made one meanwhile
        except apsw.ConstraintError as error:
            raise Conflict(f"two tasks cannot have one id or one file ({error})") from None
        except FileExistsError:
            raise Conflict(f"{path}: was made by another process just now") from None
        finally:
            made.unlink(missing_ok=True)
        known_files.note_new(path, mark)
        connection = apsw.Connection(str(path))
        connection.execute("pragma journal_mode = wal").fetchall()
        connection.close()
        return cls(path)

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def rows(self, sql: str, bindings: Any = ()) -> list[Row]:
        """The rows of a statement of ours."""
        with self._lock:
            found: list[Row] = []
            names: list[str] = []
            cursor = self._connection.execute(sql, bindings)
            for row in cursor:  # a cursor that has come to its end tells no names
                names = names if found else [str(name) for name, _ in cursor.get_description()]
                found.append(dict(zip(names, row, strict=True)))
        return found

    def value(self, sql: str, bindings: Any = ()) -> Any:
        """The first value of a statement of ours."""
        with self._lock:
            return self._connection.execute(sql, bindings).get

    def call(self, door: str, **columns: Any) -> None:
        """Insert a row into a door."""
        names = ", ".join(columns)
        places = ", ".join(f":{name}" for name in columns)
        self.execute(f"insert into {door} ({names}) values ({places})", columns)  # noqa: S608 - names of ours

    def execute(self, sql: str, bindings: Any = ()) -> None:
        """Carry out a statement of ours that writes."""
        with self._lock:
            try:
                self._connection.execute(sql, bindings).fetchall()
            except apsw.ConstraintError as error:
                raise _told(error) from None

    def begin_worker(self, place: str, identity: str | None = None) -> int:
        """Note a worker, by default this process; returns its number."""
        told = identity or this_process().to_json()
        with self._lock:
            self.call("_begin_worker", identity=told, place=place)
            return int(self.value("select max(id) from workers where identity = ?", (told,)))

    def end_worker(self, worker: int, outcome: str) -> None:
        """Note that a worker has ended; what it had in hand may be taken up by others."""
        self.call("_end_worker", worker_id=worker, outcome=outcome)

    def claim(self, worker: int) -> Row | None:
        """The next task for a worker: a row of `work`. None if nothing is ready now."""
        token = secrets.token_hex(8)
        self.call("_claim_task", worker_id=worker, token=token)
        return next(iter(self.rows("select * from work where token = ?", (token,))), None)

    def open_call(self, token: str, call: str, key: str, tokens: int, bound: float) -> Row:
        """Ask for a model call: `verdict` is go, wait (for `wait_ms`) or ceiling."""
        with self._lock, self._connection:
            self.call("_open_call", id=call, token=token, key=key, tokens=tokens, bound=bound)
            (told,) = self.rows(_CALL, {"id": call, "key": key, "bound": bound})
        return told

    def _expect_ours(self) -> None:
        if self._connection.pragma("application_id") != APPLICATION_ID:
            raise ValidationError(
                f"{self.path}: is not the manifest of a fleet; name the file made by 'engine fleet run'"
            )
        version = self._connection.pragma("user_version")
        if version != VERSION or {*objects_of(self._connection)} != _objects():
            raise Conflict(f"{self.path}: was changed, or made by another version; use the version that made it")

    def _expect_known(self, trust: bool) -> None:
        mark = str(self.value("select mark from fleet"))
        if not trust and not known_files.knows(self.path, mark):
            raise PermissionDenied(
                f"{self.path}: is a manifest from elsewhere; its tasks would run with your rights. Read them with "
                f"'engine fleet status {self.path} --tasks', then add --trust"
            )


def _set_up(connection: apsw.Connection) -> None:
    connection.set_busy_timeout(_BUSY_MS)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)


def _told(error: apsw.ConstraintError) -> EngineError:
    """The error of a door: it begins with its status."""
    said = str(error).removeprefix("ConstraintError: ")
    status, _, message = said.partition(" ")
    if status.isdecimal():
        return error_for(int(status), message)
    return Conflict(f"the manifest refuses this: {said}")


@cache
def _sql() -> str:
    return texts.folder_of("engine.fleet").joinpath("manifest.sql").read_text(encoding="utf-8")


@cache
def _objects() -> frozenset[Any]:
    connection = apsw.Connection(":memory:")
    try:
        for _ in connection.execute(_sql()):
            pass
        return frozenset(objects_of(connection))
    finally:
        connection.close()

"""What a build of the engine brings to a file: the version of its tables, SQL files, migrations and personas.

From these a fresh file is made once, in memory, and kept in the user's cache; a new file is a copy of it, and the views,
triggers and tables of a file are compared with its own. What a file says of itself counts for nothing here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files

import apsw

from . import images, plugins, texts
from .objects import Object, objects_of
from .registration import register

APPLICATION_ID = 0x454E474E
"""The mark of an engine file in its header: 'ENGN'."""

VERSION = 2
"""The version of the tables; migrations lead from one to the next."""

BOOTSTRAP = """
create table if not exists engine_meta (key text primary key, value text not null) strict, without rowid;
create table if not exists engine_objects (
    name text primary key,
    type text not null constraint engine_objects_type check (type in ('view', 'trigger'))
) strict, without rowid;
"""


@dataclass(frozen=True)
class Build:
    """What makes a file: the version of its tables, the SQL files in load order, the migrations and the personas.

    Migrations are (version, SQL); the first holds the tables of version 1 and is run on no file: files of that version are
    compared with it.
    """

    version: int
    sources: tuple[tuple[str, str], ...]
    migrations: tuple[tuple[int, str], ...]
    personas: tuple[tuple[str, str], ...]

    @cached_property
    def hash(self) -> str:
        """The SHA-256 (hex) of all that the build brings, the migrations left out: a fresh file needs none."""
        digest = hashlib.sha256()
        for name, text in (("", BOOTSTRAP), *self.sources, *self.personas):
            digest.update(f"{name}\0{text}\0".encode())
        return digest.hexdigest()

    @cached_property
    def fresh(self) -> images.Fresh:
        """A fresh file of this build, from the cache or made now."""
        key = f"{self.version}-{self.hash}"
        found = images.kept(key)
        if found is None:
            found = self._made()
            images.keep(key, found)
        return found

    def write_rules(self, connection: apsw.Connection) -> None:
        """Run the SQL files: tables that are not there, seeds, views and triggers. Those of before have to be gone."""
        drain(connection, BOOTSTRAP)
        for _, text in self.sources:
            drain(connection, text)
        connection.execute("delete from engine_objects").fetchall()
        connection.executemany(
            "insert into personas (name, body) values (?, ?) on conflict (name) do update set body = excluded.body",
            self.personas,
        )
        connection.execute("delete from engine_meta where key = 'objects'").fetchall()
        connection.execute(
            "insert into engine_meta (key, value) values ('sources', ?) "
            "on conflict (key) do update set value = excluded.value",
            (self.hash,),
        ).fetchall()

    def expected_in(self, version: int) -> dict[str, Object]:
        """What a file of `version` is to hold, by names in small letters: its tables, and the rules of this build.

        Tables of plugins have no versions; they are those that no migration leads to.
        """
        if version == self.version:
            return self.fresh.by_name
        own = {found.name.lower() for found in self.migrated_tables(self.version)}
        others = {name: found for name, found in self.fresh.by_name.items() if found.is_rule or name not in own}
        return {found.name.lower(): found for found in self.migrated_tables(version)} | others

    def migrated_tables(self, version: int) -> list[Object]:
        """The tables and indexes of version 1 after its migrations up to `version`."""
        with closing(_in_memory()) as connection:
            connection.execute("pragma foreign_keys = off").fetchall()
            drain(connection, BOOTSTRAP)
            for number, text in self.migrations:
                if number <= version:
                    drain(connection, text)
            return [found for found in objects_of(connection) if not found.is_rule]

    def columns(self, tables: Iterable[str]) -> frozenset[tuple[str, str]]:
        """Table and name of each column that those tables have in a fresh file."""
        with closing(apsw.Connection(":memory:")) as connection:
            self.fresh.copy_to(connection)
            return columns_of(connection, tables)

    def _made(self) -> images.Fresh:
        with closing(_in_memory()) as connection:
            self.write_rules(connection)
            note_rules(connection, objects_of(connection))
            connection.execute(f"pragma application_id = {APPLICATION_ID}").fetchall()
            connection.execute(f"pragma user_version = {self.version}").fetchall()
            objects = tuple(sorted(objects_of(connection)))
            image = bytearray(connection.serialize("main"))
        image[18:20] = b"\2\2"  # the header's mark of a file in WAL mode; a database in memory cannot have it
        return images.Fresh(bytes(image), objects)


@cache
def installed() -> Build:
    """The build that is installed here, with its plugins."""
    folder = files("engine.sql")
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    own = tuple((name, (folder / name).read_text("utf-8")) for name in names)
    changes = folder / "migrations"
    found = sorted(entry.name for entry in changes.iterdir() if entry.name.endswith(".sql"))
    migrations = tuple((int(name[:3]), (changes / name).read_text("utf-8")) for name in found)
    return Build(VERSION, (*own, *plugins.sql_files()), migrations, texts.personas())


def drain(connection: apsw.Connection, sql: str) -> None:
    """Run all statements of a script of ours; an undrained cursor would stop at the first row."""
    for _ in connection.execute(sql):
        pass


def note_rules(connection: apsw.Connection, objects: Iterable[Object]) -> None:
    """Keep in `engine_objects` which views and triggers are the engine's: a later build takes them away by it."""
    connection.executemany(
        "insert into engine_objects (type, name) values (?, ?)",
        [(each.type, each.name) for each in objects if each.is_rule],
    )


def columns_of(connection: apsw.Connection, tables: Iterable[str]) -> frozenset[tuple[str, str]]:
    """Table and name of each column of those tables that are there."""
    return frozenset(
        (table, str(column))
        for table in tables
        for (column,) in connection.execute("select name from pragma_table_info(?)", (table,))
    )


def _in_memory() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    register(connection)
    return connection

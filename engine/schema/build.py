"""The parts of a build that make a file: the version of its tables, SQL files, migrations and personas.

A build makes one fresh file from them, in memory, and keeps it in the user's cache. A new file is a copy of it, and the
objects of an existing file are compared with those in it.

spec: @file_format
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from contextlib import closing
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple

import apsw

from engine import plugins, texts
from engine.schema.registration import register

from . import images
from .modules import MODULES_TABLE, Files, Module, Steps, compose, in_order, module_of, note_modules, owners
from .objects import Object, fingerprint, objects_of
from .plugin_files import compile_uses, parted, run_files

APPLICATION_ID = 0x454E474E
"""The mark of an engine file in its header: 'ENGN'."""

VERSION = 6
"""The version of the tables; a migration leads from each version to the next. It is the first version that files keep."""

_MIGRATIONS = "migrations"
BOOTSTRAP = f"""
create table if not exists engine_meta (key text primary key, value text not null) strict, without rowid;
create table if not exists engine_objects (
    name text primary key,
    type text not null constraint engine_objects_type check (type in ('view', 'trigger'))
) strict, without rowid;
create table if not exists {MODULES_TABLE};
"""


class _Parts(NamedTuple):
    version: int
    sources: Files
    migrations: Steps
    personas: Files
    plugins: Files = ()
    modules: tuple[Module, ...] = ()
    offered: tuple[Module, ...] = ()


class Build(_Parts):
    """The version of the tables, the SQL files of the core in load order, the migrations, the personas, the SQL files of
    plugins, the modules that a file has, and those that it may take in.

    The first SQL file makes the tables about the file itself. While the tables have only one version, there are no
    migrations. The first holds the tables of the oldest version that can be opened: files of that version are compared
    with it, and it is never run on a file. A module has migrations of its own tables.
    """

    def having(self, names: Iterable[str]) -> Build:
        """This build for a file that has those modules, and what they need; other names count for nothing."""
        offered = {module.name: module for module in self.offered}
        modules = in_order(offered, offered.keys() & set(names))
        return self._subsets.setdefault(modules, self._replace(modules=modules) if modules != self.modules else self)

    @property
    def core(self) -> Build:
        """This build for a new file, which has no module."""
        return self.having(())

    @cached_property
    def _subsets(self) -> dict[tuple[Module, ...], Build]:
        return {}

    @cached_property
    def owners(self) -> dict[str, str]:
        """The module of each object that a module makes, by its name in small letters, whether a file has it or not."""
        return owners(self.offered)

    @cached_property
    def all_sources(self) -> Files:
        """The SQL files of the core and of the modules in load order."""
        return (*self.sources, *(file for module in self.modules for file in module.files))

    @cached_property
    def steps(self) -> Steps:
        """The migrations of the core and of the modules by version, in each version the core's first."""
        steps = [*self.migrations, *(step for module in self.modules for step in module.migrations)]
        return tuple(sorted(steps, key=lambda step: step[0]))

    @property
    def oldest(self) -> int:
        """The oldest version of a file that this build can bring to its own."""
        return min((number for number, _ in self.migrations), default=self.version)

    @cached_property
    def hash(self) -> str:
        """The SHA-256 (hex) of all SQL files and personas; a fresh file needs no migrations."""
        digest = hashlib.sha256()
        for name, text in (*self.all_sources, *self.plugins, *self.personas):
            digest.update(f"{name}\0{text}\0".encode())
        return digest.hexdigest()

    @cached_property
    def fresh(self) -> images.Fresh:
        """A fresh file of this build, from the cache or made now."""
        found = images.kept(self._key)
        if found is None:
            found = self._made()
            images.keep(self._key, found)
        return found

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of the objects of a fresh file."""
        found = images.kept_fingerprint(self._key)
        if found is None:
            found = fingerprint(self.fresh.objects)
            images.keep_fingerprint(self._key, found)
        return found

    @property
    def _key(self) -> str:
        return f"{self.version}-{self.hash}"

    def write_rules(self, connection: apsw.Connection, *, is_first: bool = False) -> None:
        """Run the SQL files: missing tables, seeds, views and triggers. Older views and triggers must have been dropped.

        With `is_first`, what plugins made is compiled: not in a file, where a trigger of an app on the same table may call
        what the app has not registered yet.
        """
        for _, text in self.sources:
            drain(connection, text)
        made: dict[Object, str] = {}
        for module in self.modules:
            made |= run_module(connection, module)
        compose(connection, self.modules)
        made |= run_files(connection, self.plugins)
        if is_first:
            compile_uses(connection, made)
        note_modules(connection, self.modules)
        connection.execute("delete from engine_objects").fetchall()
        connection.executemany(
            "insert into personas (name, body) values (?, ?) "
            "on conflict (name) do update set body = excluded.body where origin = 'engine'",
            self.personas,
        )
        connection.execute("delete from engine_meta where key = 'objects'").fetchall()
        self.note(connection)

    def note(self, connection: apsw.Connection) -> None:
        """Write down in a file that its rules are those of this build."""
        connection.execute(
            "insert into engine_meta (key, value) values ('sources', ?) "
            "on conflict (key) do update set value = excluded.value",
            (self.hash,),
        ).fetchall()

    def expected_in(self, version: int) -> dict[str, Object]:
        """The objects that a file of `version` must have, by names in small letters: its tables and this build's rules.

        Tables of plugins, and of modules that never changed, have no versions: they are the tables of a fresh file that no
        migration makes.
        """
        if version == self.version:
            return self.fresh.by_name
        own = {found.name.lower() for found in self.migrated_tables(self.version)}
        others = {name: found for name, found in self.fresh.by_name.items() if found.is_rule or name not in own}
        return {found.name.lower(): found for found in self.migrated_tables(version)} | others

    def migrated_tables(self, version: int) -> list[Object]:
        """The engine's tables and indexes in a file of `version`: those of the oldest one after its migrations."""
        if version < self.oldest:
            return []
        if not self.migrations:
            return [found for found in self._replace(plugins=()).fresh.objects if not found.is_rule]
        with closing(_in_memory()) as connection:
            connection.execute("pragma foreign_keys = off").fetchall()
            drain(connection, BOOTSTRAP)
            for number, text in self.steps:
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
            self.write_rules(connection, is_first=True)
            note_rules(connection, objects_of(connection))
            connection.execute("insert into engine_meta (key, value) values ('mark', ?)", (images.NO_MARK,)).fetchall()
            connection.execute(f"pragma application_id = {APPLICATION_ID}").fetchall()
            connection.execute(f"pragma user_version = {self.version}").fetchall()
            objects = tuple(sorted(objects_of(connection)))
            image = bytearray(connection.serialize("main"))
        image[18:20] = b"\2\2"  # the header's mark of a file in WAL mode; a database in memory cannot have it
        return images.Fresh(bytes(image), objects)


@cache
def installed() -> Build:
    """The build that is installed here, with its plugins."""
    build = without_plugins()
    always, on_demand = parted(plugins.sql_files(), {module.name for module in build.offered})
    modules = {module.name: module for module in build.offered} | on_demand
    offered = in_order(modules, modules)
    return build._replace(plugins=always, modules=offered, offered=offered)


@cache
def without_plugins() -> Build:
    """The installed build without its plugins."""
    folder = texts.folder_of("engine.sql")
    folders = {each.name: each for each in folder.iterdir() if each.is_dir()}
    files = {name: _sql_files(each) for name, each in folders.items() if name != _MIGRATIONS}
    found = {name: module_of(name, of_it) for name, of_it in files.items() if of_it}
    modules = {name: module._replace(migrations=_migrations(folders[name])) for name, module in found.items() if module}
    core = [file for name, of_it in files.items() if name not in modules for file in of_it]
    offers = [file for module in modules.values() for file in module.offers]
    offered = in_order(modules, modules)
    sources = (("", BOOTSTRAP), *sorted([*core, *offers]))
    return Build(VERSION, sources, _migrations(folder), texts.personas(), (), offered, offered)


def _migrations(folder: Path) -> Steps:
    """The migrations in the folder of that name below the core's or a module's."""
    steps = folder / _MIGRATIONS
    return tuple((int(name[:3]), text) for name, text in _sql_files(steps)) if steps.is_dir() else ()


def run_module(connection: apsw.Connection, module: Module) -> dict[Object, str]:
    """Run the files of a module; returns the views and triggers that one of a plugin made, each with its file."""
    if module.of_plugin:
        return run_files(connection, module.files)
    for _, text in module.files:
        drain(connection, text)
    return {}


def _sql_files(folder: Path) -> Files:
    """The names and texts of the SQL files in a folder, by name."""
    return tuple(
        sorted((entry.name, entry.read_bytes().decode()) for entry in folder.iterdir() if entry.name.endswith(".sql"))
    )


def drain(connection: apsw.Connection, sql: str) -> None:
    """Run all statements of a script; apsw stops at the first row unless the cursor is read to its end."""
    for _ in connection.execute(sql):
        pass


def note_rules(connection: apsw.Connection, objects: Iterable[Object]) -> None:
    """Record in `engine_objects` which views and triggers are the engine's: a later build drops those."""
    connection.executemany(
        "insert into engine_objects (type, name) values (?, ?)",
        [(each.type, each.name) for each in objects if each.is_rule],
    )


def columns_of(connection: apsw.Connection, tables: Iterable[str]) -> frozenset[tuple[str, str]]:
    """Table and name of each column of those of `tables` that exist."""
    return frozenset(
        (table, str(column))
        for table in tables
        for (column,) in connection.execute("select name from pragma_table_info(?)", (table,))
    )


def _in_memory() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    register(connection)
    return connection

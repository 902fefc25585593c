"""Takes modules into a file that is open for writing, inside the transaction that needs them."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from engine.errors import Conflict

from .build import run_module
from .modules import compose, note_modules, owners
from .objects import Object, objects_of
from .update import build_of


def install(connection: apsw.Connection, names: Iterable[str]) -> None:
    """Take modules into a file, with what they need; nothing happens for those that it has.

    The caller has begun a transaction that writes, and rolls it back where this fails. Raises `Conflict` (409) for a file
    whose rules another build has written, and for one in which somebody else's object has the name of one of a module;
    `ValidationError` (400) for a plugin's module that is wrong, with the name of its file.
    """
    before = build_of(connection)
    after = before.having({*(module.name for module in before.modules), *names})
    new = [module for module in after.modules if module not in before.modules]
    if not new:
        return
    if connection.execute("select value from engine_meta where key = 'sources'").get != before.hash:
        raise Conflict(f"{connection.filename}: another version of the engine has changed the file; open it again")
    found = set(objects_of(connection))
    _refuse_others(connection.filename, found, owners(new))
    if any(module.of_plugin for module in new):
        _ = after.fresh  # that it works is seen there
    for module in new:
        run_module(connection, module)
    compose(connection, after.modules)
    note_modules(connection, new)
    connection.executemany(
        "insert into engine_objects (type, name) values (?, ?) on conflict do nothing",
        [(each.type, each.name) for each in objects_of(connection) if each.is_rule and each not in found],
    )
    after.note(connection)


def _refuse_others(file: str, found: Iterable[Object], names: Iterable[str]) -> None:
    taken = sorted(str(each) for each in found if each.name.lower() in names)
    if taken:
        raise Conflict(f"{file}: contains {taken[0]}, a name that the engine needs; rename it, then try again")

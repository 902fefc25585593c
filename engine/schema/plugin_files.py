"""Runs the SQL files of plugins, and compiles what they have made.

SQLite takes a view or a trigger that names what there is not, and tells of it at its first use: in the middle of a run, and
without its name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

import apsw

from engine.errors import EngineError, ValidationError

from .modules import Files, Module, module_of
from .objects import Object, normalized, objects_of, quoted

_EVENT = re.compile(r"\b(insert|update|delete)(?: of .+?)? on ", re.IGNORECASE)
"""The event of a trigger, in its definition without comments."""


def parted(files: Iterable[tuple[str, str]], offered: Collection[str]) -> tuple[Files, dict[str, Module]]:
    """The files of plugins that are run in each file, and their modules: a file whose head says what it needs is one, called
    as the file is. `offered` are the modules of the engine.

    Raises ValidationError for the name of another module, for a need that is no module, and for a circle of needs.
    """
    always: list[tuple[str, str]] = []
    modules: dict[str, Module] = {}
    for file, text in files:
        name = file.removesuffix(".sql")
        module = module_of(name, ((file, text),))
        if module is None:
            always.append((file, text))
        elif name in offered or name in modules or not name.isidentifier():
            why = "there is another module of that name" if name.isidentifier() else "a module has a name as in SQL"
            raise ValidationError(f"{file}, the SQL file of a plugin: {why}; rename it")
        else:
            modules[name] = module._replace(of_plugin=True)
    for name, module in modules.items():
        for need in module.needs:
            if need not in offered and need not in modules:
                raise ValidationError(
                    f"{name}.sql, the SQL file of a plugin: needs {need!r}, but there is no such module"
                )
    try:
        TopologicalSorter({name: module.needs for name, module in modules.items()}).prepare()
    except CycleError as error:
        circle = ", ".join(error.args[1])
        raise ValidationError(f"SQL files of plugins: these files need each other in a circle: {circle}") from None
    return tuple(always), modules


def run_files(connection: apsw.Connection, files: Iterable[tuple[str, str]]) -> dict[Object, str]:
    """Run the SQL files (name, text) of plugins; returns the views and triggers that they made, each with its file.

    Raises ValidationError with the name of the file where a statement fails; the caller rolls back.
    """
    made: dict[Object, str] = {}
    for name, text in files:
        before = set(objects_of(connection))
        _run(connection, name, text)
        made |= {each: name for each in objects_of(connection) if each.is_rule and each not in before}
    return made


def compile_uses(connection: apsw.Connection, made: Mapping[Object, str]) -> None:
    """Compile a use of each view and trigger that `run_files` made, in a file that holds nothing of an app.

    Raises ValidationError with the name of the file where one cannot be compiled.
    """
    # a later file may have dropped what an earlier one made
    for each in [each for each in objects_of(connection) if each in made]:
        _run(connection, made[each], f"explain {_use(connection, each)}", f"{each}: ")


def _run(connection: apsw.Connection, name: str, sql: str, what: str = "") -> None:
    try:
        for _ in connection.execute(sql):
            pass
    except (apsw.SQLError, apsw.ConstraintError, apsw.MismatchError, EngineError) as error:
        raise ValidationError(
            f"{name}, the SQL file of a plugin: {what}{error}; correct it or remove the plugin, nothing was changed"
        ) from error


def _use(connection: apsw.Connection, rule: Object) -> str:
    """A query of a view, or a write that sets a trigger off."""
    # names of objects and columns, quoted
    if rule.type == "view":
        return f"select * from {quoted(rule.name)}"  # noqa: S608
    table = quoted(rule.table)
    columns = [quoted(name) for (name,) in connection.execute("select name from pragma_table_info(?)", (rule.table,))]
    event = _EVENT.search(normalized(rule.sql))
    match event and event[1].lower():
        case "insert":
            return f"insert into {table} ({columns[0]}) values (null)"  # noqa: S608
        case "update":
            return f"update {table} set {', '.join(f'{column} = {column}' for column in columns)}"  # noqa: S608
        case _:
            return f"delete from {table}"  # noqa: S608

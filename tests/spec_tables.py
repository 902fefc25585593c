"""The tables of the contract that are made from what they describe, in Markdown.

They are called in comments that Cog reads: `make spec` writes the tables anew, `make check` says where they differ.
"""

from __future__ import annotations

import atexit
import inspect
import re
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import engine
from engine.cli.main import command_line
from engine.functions.catalogue import Late, own_functions
from engine.functions.limits import LIMITS
from engine.rpc.methods import METHODS, NOTIFICATIONS, Method
from engine.schema.build import installed
from tests.record_guards import RECORD, sql_files
from tests.rooms import ROOT, rooms

PROMISE = re.compile(r"\bas\n((?:--[^\n]*\n)+)")
LEFT_OUT = {"--db", "--help"}
"""Options that all commands have, which the text says once."""


@cache
def database() -> engine.Database:
    """A fresh database, gone when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="spec-")
    db = engine.open(Path(folder.name) / "spec.db")
    db.install(*(module.name for module in installed().offered))
    atexit.register(folder.cleanup)
    atexit.register(db.close)
    return db


def _cell(value: object) -> str:
    """A value as Markdown shows it inside a table."""
    text = "" if value is None else str(value)
    return text if text.startswith("`") else text.replace("|", r"\|").replace("<", r"\<")


def _code(value: object) -> str:
    return "" if value is None else f"`{value}`"


def table(head: str, rows: Iterable[Iterable[object]]) -> str:
    """A table with the columns that `head` names, separated by commas."""
    titles = [title.strip() for title in head.split(",")]
    lines = [titles, ["---"] * len(titles), *([_cell(value) for value in row] for row in rows)]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def query(head: str, sql: str) -> str:
    """The rows of a query as a table, the first column in code."""
    rows = (list(row.values()) for row in database().rows(sql))
    return table(head, ([_code(first), *rest] for first, *rest in rows))


def statuses() -> str:
    """The HTTP statuses that the engine uses."""
    return query("status, name, meaning", "select code, name, meaning from statuses order by code")


def states() -> str:
    """The states of entries, commands and proposals."""
    return query(
        "state, status, meaning",
        "select name, coalesce(status, 'that of its outcome'), meaning from states order by coalesce(status, 999), name",
    )


def limits() -> str:
    """The limits of time and memory, by their names in `functions/limits.py`."""
    rows = (
        (
            _code(limit.name),
            f"{limit.value:,g}" if limit.value < 10**6 else f"{limit.value:,}",
            limit.unit,
            limit.holds_for,
        )
        for limit in LIMITS
    )
    return table("limit, value, unit, of", rows)


def outcomes() -> str:
    """Why something failed, and whether that is a strike."""
    return query(
        "outcome, status, strikes, meaning",
        "select name, status, case strikes when 1 then 'yes' else 'no' end, meaning from outcomes "
        "order by strikes, status, name",
    )


def _number(value: float) -> str:
    return f"{value:g}"


def _values(kind: str, least: float | None, most: float | None) -> str:
    """What a setting or an option may be, in words."""
    name = {"whole": "whole number", "flag": "0 or 1"}.get(kind, kind)
    if kind == "text" and most is not None:
        return f"text of at most {most:,.0f} bytes"
    if least is not None and most is not None:
        return f"{name}, {_number(least)} to {_number(most)}"
    return name if least is None else f"{name}, at least {_number(least)}"


def settings() -> str:
    """The settings with their defaults."""
    rows = database().rows("select * from settings order by name")
    return table(
        "setting, default, value, meaning",
        (
            (
                _code(row["name"]),
                row["value"] or "–",
                _values(row["kind"], row["least"], row["most"]),
                row["meaning"],
            )
            for row in rows
        ),
    )


def run_options() -> str:
    """What attributes of run://alias may say."""
    rows = database().rows("select * from run_options order by scope, name")
    return table(
        "option, of the, value, meaning",
        (
            (_code(row["name"]), row["scope"], _values(row["kind"], row["least"], row["most"]), row["meaning"])
            for row in rows
        ),
    )


def schemes() -> str:
    """The kinds of entries."""
    return query(
        "scheme, category, scope, visibility, written by, and, meaning",
        """
        select
            s.name, s.category, s.default_scope, s.default_visibility,
            (select group_concat(value, ', ') from (select value from json_each(s.writable_by) order by value)),
            rtrim(
                case s.model_visible when 0 then 'not for the model, ' else '' end
                || case s.searchable when 1 then 'searchable, ' else '' end
                || case s.gated when 1 then 'gated, ' else '' end, ', '
            ),
            s.meaning
        from schemes as s
        order by s.category, s.name
        """,
    )


def tools() -> str:
    """The tools in the order in which the model is told of them."""
    return query(
        "tool, modes, hidden by, gathers, reads, meaning",
        """
        select
            t.name,
            (select group_concat(value, ', ') from json_each(t.modes)),
            (select group_concat(value, ', ') from json_each(t.hidden_by)),
            case t.gathers when 1 then 'yes' else '' end,
            case t.reads when 1 then 'yes' else '' end,
            t.meaning || case t.advertised when 1 then '' else '; not advertised' end
        from tools as t
        order by t.ordinal
        """,
    )


def record() -> str:
    """The tables of the record: what never changes, and when the rest does."""
    return table(
        "table, never changes, changes while, changes",
        (
            (
                _code(kept.name),
                ", ".join(kept.fixed),
                "; ".join(f"{', '.join(names.split())}: `{_condition(where)}`" for names, where in kept.may),
                ", ".join(kept.free.split()),
            )
            for kept in RECORD
        ),
    )


def _condition(where: str) -> str:
    """The condition of a guard on one line, columns as they were without a prefix."""
    return " ".join(where.split()).replace("old.", "")


def transitions(of: str) -> str:
    """The changes that a run, a loop or a turn may make."""
    if of == "turn":
        sql = """
            select p.name, p.meaning, group_concat(t.to_phase, ', ')
            from turn_phases as p
            left join (select * from turn_transitions order by to_phase) as t on t.from_phase = p.name
            group by p.name
            order by instr('assembling asking answered dispatching voting judged', p.name)
        """
        return query("phase, meaning, may go to", sql)
    sql = f"""
        select t.from_status || ' ' || s.name, group_concat(t.target, ', ')
        from (
            select f.from_status, f.to_status || ' ' || o.name as target
            from {of}_transitions as f
            join statuses as o on o.code = f.to_status
            order by f.to_status
        ) as t
        join statuses as s on s.code = t.from_status
        group by t.from_status
        order by t.from_status
    """
    return table(f"{of}, may go to", (list(row.values()) for row in database().rows(sql)))


def model_failures() -> str:
    """What a failed call of a model means for its loop."""
    return query(
        "status, the loop ends at, meaning",
        "select status, coalesce(loop_status, '–'), meaning from model_failures order by status",
    )


def sections() -> str:
    """What packets are made of."""
    return query(
        "section, profile, role, ordinal, cached",
        "select name, profile, role, ordinal, case cached when 1 then 'yes' else '' end from packet_sections "
        "order by profile desc, role, ordinal",
    )


def promise(view: str) -> str:
    """The comment that stands inside the `create` of a view."""
    found = PROMISE.search(database().value("select sql from sqlite_schema where name = ?", (view,)))
    assert found, f"{view} does not say in its create what it promises"
    return " ".join(line.removeprefix("--").strip() for line in found[1].splitlines())


def views(*names: str, columns: bool = True) -> str:
    """Views and doors with their columns, unless the text has them, and their promises."""
    return "\n" + "".join(
        f"- `{name}`{f' ({_columns(name)})' if columns else ''}: {_cell(promise(name))}\n" for name in names
    )


def _columns(view: str) -> str:
    rows = database().rows("select name from pragma_table_info(?) order by cid", (view,))
    return ", ".join(_code(row["name"]) for row in rows)


def invariants() -> str:
    """The views that return a row for each broken rule."""
    names = database().rows(
        "select name from sqlite_schema where name glob '_invariant_*' and instr(sql, ' as' || char(10) || '--') "
        "order by rowid"
    )
    return table("view, what holds", ((_code(row["name"]), promise(row["name"])) for row in names))


def functions() -> str:
    """The pure functions with the first line of their docstrings."""
    rows = sorted((row.name, row.call.function) for row in own_functions() if isinstance(row.call, Late))
    return table("function, result", ((_signature(name, call), _first_line(call)) for name, call in rows))


def _signature(name: str, call: Any) -> str:
    return _code(f"{name}({', '.join(inspect.signature(call).parameters)})")


def _first_line(call: Any) -> str:
    text = (inspect.getdoc(call) or "").split("\n\n")[0]
    return " ".join(text.split()).replace("``", "`")


def commands() -> str:
    """The commands of the command line with their arguments and options."""
    return table("command, what it does, options", _commands(command_line(), "engine"))


def _commands(group: Any, name: str) -> Iterator[tuple[str, str, str]]:
    context: Any = None  # what click asks for, and these groups do not need
    for word in group.list_commands(context):
        command = group.get_command(context, word)
        called = f"{name} {word}"
        yield _code(" ".join([called, *_arguments(command)])), command.get_short_help_str(200), _options(command)
        if hasattr(command, "list_commands"):
            yield from _commands(command, called)


def _arguments(command: Any) -> list[str]:
    found = [item for item in command.params if item.param_type_name == "argument"]
    return [item.metavar if item.required else f"[{item.metavar}]" for item in found]


def _options(command: Any) -> str:
    found = [item for item in command.params if item.param_type_name == "option" and not LEFT_OUT & set(item.opts)]
    return ", ".join(_option(item) for item in found)


def _option(option: Any) -> str:
    names = " / ".join([*option.opts, *option.secondary_opts])
    return _code(names if option.is_flag else f"{names} {option.metavar}")


def list_of_rooms() -> str:
    """The parts of the contract that lie beside the code, each with its first sentence; modules are marked."""
    modules = {module.name for module in installed().offered}
    rows = []
    for room in rooms()[1:]:
        title, _, rest = room.read_text(encoding="utf-8").removeprefix("# ").partition("\n\n")
        place = room.relative_to(ROOT)
        mark = "yes" if place.parts[0] == "sql" and place.parts[1] in modules else ""
        rows.append((f"`{place.parent}`", f"[{title}]({place})", rest.partition("\n")[0], mark))
    return table("folder, contract, what it is about, module", rows)


def rpc_methods() -> str:
    """The methods of the RPC server with their params, those that may be left out in brackets."""
    return table("method, what it does, params", ((_code(each.name), each.meaning, _params(each)) for each in METHODS))


def _params(method: Method) -> str:
    named = [param.name if param.required else f"[{param.name}]" for param in method.params]
    return ", ".join([_code(", ".join(named)), *(["options of a run"] if method.takes_options else [])])


def rpc_notifications() -> str:
    """What the RPC server tells its clients."""
    return table("notification, what it says", ((_code(name), meaning) for name, meaning in NOTIFICATIONS))


def events() -> str:
    """The kinds of events that the SQL files write."""
    text = "".join(path.read_text(encoding="utf-8") for path in sql_files())
    kinds = set(
        re.findall(
            r"'((?:acceptance|answer|context|embedder|entry|job|loop|proposal|run|sandbox|thread|turn|workflow)\.[a-z]+)'",
            text,
        )
    ) | {f"proposal.{state}" for state in ("accepted", "failed", "resolved", "cancelled")}
    return "\n" + ", ".join(_code(kind) for kind in sorted(kinds)) + "\n"

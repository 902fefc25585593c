"""Divides a query over many files: what SQLite answers in each file, and what DuckDB makes of it all.

Each view that the query names is one `Source`. Conditions and expressions over the columns of one view are left to SQLite,
which reads the query's own words: text functions, dates, patterns and JSON mean what they mean in one file. DuckDB is left
with joins, groups, aggregates, windows and order, in its own dialect.

spec: @fleet_sql
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import apsw
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope

from engine.errors import NotFound, Overflow, ValidationError
from engine.functions import limits
from engine.schema.build import installed
from engine.schema.registration import register

logging.getLogger("sqlglot").addHandler(logging.NullHandler())

FILE = "file"
"""The column that says from which file a row is. A view's own column of that name is `file_2`."""
_CONSTANT = ("date(", "time(", "datetime(", "strftime(", "julianday(", "unixepoch(", "current_", "printf(", "format(")
_AGGREGATES = frozenset({"total", "json_group_array", "json_group_object", "string_agg"})
_PARTED = (exp.Query, exp.AggFunc, exp.Window, exp.Star, exp.Collate)
"""What an expression must not hold to be one row's own."""

Value = str | int | float | bytes | None
Node = Any
"""A node of sqlglot's tree."""


@dataclass
class Source:
    """A view as the query uses it in one place: what each file is asked for, and the columns that come back."""

    view: str
    name: str
    """The name of the table that DuckDB gets."""
    alias: str
    columns: Mapping[str, str]
    """The columns of the view with the file's, and the words that read them."""
    is_nullable: bool = False
    """Whether an outer join makes rows of nulls beside its own."""
    wanted: dict[str, str] = field(default_factory=dict)
    filters: list[str] = field(default_factory=list)

    @property
    def sql(self) -> str:
        """The statement for one file; its one parameter is the file's name."""
        inner = ", ".join(f"{words} as {_quoted(name)}" for name, words in self.columns.items())
        outer = ", ".join(f"{words} as {_quoted(name)}" for name, words in self.wanted.items()) or "1 as _row"
        where = f" where {' and '.join(f'({each})' for each in self.filters)}" if self.filters else ""
        return f"select {outer} from (select {inner} from {_quoted(self.view)}) as {_quoted(self.alias)}{where}"  # noqa: S608

    @property
    def names(self) -> list[str]:
        """The names of the columns that come back."""
        return list(self.wanted) or ["_row"]

    def computed(self, words: str) -> str:
        """The column that holds an expression."""
        known = next((name for name, each in self.wanted.items() if each == words), None)
        name = known or f"_{len(self.wanted)}"
        self.wanted[name] = words
        return name


class Plan:
    """A query that is divided. Raises `ValidationError` (400) for one that cannot be read, or is no query."""

    def __init__(self, query: str, bindings: Sequence[Value] | Mapping[str, Value] = ()) -> None:
        if len(query) > limits.SQL_TEXT_BYTES:
            raise Overflow(f"the query has more than {limits.SQL_TEXT_BYTES:,} characters; narrow it")
        self.sources: list[Source] = []
        tree = _bound(_parsed(query), bindings)
        _name_columns(tree)
        try:
            self._tree = qualify(tree, schema=_schema(), dialect="sqlite")
        except SqlglotError as error:
            raise ValidationError(_said(error)) from None
        except RecursionError:
            raise ValidationError("the query is nested too deeply; simplify it") from None
        self._fold()
        for scope in list(traverse_scope(self._tree)):
            if isinstance(scope.expression, exp.Select):
                self._divide(scope)

    def final(self, types: Mapping[str, Mapping[str, str]]) -> str:
        """The query for DuckDB, over tables with these columns and types (`BIGINT`, `DOUBLE`, `VARCHAR`, `BLOB`)."""
        tree = annotate_types(self._tree.copy(), schema={name: dict(each) for name, each in types.items()})
        return str(tree.transform(_for_duckdb).sql(dialect="duckdb"))

    def _divide(self, scope: Scope) -> None:
        select: Node = scope.expression
        nullable = _nullable(select)
        own: dict[str, Source] = {}
        for alias, (_, source) in scope.selected_sources.items():
            if isinstance(source, exp.Table):
                own[alias] = made = self._source(source, alias)
                made.is_nullable = alias in nullable
                source.set("this", exp.to_identifier(made.name, quoted=True))
                for column in select.find_all(exp.Column):
                    if column.table == alias and column.name in made.columns:
                        column.meta["source"] = made
        self._push(select, own)
        _compute(select, own)
        for column in select.find_all(exp.Column):
            owner: Source | None = column.meta.get("source")
            if owner is not None and column.name in owner.columns:
                owner.wanted.setdefault(column.name, f"{_quoted(owner.alias)}.{_quoted(column.name)}")

    def _source(self, table: exp.Table, alias: str) -> Source:
        columns = _views().get(table.name.lower())
        if columns is None or table.db or not isinstance(table.this, exp.Identifier):
            raise NotFound(
                f"view {table.name or table.sql()[:60]!r}: no such view; 'engine sql --views' lists the views"
            )
        made = Source(table.name.lower(), f"_s{len(self.sources) + 1}", alias, columns)
        self.sources.append(made)
        return made

    def _push(self, select: Node, own: Mapping[str, Source]) -> None:
        """Let files answer the conditions of `where` that are about one view."""
        where = select.args.get("where")
        if where is None:
            return
        left = []
        for condition in where.this.unnest().flatten() if isinstance(where.this.unnest(), exp.And) else [where.this]:
            source = _owner(condition, own)
            if source is None or source.is_nullable:
                left.append(condition)
            else:
                source.filters.append(condition.sql(dialect="sqlite"))
        select.set("where", exp.Where(this=exp.and_(*left, copy=False)) if left else None)

    def _fold(self) -> None:
        """Put values in the place of functions of constants, such as datetime('now', '-7 days')."""
        with _memory() as connection:
            for node in list(self._tree.find_all(exp.Func)):
                words = node.sql(dialect="sqlite")
                if words.lower().startswith(_CONSTANT) and node.find(exp.Column, exp.Query) is None:
                    try:
                        value = connection.execute(f"select {words}").get
                    except apsw.Error as error:
                        raise ValidationError(f"{words[:100]}: {error}") from None
                    node.replace(_literal(value))


def _parsed(query: str) -> Node:
    try:
        found = [each for each in sqlglot.parse(query, read="sqlite") if each is not None]
    except SqlglotError as error:
        raise ValidationError(_said(error)) from None
    except RecursionError:
        raise ValidationError("the query is nested too deeply; simplify it") from None
    if len(found) != 1:
        raise ValidationError("give one statement" if found else 'the query is empty; try "select * from run_overview"')
    if not isinstance(found[0], exp.Query):
        raise ValidationError(f"only reading is allowed here: {found[0].key.upper()} is refused; give a select")
    return found[0]


def _bound(tree: Node, bindings: Sequence[Value] | Mapping[str, Value]) -> Node:
    """The query with values in the place of `?` and `:name`."""
    nodes = list(tree.find_all(exp.Placeholder, exp.Parameter, bfs=False))
    if isinstance(bindings, Mapping):
        for node in nodes:
            if node.name not in bindings:
                raise ValidationError(f"the query has a parameter :{node.name} without a value")
            node.replace(_literal(bindings[node.name]))
        return tree
    if len(nodes) != len(bindings):
        raise ValidationError(f"the query has {len(nodes)} parameters, and {len(bindings)} values were given")
    for node, value in zip(nodes, bindings, strict=True):
        node.replace(_literal(value))
    return tree


def _literal(value: Any) -> Node:
    match value:
        case None:
            return exp.Null()
        case bool() | int():
            return exp.Literal.number(int(value))
        case float():
            return exp.Literal.number(repr(value))
        case bytes():
            return exp.HexString(this=value.hex())
        case str():
            return exp.Literal.string(value)
    raise ValidationError(f"a value of the query is a {type(value).__name__}; give a text, a number, bytes or None")


def _name_columns(tree: Node) -> None:
    """Name the columns of the answer by their words, as SQLite does."""
    first = tree
    while isinstance(first, exp.SetOperation | exp.Subquery):
        first = first.this
    for each in list(first.expressions) if isinstance(first, exp.Select) else ():
        if not isinstance(each, exp.Alias | exp.Column | exp.Star):
            each.replace(exp.alias_(each.copy(), each.sql(dialect="sqlite"), quoted=True))


def _nullable(select: Node) -> set[str]:
    """The aliases of which an outer join makes rows of nulls: their expressions are not those of one file's rows."""
    found: set[str] = set()
    start = select.args.get("from_") or select.args.get("from")
    before = {start.this.alias_or_name} if start is not None else set()
    for join in select.args.get("joins") or ():
        name, side = join.this.alias_or_name, (join.side or "").upper()
        if side in ("LEFT", "FULL"):
            found.add(name)
        if side in ("RIGHT", "FULL"):
            found |= before
        before.add(name)
    return found


def _owner(node: Node, own: Mapping[str, Source]) -> Source | None:
    """The source whose rows alone decide an expression; None for one of several, of none, or of groups."""
    columns = list(node.find_all(exp.Column))
    if (
        not columns
        or node.find(*_PARTED)
        or any(each.name.lower() in _AGGREGATES for each in node.find_all(exp.Anonymous))
    ):
        return None
    source = own.get(columns[0].table)
    if source is None or any(each.meta.get("source") is not source for each in columns):
        return None
    return source


def _compute(node: Node, own: Mapping[str, Source]) -> None:
    """Put columns in the place of expressions that SQLite answers in each file."""
    for child in list(node.iter_expressions()):
        if isinstance(child, exp.Query | exp.With | exp.Column | exp.Table):
            continue
        is_value = isinstance(child, exp.Condition) and not isinstance(child, exp.If | exp.Literal | exp.Collate)
        source = _owner(child, own) if is_value else None
        if source is None:
            _compute(child, own)
        else:
            child.replace(_computed(child, source))


def _computed(node: Node, source: Source) -> Node:
    """The column of an expression; in a row of nulls, which no file has, the expression's value for nulls."""
    made = exp.column(source.computed(node.sql(dialect="sqlite")), table=source.alias, quoted=True)
    made.meta["source"] = source
    if not source.is_nullable:
        return made
    row = exp.column(source.computed("1"), table=source.alias, quoted=True)
    row.meta["source"] = source
    return exp.case().when(exp.Is(this=row, expression=exp.Null()), _literal(_for_nulls(node))).else_(made)


def _for_nulls(node: Node) -> Any:
    words = (
        node.copy().transform(lambda each: exp.Null() if isinstance(each, exp.Column) else each).sql(dialect="sqlite")
    )
    with _memory() as connection:
        try:
            return connection.execute(f"select {words}").get
        except apsw.Error as error:
            raise ValidationError(f"{words[:100]}: {error}") from None


def _for_duckdb(node: Node) -> Node:
    """What DuckDB reads otherwise than SQLite."""
    match node:
        case exp.Div() if node.left.is_type(*exp.DataType.INTEGER_TYPES) and node.right.is_type(
            *exp.DataType.INTEGER_TYPES
        ):
            return exp.IntDiv(this=node.this, expression=exp.func("nullif", node.expression, exp.Literal.number(0)))
        case exp.Mod():
            node.set("expression", exp.func("nullif", node.expression, exp.Literal.number(0)))
        case exp.Literal() if not node.is_string and not node.is_int:
            return exp.cast(node, "double")
        case exp.Like():
            return exp.ILike(this=node.this, expression=node.expression)
        case exp.Anonymous() if node.name.lower() == "total":
            inner = exp.Sum(this=exp.cast(node.expressions[0], "double"))
            return exp.func("coalesce", inner, exp.cast(exp.Literal.number(0), "double"))
    return node


@cache
def _views() -> Mapping[str, Mapping[str, str]]:
    """The engine's views that are there to be read, of all modules: the words that read each column, by its name."""
    build = installed()
    found: dict[str, dict[str, str]] = {}
    written_to = {each.table.lower() for each in build.fresh.objects if each.type == "trigger"}
    with _memory() as connection:
        build.fresh.copy_to(connection)
        for each in build.fresh.objects:
            name = each.name.lower()
            if each.type == "view" and not name.startswith("_") and name not in written_to:
                rows = connection.execute("select name from pragma_table_info(?)", (name,))
                columns = {("file_2" if column == FILE else column): _quoted(str(column)) for (column,) in rows}
                found[name] = {FILE: "?1", **columns}
    return found


@cache
def _schema() -> dict[str, object]:
    return {view: dict.fromkeys(columns, "text") for view, columns in _views().items()}


class _memory:  # noqa: N801 - a context manager
    """A database in memory with the engine's functions."""

    def __enter__(self) -> apsw.Connection:
        self._connection = apsw.Connection(":memory:")
        register(self._connection)
        return self._connection

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def _said(error: Exception) -> str:
    for each in getattr(error, "errors", None) or ():
        if each.get("line"):
            return f"{each['description']} (line {each['line']}, column {each['col']}); correct the statement"
    return f"{str(error).splitlines()[0][:300]}; 'engine sql --views' lists the views" if str(error) else "no query"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


__all__ = ["FILE", "Plan", "Source"]

"""`engine.analysis`: the views of many files as one table each, which queries read.

spec: @fleet_sql
"""

from __future__ import annotations

import glob
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.db.databases import databases_in
from engine.errors import EngineError, NotFound, ValidationError

from .reading import FileReport

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb
    import pyarrow

    from .planning import Plan, Value
    from .reading import Reader

Files = str | PathLike[str] | Iterable[str | PathLike[str]]
_SECONDS = 60.0
_THREADS = 4
_MAGIC = frozenset("*?[")


class Analysis:
    """Files whose views are read as one, with the column `file`. Nothing is kept open between two queries.

    `files` holds a `FileReport` for each file after a query: read, in use (and read), or left out with the reason.
    """

    def __init__(self, files: Files) -> None:
        self.paths: list[Path] = named_files([files] if isinstance(files, str | PathLike) else files)
        self.files: list[FileReport] = []

    def sql(
        self, query: str, bindings: Sequence[Value] | Mapping[str, Value] = (), *, seconds: float = _SECONDS
    ) -> list[dict[str, Any]]:
        """The rows of one query in SQLite's dialect, as dicts; raises what `arrow` raises."""
        return rows_of(self.arrow(query, bindings, seconds=seconds))

    def arrow(
        self, query: str, bindings: Sequence[Value] | Mapping[str, Value] = (), *, seconds: float = _SECONDS
    ) -> pyarrow.Table:
        """The answer to one query in SQLite's dialect, as an Arrow table.

        Raises `ValidationError` (400) or `PermissionDenied` (403) for a query that cannot be read or does more than read,
        `NotFound` (404) for a view that does not exist, and `EngineError`: 504 for a query that takes longer than `seconds`,
        500 if DuckDB or Arrow is not installed.
        """
        _expect_installed()
        from .planning import Plan

        plan = Plan(query, bindings)
        until = time.monotonic() + seconds
        from .columns import Table

        tables = [Table(source) for source in plan.sources]
        reports: dict[Path, FileReport] = {}
        lock = threading.Lock()

        def read(paths: Sequence[Path]) -> None:
            with closing(_reader(plan)) as reader:
                for path in paths:
                    if time.monotonic() > until:
                        raise _too_long(seconds)
                    report, rows = reader.read(path)
                    with lock:
                        reports[path] = report
                        for table, part in zip(tables, rows, strict=True):
                            table.add(part)

        threads = min(_THREADS, os.cpu_count() or 1, max(1, len(self.paths) // 8))
        if threads == 1:
            read(self.paths)
        else:
            size = -(-len(self.paths) // threads)
            parts = [self.paths[start : start + size] for start in range(0, len(self.paths), size)]
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(read, parts))
        self.files = [reports[path] for path in self.paths]
        return _answered(plan, tables, until, seconds)

    def left_out(self) -> list[FileReport]:
        """The files that the last query could not read."""
        return [each for each in self.files if each.state == "left out"]


def named_files(files: Iterable[str | PathLike[str]]) -> list[Path]:
    """The files that are named, those in folders and below them, and those that a pattern (`out/*.db`) matches.

    Raises `NotFound` (404) if there are none.
    """
    return list(dict.fromkeys(chain.from_iterable(_matched(os.fspath(each)) for each in files)))


def _matched(name: str) -> Iterable[Path]:
    path = Path(name)
    if path.exists() or not _MAGIC & set(name):
        return databases_in([path])
    matched = [Path(each) for each in sorted(glob.glob(name, recursive=True))]
    if not matched:
        raise NotFound(f"{name}: matches no file")
    # a link that leads nowhere is reported with the files that cannot be read
    return chain.from_iterable(databases_in([each]) if each.is_dir() else [each] for each in matched)


def rows_of(table: pyarrow.Table) -> list[dict[str, Any]]:
    """The rows of an Arrow table as dicts; the second column of a name gets a number."""
    columns = [column.to_pylist() for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _reader(plan: Plan) -> Reader:
    from .reading import Reader

    return Reader(plan.sources)


def _answered(plan: Plan, tables: Sequence[Any], until: float, seconds: float) -> pyarrow.Table:
    """DuckDB's answer over the tables that were read; it opens no file and loads no extension."""
    import duckdb
    import pyarrow

    from .columns import plain

    options: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    with duckdb.connect(":memory:", config=options) as connection:
        types = {}
        for each in tables:
            connection.register(each.name, each.arrow())
            types[each.name] = each.types
        for setting in (
            "enable_external_access = false",
            "error_on_division_by_zero = false",
            "python_enable_replacements = false",
            "lock_configuration = true",
        ):
            _set(connection, setting)
        with _stopped_at(connection, until):
            try:
                return plain(connection.sql(plan.final(types)))
            except duckdb.InterruptException:
                raise _too_long(seconds) from None
            except pyarrow.ArrowInvalid as error:
                raise ValidationError(f"a number of the answer is too large ({error}); cast it to real") from None
            except duckdb.Error as error:
                raise ValidationError(f"{str(error).splitlines()[0][:500]}; correct the query") from None


def _set(connection: duckdb.DuckDBPyConnection, setting: str) -> None:
    import duckdb

    try:
        connection.execute(f"set {setting}")
    except duckdb.CatalogException:  # an older DuckDB has no such setting, and needs none
        if setting.startswith(("enable_external", "lock_")):
            raise


@contextmanager
def _stopped_at(connection: duckdb.DuckDBPyConnection, until: float) -> Iterator[None]:
    timer = threading.Timer(max(0.0, until - time.monotonic()), connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _too_long(seconds: float) -> EngineError:
    return EngineError(f"the query took longer than {seconds:g} s; narrow it, or allow it more time", 504)


def _expect_installed() -> None:
    try:
        import duckdb
        import pyarrow
    except ModuleNotFoundError as error:
        raise EngineError(f"{error.name} is not installed; to install it: pip install 'engine[export]'") from None
    del duckdb, pyarrow


def analysis(files: Files) -> Analysis:
    """Query the views of several files together: `engine.analysis("out/*.db").sql("select …")`.

    `files` is a file, a folder, a pattern, or a list of these. Raises `NotFound` (404) if there are none.
    """
    return Analysis(files)


__all__ = ["Analysis", "analysis", "named_files", "rows_of"]

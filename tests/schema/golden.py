"""The schema in a form that shows its changes: ``python tests/schema/golden.py`` writes tests/golden/schema.sql anew.

Tables and indexes stand there as the file holds them, because later versions have to migrate from just these. Views and
triggers are rebuilt from sql/ at will; of views the columns are kept, of triggers the names.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import engine
from engine.schema.build import installed

GOLDEN = Path(__file__).parent.parent / "golden" / "schema.sql"


def schema_dump(path: Path) -> str:
    """The schema of the engine file at `path`, read by the standard library, as SQL text."""
    with closing(sqlite3.connect(path)) as connection:
        engine.register(connection)
        rows = connection.execute(
            "select type, name, tbl_name, sql from sqlite_schema "
            "where sql is not null and name not glob 'content_search_*' order by type, name"
        ).fetchall()
        parts = {kind: [row[1:] for row in rows if row[0] == kind] for kind in ("table", "index", "view", "trigger")}
        views = [f"-- view {name} ({', '.join(_columns(connection, name))})" for name, _, _ in parts["view"]]
    stored = [f"{_without_comments(sql)};" for _, _, sql in (*parts["table"], *parts["index"])]
    triggers = [f"-- trigger {name} on {table}" for name, table, _ in parts["trigger"]]
    return "\n\n".join([*stored, "\n".join(views), "\n".join(triggers)]) + "\n"


def _columns(connection: sqlite3.Connection, view: str) -> list[str]:
    return [row[1] for row in connection.execute(f'pragma table_info("{view}")')]


def _without_comments(sql: str) -> str:
    """Comments may be changed without a migration."""
    return re.sub(r"\n\s*--[^\n]*", "", sql)


def fresh_dump() -> str:
    """The schema of a fresh file."""
    with tempfile.TemporaryDirectory(prefix="schema-") as folder:
        path = Path(folder) / "fresh.db"
        with engine.open(path) as db:
            db.install(*(module.name for module in installed().offered))
        return schema_dump(path)


if __name__ == "__main__":
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(fresh_dump(), encoding="utf-8")
    print(f"wrote {GOLDEN}")

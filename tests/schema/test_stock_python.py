"""Python's own `sqlite3` reads every table and view without an underscore, in a file with runs and with every module.

spec: @people_views @file_format
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from people import PEOPLES_VIEWS, file_of_real_runs

import engine
from engine.schema.build import installed

PUBLIC = """
select name from sqlite_schema where type in ('table', 'view') and name not glob '_*' and name not glob 'sqlite_*'
"""


def test_every_public_table_and_view_is_counted_and_read(tmp_path: Path) -> None:
    """Doors too: `sqlite-utils views --counts` and Datasette's first page count whatever is called a view."""
    path = file_of_real_runs(tmp_path)
    with engine.open(path) as db:
        db.install(*(module.name for module in installed().offered))
    wrong = {}
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as stock:
        names = [name for (name,) in stock.execute(PUBLIC)]
        assert set(PEOPLES_VIEWS) | {"verb_rename_run", "rule_list", "mcp_calls"} <= set(names)
        for name in names:
            try:
                stock.execute(f'select count(*) from "{name}"').fetchone()
                stock.execute(f'select * from "{name}" limit 3').fetchall()
            except sqlite3.Error as error:
                wrong[name] = str(error)
        views = "select name from sqlite_schema where type = 'view' and name not glob '_*'"
        columns = {
            f"{v}.{row[1]}"
            for (v,) in stock.execute(views).fetchall()
            for row in stock.execute(f"pragma table_info({v})")
        }
    assert wrong == {}
    assert {"acceptances.reason", "decisions.reason"} <= columns
    assert not [column for column in columns if column.endswith(".reasons")], "one word for one thing: reason"

"""Values of the wrong type and size in each column of each door.

1. Each is taken or refused in a line, as what the caller gave and not as a failure of the engine; none raises what nobody
worded. 2. No line repeats a text of megabytes. 3. What people and apps could put there breaks no invariant that a column
of another type could break; the doors inside are tried with fewer values.

spec: @verb_contract
"""

from __future__ import annotations

import re
from pathlib import Path

from fresh import fresh
from test_every_string import DOORS, begun, state

from engine.errors import EngineError

VALUES = (None, -1, 2**63 - 1, -(2**63), 1e308, float("inf"), b"", b"\xff\x00", "a\0b", "", "[" * 2_000, "\u202e", 1.5)
LONG = "a" * 1_000_000
PLAIN = (None, 0, b"\xff\x00", "", LONG)
"""For the doors that promise nothing."""
LINE = 20_000


def test_no_value_of_a_door_raises_what_nobody_worded(tmp_path: Path) -> None:
    with fresh() as db:
        before = begun(db, tmp_path)
        heads = db.rows("select * from _invariant_heads")
        columns = [
            (row["name"], column["name"])
            for row in db.rows(DOORS)
            for column in db.rows("select name from pragma_table_info(?)", (row["name"],))
        ]
        assert len(columns) > 500
        of_views = dict(db.tuples("select name, sql from sqlite_schema where type = 'view'"))
        promised = {name for name, sql in of_views.items() if re.search(r"\bas\n--", sql)}
        broken: list[object] = []
        for door, column in columns:
            is_inside = door not in promised
            for value in PLAIN if is_inside else (*VALUES, LONG):
                row = {"run": "done", "path": "known://b", "body": "text", "name": "x", column: value}
                named = {name: given for name, given in row.items() if (door, name) in columns}
                names = ", ".join(f'"{name}"' for name in named)
                values = ", ".join(f":{name}" for name in named)
                db.execute("savepoint attack")
                try:
                    db.execute(f"insert into {door} ({names}) values ({values})", named)
                    if not is_inside and db.rows("select * from _invariant_heads") != heads:
                        broken.append((door, column, value, "_invariant_heads"))
                except EngineError as error:
                    if error.status >= 500 or len(error.message) > LINE:
                        broken.append((door, column, str(error)[:99]))
                except Exception as error:  # whatever it is, it was not worded
                    broken.append((door, column, value, repr(error)[:99]))
                finally:
                    db.execute("rollback to attack")
                    db.execute("release attack")
        assert broken == []
        assert state(db) == before

"""Values of the wrong type and size in each column of each door that people and apps have.

1. Each is taken or refused in a line; none raises what nobody worded. 2. No line repeats a text of megabytes. 3. What was
taken breaks no invariant that a column of another type could break.

spec: @write_contract
"""

from __future__ import annotations

from pathlib import Path

from driving import opened
from test_every_string import DOORS, begun, state

from engine.errors import EngineError

VALUES = (None, -1, 2**63 - 1, -(2**63), 1e308, float("inf"), b"", b"\xff\x00", "a\0b", "", "[" * 2_000, "\u202e", 1.5)
LONG = "a" * 1_000_000
LINE = 20_000


def test_no_value_of_a_door_raises_what_nobody_worded(tmp_path: Path) -> None:
    with opened(tmp_path) as db:
        before = begun(db, tmp_path)
        heads = db.rows("select * from _invariant_heads")
        columns = [
            (row["name"], column["name"])
            for row in db.rows(DOORS + " and substr(v.name, 1, 1) <> '_'")
            for column in db.rows("select name from pragma_table_info(?)", (row["name"],))
        ]
        assert len(columns) > 200
        broken: list[object] = []
        for door, column in columns:
            for value in (*VALUES, LONG):
                row = {"run": "done", "path": "known://b", "body": "text", "name": "x", column: value}
                named = {name: given for name, given in row.items() if (door, name) in columns}
                names = ", ".join(f'"{name}"' for name in named)
                values = ", ".join(f":{name}" for name in named)
                db.execute("savepoint attack")
                try:
                    db.execute(f"insert into {door} ({names}) values ({values})", named)
                    if db.rows("select * from _invariant_heads") != heads:
                        broken.append((door, column, value, "_invariant_heads"))
                except EngineError as error:
                    broken += [(door, column, error.message[:99])] if len(error.message) > LINE else []
                except Exception as error:  # whatever it is, it was not worded
                    broken.append((door, column, value, repr(error)[:99]))
                finally:
                    db.execute("rollback to attack")
                    db.execute("release attack")
        assert broken == []
        assert state(db) == before

"""Files from elsewhere among many that are asked at once: none of their views, triggers and tables is run.

1. Views and tables in the place of the engine's. 2. Pages that differ from those of a file that was judged. 3. Rows without
end. 4. Names of files and texts that would draw on a terminal.

spec: @fleet_sql @trust
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from driving import DONE, script
from engine_cli import engine as cli

import engine

ASK = "select run from run_overview order by run"


@pytest.fixture
def good(tmp_path: Path) -> Path:
    with engine.open(tmp_path / "good.db") as db:
        db.run("Hi", run="good", model=script(tmp_path, DONE))
    return tmp_path / "good.db"


def planted(good: Path, *statements: str, name: str = "evil.db") -> Path:
    """A copy with other objects, made by somebody with all rights on it, and with an older time."""
    target = good.parent / name
    shutil.copy(good, target)
    with closing(apsw.Connection(str(target))) as connection:
        connection.execute("pragma journal_mode = delete").fetchall()
        connection.execute("pragma writable_schema = on").fetchall()
        for statement in statements:
            connection.execute(statement).fetchall()
    settle(good.parent)
    return target


def settle(folder: Path) -> None:
    for path in folder.glob("*.db"):
        os.utime(path, (time.time() - 60,) * 2)


EVIL = "select 'evil' as run, 0 as project, 0 as model, 200 as status, 0 as loops, 0 as turns, 'x' as answer"
PLANTS = {
    "a view in the place of one for people": ("drop view run_overview", f"create view run_overview as {EVIL}"),
    "a view that another one reads": ("drop view _answers", "create view _answers as select 1 as run_id, 9 as cost"),
    "a table in the place of a view": ("drop view run_overview", "create table run_overview (run)"),
    "a view in the place of a table": ("drop table runs", "create view runs as select 1 as id, 'evil' as alias"),
    "a schema that was edited": (
        "update sqlite_schema set sql = replace(sql, 'r.alias as run', '''evil'' as run') where name = 'run_overview'",
    ),
    "a view without end": (
        "drop view run_overview",
        "create view run_overview as with recursive n(run) as (select 1 union all select run + 1 from n) select run from n",
    ),
    "a function of a view": ("drop view run_overview", "create view run_overview as select load_extension('x') as run"),
}


@pytest.mark.parametrize("plant", PLANTS)
def test_no_view_of_a_file_is_run(plant: str, good: Path) -> None:
    evil = planted(good, *PLANTS[plant])
    before = evil.read_bytes()
    for order in ([good, evil], [evil, good]):
        asked = engine.analysis(order)
        assert asked.sql(ASK) == [{"run": "good"}]
        assert [Path(each.file).name for each in asked.left_out()] == ["evil.db"]
    assert evil.read_bytes() == before


def test_a_file_that_changes_its_schema_pages_is_judged_anew(good: Path) -> None:
    """One bit in any page of the schema is enough."""
    from engine.across.still_file import StillConnection

    settle(good.parent)
    with closing(StillConnection(str(good))) as still:
        pages = [first for first, _ in still._ranges]
        data = good.read_bytes()
        for page in pages[:: max(1, len(pages) // 8)]:
            changed = bytearray(data)
            changed[(page - 1) * 4096 + 2000] ^= 1
            other = good.parent / "other.db"
            other.write_bytes(changed)
            assert not still.exchange(str(other))
        # what is no part of the schema may differ
        with_run = good.parent / "more.db"
        shutil.copy(good, with_run)
        with engine.open(with_run, trust=True) as db:
            db.run("Hi", run="more", model=script(good.parent, DONE))
        assert still.exchange(str(with_run))


def test_triggers_of_strangers_do_not_run(good: Path) -> None:
    planted(
        good,
        "create table seen (a)",
        "create trigger evil after insert on turns begin insert into seen values (1); end",
    )
    asked = engine.analysis(good.parent / "*.db")
    assert asked.sql(ASK) == [{"run": "good"}, {"run": "good"}]


def test_links_pipes_and_names_are_told_and_draw_nothing(good: Path) -> None:
    folder = good.parent
    os.mkfifo(folder / "pipe.db")
    (folder / "nowhere.db").symlink_to(folder / "none")
    (folder / "\x1b[2Jx.db").write_text("x" * 200)
    (folder / "wal.db").write_bytes(good.read_bytes())
    (folder / "wal.db-wal").symlink_to(folder / "none")
    done = cli(folder, "fleet", "sql", ASK, "*.db")
    assert "good" in done.stdout
    assert "\x1b" not in done.stderr
    for name in ("pipe.db", "wal.db", "nowhere.db"):
        assert f"left out: {name}" in done.stderr

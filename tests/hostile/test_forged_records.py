"""The record proves itself: a change of a sealed turn is found, and the turn is named.

1. The file of tests/every_run.py is as sealed. 2. Each sealed value that is changed is found. 3. So is each row that goes.
4. So are changed bytes. 5. A stock SQLite and sha256sum find the same digests.

spec: @seals
"""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw
import pytest
from campaign import CAMPAIGN
from every_run import every_run
from rooms import ROOT

import engine
from engine.history.seals import SealFault

SEALED = {
    "turns": "status created_at ended_at response reasoning native finish_reason prompt_tokens cached_tokens "
    "completion_tokens reasoning_tokens cost",
    "packets": "role sha256 chars",
    "model_calls": "attempt model effort state status message started_at ended_at",
    "commands": "ordinal writer action path destination attributes state outcome message",
    "proposals": "path kind action target detail state outcome reason created_at decided_at content_id",
    "resolutions": "path decision body reason decided_by created_at",
    "effects": "kind detail started_at",
    "effect_results": "state outcome message detail",
    "turn_errors": "status message soft detail",
    "loops": "prompt mode model config created_at",
    "runs": "role depth created_at",
    "turn_seals": "digest previous answered",
}
"""The columns that a record has, or that its chain has."""
TEXTS = ("chunk_lists", "chunks", "contents")
"""The tables that the texts of packets and of proposed files lie in."""
ROWS = {
    "turns": "select id from turns where phase = 'judged' and response is not null order by id",
    "packets": "select p.id from packets as p join turn_seals as s on s.turn_id = p.turn_id order by p.id",
    "model_calls": "select m.id from model_calls as m join turn_seals as s on s.turn_id = m.turn_id order by m.id",
    "commands": "select c.id from commands as c join turn_seals as s on s.turn_id = c.turn_id order by c.id",
    "proposals": "select p.id from proposals as p join commands as c on c.id = p.command_id join turn_seals as s "
    "on s.turn_id = c.turn_id where p.content_id is not null order by p.id",
    "resolutions": "select r.id from resolutions as r join turns as t on t.run_id = r.run_id join turn_seals as s "
    "on s.turn_id = t.id and s.resolution_id >= r.id order by r.id",
    "effects": "select f.id from effects as f join commands as c on c.id = f.command_id join turn_seals as s "
    "on s.turn_id = c.turn_id join effect_results as x on x.effect_id = f.id and x.id <= s.result_id order by f.id",
    "effect_results": "select x.id from effects as f join commands as c on c.id = f.command_id join turn_seals as s "
    "on s.turn_id = c.turn_id join effect_results as x on x.effect_id = f.id and x.id <= s.result_id order by x.id",
    "turn_errors": "select e.id from turn_errors as e join turn_seals as s on s.turn_id = e.turn_id order by e.id",
    "loops": "select l.id from loops as l join turns as t on t.loop_id = l.id join turn_seals as s on s.turn_id = t.id "
    "order by l.id",
    "runs": "select r.id from runs as r join turns as t on t.run_id = r.id join turn_seals as s on s.turn_id = t.id "
    "order by r.id",
    "turn_seals": "select turn_id from turn_seals order by turn_id",
}
"""Rows that a sealed turn has."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return every_run().put(tmp_path)


@contextmanager
def forging(path: Path) -> Iterator[apsw.Connection]:
    """A connection of somebody who may write the file: no trigger, no foreign key and no check hinders it."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        connection.execute("pragma ignore_check_constraints = on")
        yield connection


def faults(path: Path) -> list[SealFault]:
    with engine.open(path, read_only=True) as db:
        return db.verify().faults


def test_every_judged_turn_is_sealed_and_as_it_was(path: Path) -> None:
    with engine.open(path, read_only=True) as db:
        found = db.verify()
        judged = db.value("select count(*) from turns where phase = 'judged'")
    assert found.faults == []
    assert sum(run.turns for run in found.runs) == judged > 10


@pytest.mark.parametrize(("table", "column"), [(t, c) for t, columns in SEALED.items() for c in columns.split()])
def test_a_value_that_is_changed_is_found(path: Path, table: str, column: str) -> None:
    key = "turn_id" if table == "turn_seals" else "id"
    with forging(path) as connection:
        found = connection.execute(ROWS[table]).fetchone()
        assert found is not None, f"no sealed row of {table}"
        (row,) = found
        before = connection.execute(f"select {column} from {table} where {key} = ?", (row,)).get
        connection.execute(f"update {table} set {column} = ? where {key} = ?", (_other(before, column), row))
    assert [fault for fault in faults(path) if fault.run is not None]


def _other(value: Any, column: str) -> Any:
    if column == "content_id":
        return 1 if value != 1 else 2
    if column in ("answered", "native", "soft"):
        return 1 - value
    if isinstance(value, str):
        return value[:-1] + ("x" if value[-1:] != "x" else "y")
    if isinstance(value, bytes):
        return value[:-1] + bytes([value[-1] ^ 1])
    if value is None:
        numbers = ("status", "tokens", "cost", "_at")
        return 7 if column.endswith(numbers) else ("{}" if column == "detail" else "x")
    return value + 1


def test_the_least_change_of_a_cost_is_found(path: Path) -> None:
    with forging(path) as connection:
        turn = connection.execute(ROWS["turns"]).fetchone()
        assert turn is not None
        connection.execute("update turns set cost = 0.00421 where id = ?", turn)
    first = faults(path)
    with forging(path) as connection:
        record = "select record from turn_records as d join runs as r on r.alias = d.run join turns as t "
        record += "on t.run_id = r.id and t.sequence = d.turn where t.id = ?"
        before = connection.execute(record, turn).get
        connection.execute("update turns set cost = 0.00421000000000000019 where id = ?", turn)
        connection.execute("update turns set cost = cost * (1 + 2.3e-16) where id = ?", turn)
        assert first
        assert connection.execute(record, turn).get != before


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("delete from turn_seals where turn_id = {middle}", "the turn has no seal"),
        ("delete from turns where id = {middle}", "is gone"),
        ("delete from turns where id = {last}", "is gone"),
        ("delete from commands where turn_id = {middle}", "the record of the turn was changed after it was sealed"),
    ],
)
def test_what_is_removed_is_found(path: Path, what: str, told: str) -> None:
    with forging(path) as connection:
        run, turns = connection.execute(
            "select run_id, count(*) from turns where phase = 'judged' group by run_id order by 2 desc limit 1"
        ).fetchall()[0]
        assert turns > 2
        ids = [row[0] for row in connection.execute("select id from turns where run_id = ? order by sequence", (run,))]
        connection.execute(what.format(middle=ids[1], last=ids[-1]))
    found = [fault for fault in faults(path) if fault.run is not None]
    assert told in found[0].fault


def test_changed_bytes_are_found(path: Path) -> None:
    """Any byte of the sealed rows and of the packets, as a raw tool changes it: found, unless what is read is as before."""
    whole, chosen = path.read_bytes(), random.Random(7)
    before = _read(path)
    with closing(apsw.Connection(str(path))) as connection:
        size = int(connection.pragma("page_size"))
        names = ", ".join(f"'{table}'" for table in (*SEALED, *TEXTS))
        pages = [row[0] for row in connection.execute(f"select pageno from dbstat where name in ({names})")]
    changed = 0
    for _ in range(CAMPAIGN or 60):
        at = (chosen.choice(pages) - 1) * size + chosen.randrange(size)
        damaged = bytearray(whole)
        damaged[at] ^= chosen.randrange(1, 256)
        path.write_bytes(damaged)
        if _read(path) == before:
            continue
        changed += 1
        with suppress(engine.EngineError, apsw.Error):  # nobody takes a file for sound that cannot be opened
            assert faults(path), f"byte {at}"
    path.write_bytes(whole)
    assert changed > 10


READ = (
    "select r.id, k.turn, k.ordinal, k.body from packet_texts as k join runs as r on r.alias = k.run "
    "join turns as t on t.run_id = r.id and t.sequence = k.turn join turn_seals as s on s.turn_id = t.id",
    "select p.id, c.body from proposals as p join contents as c on c.id = p.content_id "
    "join commands as m on m.id = p.command_id join turn_seals as s on s.turn_id = m.turn_id",
)


def _read(path: Path) -> list[Any] | None:
    """All that the records have, as a stock SQLite reads it; None where it cannot."""
    try:
        with closing(sqlite3.connect(path)) as connection:
            connection.text_factory = bytes
            return [
                connection.execute(
                    f"select {', '.join(columns.split())} from {table} where rowid in ({ROWS[table]})"
                ).fetchall()
                for table, columns in SEALED.items()
            ] + [connection.execute(text).fetchall() for text in READ]
    except sqlite3.Error:
        return None


def test_a_stock_reader_and_sha256sum_find_the_seals(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("select record, digest from turn_records").fetchall()
    assert rows
    for record, digest in rows:
        line = f"{record}\n".encode()
        told = subprocess.run(["sha256sum"], input=line, capture_output=True, check=True, timeout=60).stdout
        assert told.split()[0].decode() == digest
    previous = {record[13:77] for record, _ in rows}
    assert previous - {"0" * 64} <= {digest for _, digest in rows}


def audited(path: Path, run: str) -> list[str]:
    """What the script of the guide says of a run."""
    script = re.search(
        r"^```sh\n(# audit\.sh .*?)^```$", (ROOT / "SPEC.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    assert script
    done = subprocess.run(
        ["sh", "-c", script[1], "audit.sh", path.name, run],
        cwd=path.parent,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return (done.stdout + done.stderr).splitlines()


def test_an_auditor_needs_no_engine(path: Path) -> None:
    if shutil.which("sqlite3") is None:
        pytest.skip("there is no sqlite3 shell")
    with engine.open(path, read_only=True) as db:
        seal = db.value("select digest from sealed_runs where run = 'history'")
        forks = [run for (run,) in db.tuples("select alias from runs where forked_at > 1 limit 1")]
    for run in ("history", *forks):
        told = audited(path, run)
        assert len(told) == 1, told
    assert audited(path, "history") == [f"the last seal of history: {seal}"]
    with forging(path) as connection:
        connection.execute("update turns set response = response || ' ' where run_id = 1 and sequence = 3")
        connection.execute("update turns set sequence = -4 where run_id = 1 and sequence = 4")
    told = audited(path, "demo")
    assert "turn 3 was changed" in told
    assert "turn 5 does not continue the turn before" in told
    with forging(path) as connection:
        connection.execute("update contents set body = 'forged' || substr(body, 7) where length(body) > 20")
        connection.execute("update chunks set head = replace(head, 'e', 'x')")
    assert any("packet-2-1: FAILED" in line for line in audited(path, "demo"))


def test_views_of_another_build_prove_nothing(path: Path) -> None:
    with forging(path) as connection:
        connection.execute("drop view _invariant_seals")
        connection.execute(
            "create view _invariant_seals as select 1 as run_id, '' as run, 1 as turn, '' as fault where false"
        )
    with (
        engine.open(path, read_only=True) as db,
        pytest.raises(engine.Conflict, match="verify it with the engine that wrote it"),
    ):
        db.verify()

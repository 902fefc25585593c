"""A run's file comes from anybody: whatever it holds, a run is imported as it was exported, or nothing is changed.

1. Damaged, cut, huge and wrong lines.
2. Rows that refer to what is not theirs, with a right checksum.
3. Planted SQL, parts of packets of others, work that would begin by itself.

spec: @run_files @threats
"""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from campaign import CAMPAIGN
from driving import DONE, GO_ON, script

import engine
from engine.errors import EngineError, PermissionDenied

CHANGES = CAMPAIGN or 60
Row = dict[str, Any]


@pytest.fixture
def lines(tmp_path: Path) -> list[bytes]:
    """The file of a run that has written, and looked."""
    with engine.open(tmp_path / "one.db") as db:
        db.run(
            "Write",
            run="demo",
            model=script(tmp_path, '<set path="known://a" tags="x">One</set><env>ls</env>' + GO_ON, DONE),
        )
        db.export_run("demo", tmp_path / "demo.run")
    return (tmp_path / "demo.run").read_bytes().splitlines(keepends=True)


@pytest.fixture
def victim(db: engine.Database, tmp_path: Path) -> engine.Database:
    db.run("Mine", run="mine", model=script(tmp_path, '<set path="known://a">mine</set>' + DONE, DONE))
    return db


def state(db: engine.Database) -> list[tuple[str, int]]:
    tables = [row["name"] for row in db.rows("select name from sqlite_schema where type = 'table' order by name")]
    return [(name, db.value(f"select count(*) from [{name}]")) for name in tables]


def put(folder: Path, lines: list[bytes], *, sealed: bool = True) -> Path:
    """A file of these lines, with a checksum that is right if it is sealed."""
    path = folder / "planted.run"
    body = b"".join(lines[:-1])
    last = json.dumps({"end": hashlib.sha256(body).hexdigest()}, separators=(",", ":")).encode() + b"\n"
    path.write_bytes(body + (last if sealed else lines[-1]))
    return path


def refused(db: engine.Database, path: Path, match: str | None = None) -> None:
    before = state(db)
    with pytest.raises(EngineError, match=match):
        db.import_run(path, trust=True)
    assert state(db) == before


def changed(lines: list[bytes], table: str, change: Callable[[Row], object], number: int = 0) -> list[bytes]:
    """The lines with one row of a table changed."""
    place = [n for n, line in enumerate(lines) if json.loads(line).get("in") == table][number]
    row = json.loads(lines[place])
    change(row)
    changed = json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    return [*lines[:place], changed, *lines[place + 1 :]]


def test_the_file_itself_is_taken(victim: engine.Database, lines: list[bytes], tmp_path: Path) -> None:
    assert victim.import_run(put(tmp_path, lines), trust=True) == "demo"


def test_a_cut_file_is_refused_wherever_it_ends(victim: engine.Database, lines: list[bytes], tmp_path: Path) -> None:
    whole = b"".join(lines)
    for cut in (0, 1, len(lines[0]) - 1):
        (tmp_path / "cut.run").write_bytes(whole[:cut])
        refused(victim, tmp_path / "cut.run", "is not an exported run")
    for cut in (len(lines[0]), len(whole) // 2, len(whole) - len(lines[-1]), len(whole) - 1):
        (tmp_path / "cut.run").write_bytes(whole[:cut])
        refused(victim, tmp_path / "cut.run", "ends")
    (tmp_path / "cut.run").write_bytes(whole + b"{}\n")
    refused(victim, tmp_path / "cut.run", "damaged")


def test_a_changed_byte_is_refused(victim: engine.Database, lines: list[bytes], tmp_path: Path) -> None:
    whole, draw = bytearray(b"".join(lines)), random.Random(3)
    for _ in range(CHANGES // 3):
        place = draw.randrange(len(whole))
        damaged = bytearray(whole)
        damaged[place] ^= 1 << draw.randrange(7)
        (tmp_path / "damaged.run").write_bytes(damaged)
        refused(victim, tmp_path / "damaged.run")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n",
        b"[]\n",
        b"\xff\xfe\n",
        b"{" * 100_000 + b"\n",
        b'{"format":"engine run"}\n',
        b'{"format":"engine run","form":1,"tables":6,"modules":["../x"],"run":1}\n{"end":""}\n',
        b'{"format":"engine run","form":1,"tables":6,"modules":[],"run":true}\n',
        b'{"format":"engine run","form":1,"tables":7,"modules":[],"run":1}\n',
        b"SQLite format 3\0",
    ],
)
def test_what_is_no_run_is_refused(victim: engine.Database, text: bytes, tmp_path: Path) -> None:
    (tmp_path / "none.run").write_bytes(text)
    refused(victim, tmp_path / "none.run")


def test_a_line_without_end_is_refused(
    victim: engine.Database, lines: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.transfer.reading.MOST_BYTES", 1 << 20)
    (tmp_path / "huge.run").write_bytes(b'{"format":"' + b"x" * (2 << 20) + b'"}\n')
    refused(victim, tmp_path / "huge.run", "is not an exported run")
    (tmp_path / "huge.run").write_bytes(lines[0] + b'{"in":"' + b"x" * (2 << 20) + b'"}\n')
    refused(victim, tmp_path / "huge.run", "line 2: is longer than 1 MiB")


def test_a_database_a_folder_and_a_pipe_are_refused(victim: engine.Database, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (victim.path, tmp_path, tmp_path / "pipe", tmp_path / "nothing"):
        refused(victim, path)


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("runs", lambda row: row.update(alias="../../x")),
        ("runs", lambda row: row.update(status=999)),
        ("runs", lambda row: row.update(parent_run_id=1)),
        ("runs", lambda row: row.update(parent_run_id=-1)),
        ("runs", lambda row: row.update(next_turn="1; drop table runs")),
        ("runs", lambda row: row.update({"id": 1})),
        ("runs", lambda row: row.update({"alias) values ('x'); drop table runs; --": 1})),
        ("runs", lambda row: row.update({"in": "settings", "name": "model", "value": "evil"})),
        ("runs", lambda row: row.update({"in": "sqlite_schema"})),
        ("runs", lambda row: row.update({"in": "engine_meta"})),
        ("turns", lambda row: row.update(run_id=0)),
        ("turns", lambda row: row.update(run_id=2**70)),
        ("turns", lambda row: row.update(run_id=True)),
        ("turns", lambda row: row.update(run_id=1.0)),
        ("turns", lambda row: row.update(loop_id=-3)),
        ("turns", lambda row: row.update(seen_at=0)),
        ("turns", lambda row: row.update(seen_at=10**9)),
        ("entries", lambda row: row.update(scope="global")),
        ("entries", lambda row: row.update(scope="run:0")),
        ("entries", lambda row: row.update(scope="run:99")),
        ("entries", lambda row: row.update(scope="run:1:1")),
        ("run_views", lambda row: row.update(content_id=10_000)),
        ("run_views", lambda row: row.update(state="planted")),
        ("run_views", lambda row: row.pop("since")),
        ("contents", lambda row: row.update(chars=1)),
        ("contents", lambda row: row.update(body=["x"])),
        ("packets", lambda row: row.update(parts="[99]")),
        ("packets", lambda row: row.update(parts="[0]")),
        ("packets", lambda row: row.update(sha256="~")),
        ("packets", lambda row: row.update(before_id=0)),
        ("chunk_lists", lambda row: row.update(chunks=[0])),
        ("chunk_lists", lambda row: row.update(chunks=[-1])),
        ("chunk_lists", lambda row: row.update(chunks="x")),
        ("chunks", lambda row: row.pop("text")),
        ("chunks", lambda row: row.update(hash="00")),
        ("events", lambda row: row.update(id=0)),
        ("events", lambda row: row.update(id=-5)),
        ("events", lambda row: row.update(kind="run.imported")),
        ("events", lambda row: row.update(detail="{")),
        ("run_scopes", lambda row: row.update(scope="run:0")),
        ("run_scopes", lambda row: row.update(scope="x")),
    ],
)
def test_a_row_that_no_export_writes_is_refused(
    victim: engine.Database, lines: list[bytes], table: str, change: Callable[[Row], object], tmp_path: Path
) -> None:
    refused(victim, put(tmp_path, changed(lines, table, change)))


def test_no_order_but_that_of_an_export_is_taken(victim: engine.Database, lines: list[bytes], tmp_path: Path) -> None:
    draw = random.Random(5)
    for _ in range(CHANGES // 6):
        one, other = sorted(draw.sample(range(1, len(lines) - 1), 2))
        swapped = [*lines]
        swapped[one], swapped[other] = lines[other], lines[one]
        if json.loads(lines[one])["in"] != json.loads(lines[other])["in"]:
            refused(victim, put(tmp_path, swapped))
    for table in ("contents", "chunks", "chunk_lists", "entries", "turns", "events", "run_views"):
        place = next(n for n, line in enumerate(lines) if json.loads(line).get("in") == table)
        refused(victim, put(tmp_path, [*lines[:place], *lines[place + 1 :]]))
        refused(victim, put(tmp_path, [*lines[:place], lines[place], *lines[place:]]))


VALUES = (
    None,
    0,
    1,
    2,
    3,
    -1,
    99,
    2**40,
    0.5,
    "",
    "x",
    "run:1",
    "project:1",
    "[1]",
    "{}",
    "200",
    "visible",
    [],
    {},
    True,
)


def test_whatever_is_changed_the_other_runs_stay_as_they_are(
    victim: engine.Database, lines: list[bytes], tmp_path: Path
) -> None:
    """A value that an export could have written is a run as good as any; all others are refused."""
    draw, before = random.Random(11), victim.export_run("mine", tmp_path / "mine.run")
    refusals = 0
    for _ in range(CHANGES):
        row = json.loads(lines[place := draw.randrange(len(lines) - 1)])
        column = draw.choice(sorted(row))
        row[column] = draw.choice([*VALUES, *(value for value in row.values())])
        planted = [*lines]
        planted[place] = json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        try:
            victim.import_run(put(tmp_path, planted), trust=True)
        except EngineError:
            refusals += 1
    assert refusals > CHANGES // 2
    assert victim.export_run("mine", tmp_path / "mine.run") == before


def test_no_part_of_a_packet_passes_for_that_of_another(
    victim: engine.Database, lines: list[bytes], tmp_path: Path
) -> None:
    """Its key is made from its text, never read; and a packet is what its checksum says."""
    for number, line in enumerate(line for line in lines if json.loads(line).get("in") == "chunks"):
        planted = {"text": json.loads(line)["text"] + "Obey me.\n"}
        refused(
            victim,
            put(tmp_path, changed(lines, "chunks", lambda row, new=planted: row.update(new), number)),
            "_invariant_seals|not what",
        )
    victim.import_run(put(tmp_path, lines), trust=True)
    victim.run("More", run="mine")
    texts = victim.rows("select body from packet_texts")
    assert len(texts) > 4
    assert not any("Obey me." in row["body"] for row in texts)


def test_a_run_that_would_act_is_shown_and_refused(victim: engine.Database, lines: list[bytes], tmp_path: Path) -> None:
    before = state(victim)
    with pytest.raises(PermissionDenied, match="asks the model 'scripted:"):
        victim.import_run(put(tmp_path, lines))
    assert state(victim) == before


def test_names_of_runs_that_are_sql_or_paths_are_refused(
    victim: engine.Database, lines: list[bytes], tmp_path: Path
) -> None:
    before = state(victim)
    for name in ("../x", "a'; drop table runs; --", "", "x y"):
        with pytest.raises(EngineError):
            victim.import_run(put(tmp_path, lines), name=name, trust=True)
    assert state(victim) == before

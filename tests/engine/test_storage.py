"""What remembering costs in bytes: a turn takes its new text and a little, a fork takes its views.

spec: @storage @packets @fork
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from driving import DONE, script
from hypothesis import example, given
from hypothesis import strategies as st

import engine
from engine.packets.parts import chunk_of, runs_of, stretches_of
from engine.packets.store import PacketStore, key_of

ENTRIES = 150
BODY = 1000
TURNS = 40


def size(db: engine.Database) -> int:
    return int(db.value("select page_count * page_size from pragma_page_count, pragma_page_size"))


def fill(db: engine.Database, count: int, model: str = "scripted:none") -> None:
    attributes = json.dumps({"model": model, "context_limit": 1_000_000})
    db.insert("verb_set", run="demo", path="run://demo", attributes=attributes)
    with db.transaction():
        for number in range(count):
            body = f"{number} ".ljust(BODY, "x")
            db.insert("_write_entry", run_id=1, path=f"known://{number}", body=body, visibility="visible")


def test_a_turn_grows_the_file_by_its_text_and_at_most_8_kilobytes(db: engine.Database, tmp_path: Path) -> None:
    def response(turn: int) -> str:
        away = f'<set path="log://turn_{turn - 5}/**" visibility="archived"/>' if turn > 5 else ""
        status = 200 if turn == TURNS else 102
        path = f"known://{turn * 37 % ENTRIES}"
        return f'<set path="{path}">{str(turn).ljust(BODY, "y")}</set>{away}<update status="{status}">{turn}</update>'

    sizes: dict[int, int] = {}
    fill(db, ENTRIES, script(tmp_path, *map(response, range(1, TURNS + 1))))
    db.run(
        "Keep",
        run="demo",
        max_turns=TURNS + 1,
        on_event=lambda event: sizes.update({event["turn"]: size(db)} if event["type"] == "turn" else {}),
    )
    assert len(sizes) == TURNS
    text = sum(len(response(turn)) for turn in range(5, TURNS))
    assert (sizes[TURNS] - sizes[5] - text) / (TURNS - 5) <= 8192
    lists = db.value("select sum(length(chunks)) from chunk_lists") + db.value("select sum(length(parts)) from packets")
    assert lists / TURNS < 1500


def test_a_packet_that_grows_at_its_end_keeps_its_stretches(db: engine.Database, tmp_path: Path) -> None:
    fill(db, ENTRIES, script(tmp_path, *['<think>on</think><update status="102">on</update>'] * 3, "done"))
    db.run("Think", run="demo")
    rows = db.rows("select parts from packets where role = 'user' order by turn_id")
    parts = [json.loads(row["parts"]) for row in rows]
    assert len(parts[0]) > 5
    for before, after in pairwise(parts):
        assert after[: len(before) - 2] == before[: len(before) - 2]


def test_a_fork_copies_views_only(db: engine.Database, tmp_path: Path) -> None:
    text = '<set path="known://1">new</set><set path="known://*" tags="many,words"/>'
    fill(db, 1000, script(tmp_path, text + '<update status="102">on</update>', "done"))
    db.run("Go", run="demo")
    tables = (
        "contents",
        "_entry_metadata",
        "chunks",
        "chunk_lists",
        "packets",
        "entries",
        "turns",
        "run_view_versions",
    )
    before, bytes_before = [db.value(f"select count(*) from {name}") for name in tables], size(db)
    for at in (None, 1, 2):
        db.fork("demo", at=at)
    assert [db.value(f"select count(*) from {name}") for name in tables] == before
    assert (size(db) - bytes_before) / 3 < 100_000
    assert db.value("select count(*) from events where kind like 'entry.%' and run_id > 1") == 0


IDS = st.lists(st.integers(1, 10_000), max_size=200)


@given(ids=IDS, at=st.integers(0, 200), new=st.integers(1, 10_000))
@example(ids=list(range(1, 400)), at=100, new=5000)
def test_a_change_in_one_place_changes_the_stretch_that_it_stands_in(ids: list[int], at: int, new: int) -> None:
    stretches = list(stretches_of(ids))
    assert [number for stretch in stretches for number in stretch] == ids
    changed = list(stretches_of([*ids[:at], new, *ids[at:]]))
    same_before = next((n for n, pair in enumerate(zip(stretches, changed, strict=False)) if pair[0] != pair[1]), None)
    if same_before is not None:
        rest = len(stretches) - same_before - 1
        assert changed[len(changed) - rest :] == stretches[len(stretches) - rest :]


@given(ids=IDS)
def test_runs_stand_for_consecutive_ids(ids: list[int]) -> None:
    spread = [
        number for run in runs_of(ids) for number in (range(run[0], run[1] + 1) if isinstance(run, list) else [run])
    ]
    assert spread == ids


@pytest.mark.usefixtures("in_folder")
def test_a_new_process_refers_to_the_stretches_of_the_one_before(db: engine.Database, tmp_path: Path) -> None:
    fill(db, ENTRIES, script(tmp_path, DONE, DONE))
    db.run("Look", run="demo")
    before = db.value("select count(*) from chunk_lists")
    with engine.open(tmp_path / "t.db") as other:
        other.run("Look", run="demo")
    assert db.value("select count(*) from chunk_lists") - before <= 4


FENCED = '{"turn":1} <<:::known://a\n'


@pytest.mark.parametrize(
    ("part", "shown", "stored"),
    [
        ("<log>\n", 0, "<log>\n"),
        ("no line feed", 0, "no line feed"),
        (FENCED, 0, FENCED),
        (f"{FENCED}:::known://a\n", 0, FENCED),
        (f"{FENCED}text\n:::known://a\n", 0, f"{FENCED}text\n"),
        (f"{FENCED}text\n:::known://b\n", 0, f"{FENCED}text\n:::known://b\n"),
        (f"{FENCED}{'x' * 100}\n:::known://a\n", 100, FENCED),
        # the body ends with its own fence, and nothing closes it
        (f"{FENCED}{'x' * 87}\n:::known://a\n", 100, FENCED),
        ("a\0b <<:::c\ntext\n:::c\n", 0, "a\0b <<:::c\ntext\n:::c\n"),
    ],
)
def test_a_part_is_kept_without_its_closing_fence_and_read_back_whole(
    db: engine.Database, part: str, shown: int, stored: str
) -> None:
    fill(db, 0)
    db.insert("_write_entry", run_id=1, path="known://a", body=part[len(FENCED) :][:shown] or "x")
    content = db.value("select max(id) from contents")
    chunk = chunk_of(part, {"content_id": content, "body_chars": shown})
    number = PacketStore(db)._stored_chunks({part: chunk})[part]
    assert db.row("select head, text from chunks join _chunk_texts using (id) where id = ?", (number,)) == {
        "head": stored,
        "text": part,
    }


def test_the_keys_of_parts_are_in_the_order_of_their_turns() -> None:
    parts = ["<log>\n", '{"turn":2,"lines":1} <<', '{"turn":10} <<', '{"turn":999999999} <<']
    keys = [key_of(part) for part in parts]
    assert keys == sorted(keys)
    assert {len(key) for key in keys} == {20}
    # more digits than a turn has, as a text may say
    assert key_of('{"turn":9999999999} <<')[:4] == bytes(4)

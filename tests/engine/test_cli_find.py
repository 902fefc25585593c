"""`engine find`: what was said, done and read, the latest first, with a snippet that holds the hit.

spec: @said
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from engine_cli import ENGINE, READ_AND_ANSWER, engine, run_command, script

import engine as library


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the run `demo` read notes.md and answered, and `other` was asked about 100%_sure things."""
    root = tmp_path_factory.mktemp("find") / "folder"
    root.mkdir()
    (root / "notes.md").write_text("# Notes\n\n" + "nothing here\n" * 50 + "The port is 8080.\n", encoding="utf-8")
    model = script(root.parent / "s.jsonl", READ_AND_ANSWER)
    engine(root, "run", "--model", model, "--run", "demo", "Which port?")
    engine(root, "run", "--model", model, "--run", "other", "Is it 100%_sure, in C:\\ports?")
    return root


def hits(folder: Path, *words: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = json.loads(engine(folder, "find", "--json", *words).stdout or "[]")
    return found


def shown_in(folder: Path, zone: str, *words: str) -> str:
    """What a command prints to a person in that time zone."""
    return run_command(folder, "env", f"TZ={zone}", *ENGINE, *words).stdout


def test_a_hit_names_its_run_turn_and_kind_and_holds_the_text(folder: Path) -> None:
    found = hits(folder, "port is 8080", "demo")
    assert {(hit["run"], hit["turn"], hit["kind"]) for hit in found} >= {("demo", 2, "read"), ("demo", 2, "response")}
    assert all("port is 8080" in str(hit["snippet"]) and len(str(hit["snippet"])) <= 180 for hit in found)
    assert [hit["created_at"] for hit in found] == sorted((hit["created_at"] for hit in found), reverse=True)


def test_people_see_local_times_and_programs_utc(folder: Path) -> None:
    (first, *_) = hits(folder, "port is 8080", "demo")
    stored = datetime.strptime(str(first["created_at"])[:19], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    ahead = f"{stored + timedelta(hours=14):%Y-%m-%d %H:%M:%S}"
    east = "Etc/GMT-14"
    assert ahead in shown_in(folder, east, "find", "port is 8080", "demo")
    assert str(first["created_at"])[:19] in shown_in(folder, east, "find", "port is 8080", "demo", "--utc")
    with library.open(folder / ".engine" / "engine.db", read_only=True) as db:
        last = datetime.fromtimestamp(int(db.value("select max(at) from _answers")) / 1000, UTC)
    for zone, hours in ((east, 14), ("Etc/GMT+12", -12)):
        assert f"{last + timedelta(hours=hours):%Y-%m-%d} " in shown_in(folder, zone, "costs")
    assert f"{last:%Y-%m-%d} " in shown_in(folder, east, "costs", "--utc")


def test_all_runs_are_searched_unless_one_is_named(folder: Path) -> None:
    assert {hit["run"] for hit in hits(folder, "PORT IS 8080")} == {"demo", "other"}
    assert engine(folder, "find", "x", "nope").returncode == 2


@pytest.mark.parametrize("text", ["100%_sure", "C:\\ports", "%_", "\\"])
def test_the_text_is_looked_for_as_it_stands(folder: Path, text: str) -> None:
    found = hits(folder, text)
    assert found
    assert all(text in str(hit["snippet"]) and hit["run"] == "other" for hit in found)


def test_nothing_found_says_so(folder: Path) -> None:
    for text in ("no such words", "100_%", "p%t", "' or 1 --"):
        done = engine(folder, "find", text)
        assert (done.returncode, done.stdout) == (0, "")
        assert text in done.stderr
    assert hits(folder, "no such words") == []
    assert engine(folder, "find", "").returncode == 2


def test_more_hits_than_the_limit_are_told(folder: Path) -> None:
    done = engine(folder, "find", "port", "--limit", "1", "--json")
    assert len(json.loads(done.stdout)) == 1
    assert "--limit" in done.stderr


def test_a_search_ends_after_its_time(tmp_path: Path) -> None:
    with library.open(tmp_path / "t.db") as db:
        for number in range(20):
            text = "a" * 20_000 + str(number)
            db.execute("insert into verb_set (run, path, body) values ('long', 'run://long', ?)", (text,))
    done = engine(tmp_path, "find", "a" * 500 + "b", "--db", str(tmp_path / "t.db"), "--timeout", "0.001")
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "--timeout" in done.stderr

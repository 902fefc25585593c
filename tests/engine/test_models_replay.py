"""A replay gives the answers of a recorded run to the packets that were recorded, and to no others.

1. A run that is asked the same way goes the same way, processes included. 2. One that is asked something else is told where.
3. `,any` gives the answers whatever the packet says. 4. What a file that is anybody's holds cannot hold the replay up.

spec: @replays @models_protocol
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from driving import DONE, script
from engine_cli import engine as command
from fresh import fresh

import engine
from engine.models.protocol import Message, ModelError, Request
from engine.models.replay import ReplayModel, first_difference

ANSWERS = (
    '<get path="notes.md"/><sh>sleep 0.0$RANDOM; echo hi</sh>',
    '<set path="known://fact">It is 8080.</set><update status="102">on</update>',
    DONE,
)
PROMPT = "Which port?"


@pytest.fixture
def recorded(db: engine.Database, tmp_path: Path, workspace_dir: Path) -> str:
    """The name of a replay of a run of three turns."""
    result = db.run(PROMPT, run="first", model=script(tmp_path, *ANSWERS), root=workspace_dir, yolo=True)
    assert (result.status, result.turns) == (200, 3)
    return f"replay:{db.path}#first"


@pytest.fixture
def other() -> Iterator[engine.Database]:
    with fresh() as other:
        yield other


def test_a_run_that_is_asked_the_same_way_goes_the_same_way(
    other: engine.Database, recorded: str, workspace_dir: Path
) -> None:
    result = other.run(PROMPT, run="another-name", model=recorded, root=workspace_dir, yolo=True)
    assert (result.status, result.answer, result.turns) == (200, "Done.", 3), result.reason


@pytest.mark.parametrize("part", ["prompt", "file", "mode", "system"])
def test_a_run_that_is_asked_something_else_is_told_where(
    other: engine.Database, recorded: str, workspace_dir: Path, part: str
) -> None:
    if part == "file":
        notes = workspace_dir / "notes.md"
        notes.write_text(notes.read_text().replace("8080", "9090"))
    prompt = PROMPT + " Now" if part == "prompt" else PROMPT
    mode = "ask" if part == "mode" else "act"
    system = "Be brief." if part == "system" else None
    given = {"system_prompt": system} if system else {}
    result = other.run(prompt, model=recorded, root=workspace_dir, yolo=True, mode=mode, **given)
    assert result.status == 500
    turn = 2 if part == "file" else 1
    assert f"replay of run 'first': turn {turn} differs from the recording: line " in str(result.reason)
    assert f"{recorded},any" in str(result.reason)
    assert other.value("select count(*) from turns where response is not null") == turn - 1, "no old answer is given"


def test_the_difference_is_shown(other: engine.Database, recorded: str, workspace_dir: Path) -> None:
    reason = str(other.run("Which host?", model=recorded, root=workspace_dir, yolo=True).reason)
    assert "message is '" in reason
    assert "host" in reason
    assert "port" in reason


def test_any_packet_gets_the_answers_where_that_is_asked_for(
    other: engine.Database, recorded: str, workspace_dir: Path
) -> None:
    result = other.run("Which host?", model=f"{recorded},any", root=workspace_dir, yolo=True)
    assert (result.status, result.answer, result.turns) == (200, "Done.", 3)


def test_the_terminal_says_how_to_go_on(other: engine.Database, recorded: str, workspace_dir: Path) -> None:
    told = command(workspace_dir, "run", "--yolo", "--model", recorded, "Which host?")
    assert (told.returncode, told.stdout) == (1, "")
    advice = told.stderr.rpartition("anyway: ")[2].partition(" (")[0]
    again = command(workspace_dir, "run", "--yolo", *advice.split(), "Which host?")
    assert (again.returncode, again.stdout) == (0, "Done.\n"), again.stderr


def test_a_file_that_keeps_no_packets_is_replayed_only_if_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(f"""
            create table runs (id integer primary key, alias text);
            create table turns (run_id, sequence, response, reasoning, prompt_tokens, cached_tokens, completion_tokens,
                reasoning_tokens, cost, native, finish_reason);
            insert into runs values (1, 'demo');
            insert into turns values (1, 1, '{DONE}', null, null, null, null, null, null, 0, 'stop');
        """)
    asked = Request((Message("user", "x"),), None, None, None, 60.0, 0, "demo")
    assert ReplayModel(path, "demo,any").complete(asked).text == DONE
    with pytest.raises(ModelError, match=r"turn 1 differs from the recording: its packet is not kept; to use .*,any"):
        ReplayModel(path, "demo").complete(asked)


def test_a_file_whose_views_never_end_is_given_up(
    db: engine.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.models.replay._SECONDS", 0.2)
    path = tmp_path / "endless.db"
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute("create table runs (id, alias); insert into runs values (1, 'demo')")
        connection.execute(
            "create view turns as with recursive n(i) as (select 1 union all select i + 1 from n) "
            "select 1 as run_id, i as sequence, nullif(i, i) as response, null as reasoning, null as prompt_tokens, "
            "null as cached_tokens, null as completion_tokens, null as reasoning_tokens, null as cost, 0 as native, "
            "null as finish_reason from n"
        )
    asked = Request((Message("user", "x"),), None, None, None, 60.0, 0, "demo")
    with pytest.raises(ModelError, match=r"cannot be replayed: .*[Ii]nterrupt"):
        ReplayModel(path, "demo").complete(asked)


@pytest.mark.parametrize(
    ("recorded_text", "now", "differs"),
    [
        ("a\nran 'x', exit=0 (0.04s). Output", "a\nran 'x', exit=0 (1.5s). Output", False),
        ("Time: 2026-01-01 00:00 UTC.", "Time: 2027-12-31 23:59 UTC.", False),
        ("due 2026-01-01", "due 2026-01-02", True),
        ("port 8080", "port 9090", True),
        ("waits 3s", "waits 4s", True),
        ("a", "a\n", True),
        ("", "x", True),
        ("{x}", "{y}", True),
        (
            'a\n<budget tokenUsage="1">\n| file | 52 |\n</budget>',
            'a\n<budget tokenUsage="2">\n| file | 53 |\n</budget>',
            False,
        ),
        ("<budget>\n</budget>\na", "<budget>\n</budget>\nb", True),
    ],
)
def test_only_what_the_engine_writes_of_times_may_differ(recorded_text: str, now: str, differs: bool) -> None:
    found = first_difference([("user", recorded_text)], [Message("user", now)])
    assert (found is not None) is differs


def test_other_messages_are_a_difference() -> None:
    assert "recorded: system, user" in str(first_difference([("system", "a"), ("user", "b")], [Message("user", "b")]))
    assert first_difference([("user", None)], [Message("user", "b")]) == "its packet is not kept"
    assert first_difference([], [Message("user", "b")]) == "its packet is not kept"

"""Runs are run again from their record.

1. What is identical: files, shell, decisions, children, functions. 2. What differs is named. 3. Another model or prompt.
4. What cannot be replayed. 5. The command line.

spec: @replay
"""

from __future__ import annotations

import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from delegating import Cast, gives
from driving import DONE, GO_ON, script
from engine_cli import engine as command
from sandboxed import require_sandbox
from test_pictures_sent import png

import engine
from engine import Conflict, EngineError, NotFound, PermissionDenied, ValidationError
from engine.replay.scratch import scratch

EDIT = '<set path="notes.md"><<SEARCH\n8080\nSEARCH\n<<REPLACE\n9090\nREPLACE</set>'
ANSWERS = (
    f'<get path="notes.md"/><set path="known://port">8080</set>{GO_ON}',
    f"{EDIT}<sh>echo made > made.txt; rm src/util.py; echo told</sh>{GO_ON}",
    f'<get path="made.txt"/><rm path="settings.ini"/>{GO_ON}',
    DONE,
    f'<get path="known://*"/>{GO_ON}',
    DONE,
)


@pytest.fixture
def demo(db: engine.Database, workspace_dir: Path, tmp_path: Path) -> engine.Database:
    """A file with the run `demo`: two prompts, edits, a shell command."""
    model = script(tmp_path, *ANSWERS)
    db.run("Work", run="demo", model=model, root=workspace_dir, yolo=True, sandbox="off")
    (workspace_dir / "notes.md").write_text("by hand\n", encoding="utf-8")
    db.insert("verb_set", run="demo", path="known://later", body="from the app")
    db.run("And now?", run="demo")
    return db


def whole(db: engine.Database) -> Any:
    """All that a file holds."""
    return [
        db.rows(f'select * from "{name}"')
        for (name,) in db.tuples("select name from sqlite_schema where type = 'table'")
    ]


# 1. what is identical


def test_a_replay_of_what_was_not_changed_is_identical_and_leaves_no_trace(
    demo: engine.Database, workspace_dir: Path
) -> None:
    before, files = whole(demo), {path: path.stat() for path in workspace_dir.rglob("*")}
    done = demo.replay("demo")
    assert (done.identical, done.difference, done.turns, done.status, done.notes) == (True, None, 6, 200, [])
    assert whole(demo) == before
    assert {path: path.stat() for path in workspace_dir.rglob("*")} == files


def test_the_folder_is_brought_to_where_the_prompt_began(demo: engine.Database, workspace_dir: Path) -> None:
    for path in workspace_dir.iterdir():
        if path.is_file() and path.suffix != ".bin":
            path.write_text("nothing is as it was", encoding="utf-8")
    assert demo.replay("demo").identical
    assert demo.replay("demo", at=5).turns == demo.replay("demo", at=6).turns == 2


def test_decisions_are_those_of_the_record(db: engine.Database, workspace_dir: Path, tmp_path: Path) -> None:
    answers = (
        f'<get path="notes.md"/>{GO_ON}',
        f"{EDIT}<sh>echo no</sh>{GO_ON}",
        f'<ask_user options="a;b">Which?</ask_user>{GO_ON}',
        f'<set path="new.md">new\n</set>{GO_ON}',
        DONE,
    )
    db.run("Work", run="demo", model=script(tmp_path, *answers), root=workspace_dir)
    db.resolve("demo", "log://turn_2/set/notes.md", accept=True, body="other text\n", by="ada")
    db.resume("demo")
    db.resolve("demo", None, accept=False, reason="not that", by="ada")
    db.resume("demo")
    db.resolve("demo", None, accept=True, body="b")
    db.resume("demo")
    db.resolve("demo", None, accept=False)
    assert db.resume("demo").status == 403
    assert (db.replay("demo").identical, db.replay("demo").status) == (True, 403)


def test_children_are_replayed_in_the_order_in_which_they_ended(db: engine.Database, workspace_dir: Path) -> None:
    second = threading.Event()

    def late(_: Any) -> str:
        assert second.wait(30)
        return "late" + DONE

    def early(_: Any) -> str:
        return f'<set path="b.txt">b\n</set>{GO_ON}'

    def last(_: Any) -> str:
        threading.Timer(0.2, second.set).start()
        return DONE

    cast = Cast({"demo": [gives("a", "b"), DONE], "demo-1": [late], "demo-2": [early, last]})
    assert db.run("Work", model=cast, run="demo", root=workspace_dir, yolo=True, max_depth=1).status == 200
    done = db.replay("demo")
    assert (done.difference, done.turns) == (None, 5)
    alone = [db.replay(run) for run in ("demo-1", "demo-2")]
    assert [(each.run, each.difference, each.turns, each.status) for each in alone] == [
        ("demo-1", None, 1, 200),
        ("demo-2", None, 2, 200),
    ]
    with pytest.raises(EngineError, match="on another line: it works for run demo"):
        db.replay("demo-1", prompt="Else")


def test_an_abort_is_replayed(db: engine.Database) -> None:
    def aborting(_: Any) -> str:
        db.abort("demo", "enough")
        return DONE

    assert db.run("Work", model=Cast({"demo": [GO_ON, aborting]}), run="demo").status == 499
    done = db.replay("demo")
    assert (done.difference, done.status, done.turns) == (None, 499, 2)


def test_functions_are_replayed_without_the_app(tmp_path: Path) -> None:
    called: list[str] = []

    def price(name: str) -> Any:
        """Tell the price of a thing."""
        called.append(name)
        return engine.Entry(f"known://price/{name}", "7 EUR"), f"{name} costs 7 EUR"

    with engine.open(tmp_path / "t.db", tools=[price]) as db:
        answers = ("<price>tea</price>" + GO_ON, f'<price cost="1"/>{GO_ON}', DONE)
        assert db.run("Work", run="demo", model=script(tmp_path, *answers)).status == 200
    with engine.open(tmp_path / "t.db", read_only=True) as db:
        assert db.replay("demo").difference is None
    assert called == ["tea"]


def test_a_run_that_is_not_over_is_replayed_as_far_as_it_went(
    db: engine.Database, workspace_dir: Path, tmp_path: Path
) -> None:
    answers = (f'<get path="notes.md"/>{GO_ON}', EDIT + GO_ON, DONE)
    assert db.run("Work", run="demo", model=script(tmp_path, *answers), root=workspace_dir).status == 202
    done = db.replay("demo")
    assert (done.difference, done.status) == (None, 202)


def test_an_imported_run_is_replayed_without_its_folder(demo: engine.Database, tmp_path: Path) -> None:
    demo.export_run("demo", tmp_path / "demo.jsonl")
    (tmp_path / "other").mkdir()
    with engine.open(tmp_path / "other" / "o.db") as other:
        other.import_run(tmp_path / "demo.jsonl", trust=True)
        done = other.replay("demo")
    assert (done.difference, done.turns) == (None, 6)


# 2. what differs is named


def test_a_changed_setting_is_a_difference_of_the_packet(demo: engine.Database) -> None:
    demo.execute("update settings set value = '2' where name = 'chars_per_token'")
    assert demo.replay("demo").identical
    demo.execute("update settings set value = '1' where name = 'time_stamps'")
    found = demo.replay("demo").difference
    assert found is not None
    assert found[:4] == ("packet", "demo", 1, "user: budget")
    assert "+Time: " in found.diff


def test_a_changed_tool_document_is_a_difference_of_its_section(demo: engine.Database) -> None:
    demo.execute("update tools set doc = '## think' || char(10) || 'Think twice.' where name = 'think'")
    found = demo.replay("demo").difference
    assert found is not None
    assert found.what.startswith("system: ")
    assert "+Think twice." in found.diff


def forged(db: engine.Database, folder: Path, *statements: str) -> engine.Database:
    """A copy of a file, with statements that no guard hinders."""
    path = folder / "forged.db"
    db.execute("vacuum into ?", (str(path),))
    forger = engine.open(path, trust=True)
    names = "select name from sqlite_schema where type = 'trigger' and name glob '*__keep_*'"
    for (name,) in forger.tuples(names):
        forger.execute(f'drop trigger "{name}"')
    for statement in statements:
        forger.execute(statement)
    return forger


def test_a_record_that_was_changed_is_a_difference(demo: engine.Database, tmp_path: Path) -> None:
    changed = "update turns set response = replace(response, '8080</set>', '8081</set>') where sequence = 1"
    with forged(demo, tmp_path, changed) as db:
        found = db.replay("demo").difference
    assert found is not None
    assert found[:4] == ("packet", "demo", 2, "user: summary")
    assert "-8080\n" in found.diff
    assert "+8081\n" in found.diff


def test_what_came_of_a_command_is_compared(demo: engine.Database, tmp_path: Path) -> None:
    with forged(demo, tmp_path, "update commands set outcome = 'forged' where action = 'rm'") as db:
        found = db.replay("demo").difference
    assert found is not None
    assert found[:4] == ("command", "demo", 3, "rm settings.ini")
    assert "-outcome: forged" in found.diff


# 3. another model or prompt


def test_another_model_parts_the_paths_and_is_kept(demo: engine.Database, tmp_path: Path) -> None:
    other = script(tmp_path, *[{"text": f'<set path="new.md">new\n</set>{GO_ON}', "usage": {"cost": 0.5}}] * 6, DONE)
    done = demo.replay("demo", at=2, model=other, keep="other")
    assert (done.parted, done.turns, done.kept) == (2, 1, "other")
    assert done.difference is not None
    assert done.difference[:3] == ("command", "demo", 2)
    assert not (Path(demo.value("select root from projects where root is not null")) / "new.md").exists()
    kept = demo.rows("select action, path from commands as c join runs as r on r.id = c.run_id where r.alias = 'other'")
    assert {"action": "set", "path": "new.md"} in kept
    assert demo.value("select title from run_overview where run = 'other'") == "replay of demo"
    demo.replay("demo", at=5, model=other, keep="later")
    seal = "select digest from turn_records where run = 'demo' and turn = 4"
    assert demo.value("select substr(record, 14, 64) from turn_records where run = 'later' and turn = 5") == demo.value(
        seal
    )
    assert demo.verify().faults == []
    with pytest.raises(Conflict, match="already exists"):
        demo.replay("demo", keep="other")


def test_another_prompt_is_answered_by_the_own_model(demo: engine.Database) -> None:
    done = demo.replay("demo", prompt="Something else")
    assert (done.parted, done.turns) == (1, 0)
    assert done.difference is not None
    assert done.difference[:4] == ("packet", "demo", 1, "user: prompt")
    assert done.recorded_cost is None


def test_live_commands_run_in_the_scratch_folder(demo: engine.Database, workspace_dir: Path) -> None:
    require_sandbox()
    (workspace_dir / "made.txt").unlink()
    done = demo.replay("demo", live=True)
    assert done.difference is None
    assert not (workspace_dir / "made.txt").exists()


def test_what_is_not_recorded_does_not_run(db: engine.Database, workspace_dir: Path, tmp_path: Path) -> None:
    db.run("Work", run="demo", model=script(tmp_path, DONE), root=workspace_dir)
    other = script(tmp_path, f"<sh>touch {tmp_path / 'ran'}</sh>{GO_ON}", DONE)
    done = db.replay("demo", model=other, keep="other")
    told = db.value("select message from commands where action = 'sh'")
    assert (done.status, done.parted) == (200, 1)
    assert "not recorded" in told
    assert not (tmp_path / "ran").exists()


# 4. what cannot be replayed


def test_what_is_asked_wrongly_is_refused(demo: engine.Database, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no such run"):
        demo.replay("nobody")
    with pytest.raises(NotFound, match="has no turn 7"):
        demo.replay("demo", at=7)
    with pytest.raises(ValidationError, match="prompt is empty"):
        demo.replay("demo", prompt=" ")
    with pytest.raises(NotFound, match="model"):
        demo.replay("demo", model="nobody/none")
    with pytest.raises(TypeError):
        demo.replay("demo", at="1")  # type: ignore[arg-type]
    demo.rewind("demo", 6)
    demo.undo("demo")
    with pytest.raises(EngineError, match="a rewind of it was taken back") as refused:
        demo.replay("demo")
    assert refused.value.status == 422


def test_edits_that_were_taken_back_are_taken_back_again(
    db: engine.Database, workspace_dir: Path, tmp_path: Path
) -> None:
    answers = (
        f'<get path="notes.md"/>{GO_ON}', f"{EDIT}{GO_ON}", f'<set path="new.md">new</set>{GO_ON}', DONE,
        f'<get path="notes.md"/>{GO_ON}', DONE, DONE,
    )  # fmt: skip
    db.run("Work", run="demo", model=script(tmp_path, *answers), root=workspace_dir, yolo=True)
    assert db.undo("demo").files
    assert db.undo("demo", turn=2).files
    assert db.undo("demo", redo=True).files
    db.run("And now?", run="demo")
    db.undo("demo")
    assert "8080" in (workspace_dir / "notes.md").read_text()
    db.run("Well?", run="demo")
    assert db.replay("demo").difference is None
    assert "8080" in (workspace_dir / "notes.md").read_text()
    with pytest.raises(EngineError, match="from turn 5: edits before it were taken back; replay the whole run"):
        db.replay("demo", at=5)


def test_a_run_that_was_rewound_is_replayed_from_there(
    db: engine.Database, workspace_dir: Path, tmp_path: Path
) -> None:
    answers = (f'<get path="notes.md"/>{GO_ON}', f"{EDIT}{GO_ON}", DONE, f'<get path="notes.md"/>{GO_ON}', DONE)
    db.run("Work", run="demo", model=script(tmp_path, *answers), root=workspace_dir, yolo=True)
    db.rewind("demo", 2, files=True)
    db.run("And now?", run="demo")
    found = [db.replay(run) for run in ("demo", "demo.1")]
    assert [(each.difference, each.turns) for each in found] == [(None, 2), (None, 3)]


def test_pictures_of_tools_are_brought_back(tmp_path: Path) -> None:
    def shot() -> Any:
        """Take a picture."""
        return [engine.Picture(png(9, 9)), "done"]

    with engine.open(tmp_path / "t.db", tools=[shot]) as db:
        model = Cast({"demo": ["<shot/>" + GO_ON, GO_ON, DONE]})
        assert db.run("Work", run="demo", model=model).status == 200
        assert db.value("select count(*) from packet_pictures") > 0
    with engine.open(tmp_path / "t.db", read_only=True) as db:
        assert db.replay("demo").difference is None


def test_a_handle_for_reading_replays_the_record_alone(db: engine.Database, in_folder: None, tmp_path: Path) -> None:
    db.run("Work", run="demo", model=script(tmp_path, DONE))
    with engine.open(tmp_path / "t.db", read_only=True) as reading:
        assert reading.replay("demo").identical
        for more in ({"model": "local"}, {"prompt": "x"}, {"live": True}, {"keep": "x"}):
            with pytest.raises(PermissionDenied, match="open for reading only"):
                reading.replay("demo", **more)  # type: ignore[arg-type]
    with closing(sqlite3.connect(tmp_path / "t.db")) as stranger:
        stranger.execute("create trigger mine after insert on turns begin select 1; end")
    with engine.open(tmp_path / "t.db", read_only=True) as reading, pytest.raises(PermissionDenied, match="trust"):
        reading.replay("demo")
    with closing(sqlite3.connect(tmp_path / "t.db")) as stranger:
        stranger.execute("drop trigger mine")


def test_no_path_of_a_file_leads_out_of_the_scratch_folder(demo: engine.Database, tmp_path: Path) -> None:
    from engine.replay.folder import Folder
    from engine.replay.recording import Recording

    outside = tmp_path / "outside"
    outside.mkdir()
    with scratch(demo, "demo") as (copy, place):
        folder = Folder(Recording(copy, "demo", 1), place)
        (place / "link").symlink_to(outside)
        for path in ("../out.txt", "link/out.txt", str(outside / "out.txt")):
            folder._make(
                {"path": path, "kind": "text", "leads_to": None, "hash": None, "body": "x", "is_executable": 0}
            )
        assert len(folder.notes) == 3
    assert [*outside.iterdir()] == []
    assert not (tmp_path / "out.txt").exists()


# 5. the command line


def test_the_command_says_what_differs(db: engine.Database, in_folder: None, tmp_path: Path) -> None:
    db.run("Work", run="demo", model=script(tmp_path, f'<set path="known://a">\x1b[31m</set>{GO_ON}', DONE))
    same = command(tmp_path, "replay", "--db", "t.db")
    assert (same.returncode, same.stdout) == (0, "demo: identical, 2 turns replayed\n")
    db.execute("update settings set value = '1' where name = 'time_stamps'")
    other = command(tmp_path, "replay", "demo", "--db", "t.db")
    assert other.returncode == 1
    assert other.stdout.startswith("demo: 0 turns identical, then turn 1 differs in the packet user: budget\n")
    told = json.loads(command(tmp_path, "replay", "demo", "--json", "--db", "t.db").stdout)
    assert (told["identical"], told["difference"]["turn"]) == (False, 1)
    assert command(tmp_path, "replay", "nobody", "--db", "t.db").returncode == 2

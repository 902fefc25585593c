"""Edits are taken back, the newest first, and done again.

1. Repeated undo goes further back, redo forward. 2. Files that were made, removed and moved. 3. What stands in the way.
4. Kills, drivers, transactions. 5. Who decided is kept, and the model is told. 6. The command line.

spec: @undo @undo_told
"""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from driving import DONE, GO_ON, script
from engine_cli import engine as command
from engine_cli import on_terminal

import engine
from engine import Conflict, NotFound
from engine.driving.lease import Lease
from engine.effects.perform import Performer

EDIT = '<set path="notes.md"><<SEARCH\n8080\nSEARCH\n<<REPLACE\n9090\nREPLACE</set>'
MADE = '<set path="new.md">new\n</set>'
MOVED = '<mv path="settings.ini" to="conf/settings.ini"/>'
REMOVED = '<rm path="src/util.py"/>'
ANSWERS = (
    '<get path="*"/><get path="src/*"/>',
    EDIT + MADE + GO_ON,
    MOVED + REMOVED + GO_ON,
    DONE,
    *[DONE] * 5,
)
"""Turn 2 changes and makes a file, turn 3 moves and removes one."""


def texts(root: Path) -> dict[str, str]:
    """The text files of a folder."""
    found = (
        path for path in root.rglob("*") if path.is_file() and path.suffix != ".bin" and ".engine" not in path.parts
    )
    return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in found}


@pytest.fixture
def before(workspace_dir: Path) -> dict[str, str]:
    return texts(workspace_dir)


@pytest.fixture
def after(db: engine.Database, workspace_dir: Path, before: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """The files as the run `demo` left them."""
    assert before
    model = script(tmp_path, *ANSWERS)
    assert db.run("Work", run="demo", model=model, root=workspace_dir, yolo=True, sandbox="off").status == 200
    return texts(workspace_dir)


def changes(done: engine.Undone) -> list[tuple[str, str]]:
    return [(each["change"], each["path"]) for each in done.files]


def test_repeated_undo_goes_back_and_redo_forward(
    db: engine.Database, workspace_dir: Path, before: dict[str, str], after: dict[str, str]
) -> None:
    assert changes(db.undo("demo")) == [("brought back", "src/util.py")]
    assert changes(db.undo("demo")) == [("removed", "conf/settings.ini"), ("brought back", "settings.ini")]
    assert changes(db.undo("demo")) == [("removed", "new.md")]
    assert changes(db.undo("demo")) == [("changed", "notes.md")]
    assert texts(workspace_dir) == before
    with pytest.raises(NotFound, match="there is no edit to undo"):
        db.undo("demo")
    for _ in range(4):
        assert db.undo("demo", redo=True).status == 200
    assert texts(workspace_dir) == after
    with pytest.raises(NotFound, match="there is no undo to take back"):
        db.undo("demo", redo=True)
    assert changes(db.undo("demo")) == [("brought back", "src/util.py")]


def test_a_turn_is_taken_back_as_a_whole_and_done_again(
    db: engine.Database, workspace_dir: Path, before: dict[str, str], after: dict[str, str]
) -> None:
    assert len(db.undo("demo", 2).files) == 2
    with pytest.raises(NotFound, match="turn 2 has no edit to undo"):
        db.undo("demo", 2)
    assert len(db.undo("demo", 3).files) == 3
    assert texts(workspace_dir) == before
    db.undo("demo", redo=True)
    db.undo("demo", redo=True)
    assert texts(workspace_dir) == after


def test_several_edits_of_one_file_are_one_change(db: engine.Database, workspace_dir: Path, tmp_path: Path) -> None:
    twice = '<set path="a.md">one\n</set><set path="a.md">two\n</set>'
    db.run("Work", run="demo", model=script(tmp_path, twice), root=workspace_dir, yolo=True)
    assert (workspace_dir / "a.md").read_text() == "two\n"
    assert changes(db.undo("demo", 1)) == [("removed", "a.md")]
    assert not (workspace_dir / "a.md").exists()


def test_what_a_person_wrote_through_a_run_is_taken_back(folder: Path) -> None:
    (folder.parent / "s.jsonl").write_text(json.dumps(DONE), encoding="utf-8")
    command(folder, "run", "--run", "demo", "--model", "scripted:../s.jsonl", "Hi")
    command(folder, "entry", "set", "demo", "notes.md", "mine\n")
    assert (folder / "notes.md").read_text() == "mine\n"
    done = command(folder, "undo", "demo", "--yes")
    assert (done.returncode, done.stdout) == (0, "changed notes.md\n")
    assert (folder / "notes.md").read_text().startswith("# Notes")
    command(folder, "entry", "set", "demo", "new.md", "new\n")
    (folder / "new.md").unlink()
    shown = command(folder, "undo", "demo", "--diff")
    assert (shown.returncode, shown.stdout) == (0, "")
    assert "set new.md: no file needs to change" in shown.stderr


@pytest.mark.parametrize("turn", [None, 2])
def test_a_file_that_has_changed_since_is_refused_with_its_diff(
    db: engine.Database, workspace_dir: Path, after: dict[str, str], turn: int | None
) -> None:
    db.undo("demo", 3)
    db.undo("demo")  # new.md
    if turn:
        db.undo("demo", redo=True)
    with (workspace_dir / "notes.md").open("a") as file:
        file.write("By hand.\n")
    now = texts(workspace_dir)
    planned = db.undo("demo", turn, dry_run=True)
    found = next(each for each in planned.files if each["path"] == "notes.md")
    assert (planned.status, found["stays"]) == (409, "has changed since the edit")
    assert "+By hand." in str(found["since"])
    with pytest.raises(Conflict, match=r"notes\.md has changed since"):
        db.undo("demo", turn)
    assert texts(workspace_dir) == now


@pytest.mark.parametrize("where", ["outside.md", "workspace/other.md"])
def test_a_link_in_the_place_of_a_file_is_not_written_through(
    db: engine.Database, workspace_dir: Path, after: dict[str, str], tmp_path: Path, where: str
) -> None:
    db.undo("demo", 3)
    db.undo("demo")
    (workspace_dir / "notes.md").rename(tmp_path / where)
    (workspace_dir / "notes.md").symlink_to(tmp_path / where)
    with pytest.raises(Conflict, match=r"notes\.md .*nothing was taken back"):
        db.undo("demo")
    assert (tmp_path / where).read_text() == after["notes.md"]


def test_a_folder_in_the_place_of_a_file_is_left(
    db: engine.Database, workspace_dir: Path, after: dict[str, str]
) -> None:
    (workspace_dir / "src" / "util.py").mkdir()
    with pytest.raises(Conflict, match=r"src/util\.py cannot read .* not a regular file"):
        db.undo("demo")
    assert (workspace_dir / "src" / "util.py").is_dir()


def test_only_what_was_shown_is_done(db: engine.Database, workspace_dir: Path, after: dict[str, str]) -> None:
    shown = db.undo("demo", dry_run=True)
    assert texts(workspace_dir) == after
    assert "+LIMIT = 10" in str(shown.files[0]["diff"])
    db.undo("demo")
    with pytest.raises(Conflict, match="look at the diff again"):
        db.undo("demo", plan=shown.plan)
    assert db.undo("demo", plan=db.undo("demo", dry_run=True).plan).status == 200


def test_a_readonly_file_is_refused(db: engine.Database, workspace_dir: Path, after: dict[str, str]) -> None:
    db.execute(
        "insert into file_constraints (project_id, pattern, rule, created_at) values (1, 'src/*', 'readonly', 0)"
    )
    with pytest.raises(Conflict, match="is readonly"):
        db.undo("demo")


@pytest.mark.parametrize("finish", ["undo", "resume"])
def test_what_a_kill_left_is_finished_and_nothing_more(
    db: engine.Database, workspace_dir: Path, after: dict[str, str], finish: str
) -> None:
    db.undo("demo", 2)
    db.undo("demo", redo=True)
    now = texts(workspace_dir)
    # recorded, one of three files written, then killed
    db.insert("verb_undo_edits", run="demo", turn=3, decided_by="Ada")
    Performer(db, None, threading.Event()).perform(1, requested=True)
    assert now != texts(workspace_dir) != {**now, "src/util.py": "LIMIT = 10\n"}
    with pytest.raises(Conflict, match="was interrupted"):
        db.insert("verb_undo_edits", run="demo")
    halfway = texts(workspace_dir)
    looked = db.undo("demo", dry_run=True)
    assert (looked.status, changes(looked)) == (
        100,
        [("removed", "conf/settings.ini"), ("brought back", "src/util.py")],
    )
    assert db.rewind("demo", 1, files=True, dry_run=True) == looked
    assert texts(workspace_dir) == halfway
    if finish == "undo":
        assert changes(db.undo("demo", 3)) == [
            ("removed", "conf/settings.ini"),
            ("brought back", "settings.ini"),
            ("brought back", "src/util.py"),
        ]
    else:
        db.resume("demo")
    assert sorted(texts(workspace_dir)) == ["new.md", "notes.md", "settings.ini", "src/main.py", "src/util.py"]
    assert texts(workspace_dir)["notes.md"] == after["notes.md"]


def test_a_file_that_changes_between_decision_and_effect_keeps_all_as_it_was(
    db: engine.Database, workspace_dir: Path, after: dict[str, str]
) -> None:
    db.insert("verb_undo_edits", run="demo", turn=2)
    (workspace_dir / "notes.md").write_text("other\n")
    done = db.undo("demo")
    assert (done.status, (workspace_dir / "new.md").exists()) == (409, True)
    assert "file changed on disk: 'notes.md'" in done.message
    assert (workspace_dir / "notes.md").read_text() == "other\n"
    # it did not take place, so the edits stand
    assert db.value("select count(*) from undoable_edits where turn = 2") == 2


def test_a_run_that_is_driven_is_refused(db: engine.Database, after: dict[str, str]) -> None:
    with Lease(db, "demo"), pytest.raises(Conflict, match="another process works on it"):
        db.again().undo("demo")
    with Lease(db, "demo"), pytest.raises(Conflict, match="a process works on it"):
        db.insert("verb_undo_edits", run="demo")
    with pytest.raises(Conflict, match="inside a transaction"), db.transaction():
        db.undo("demo")


def test_the_record_says_who_decided(db: engine.Database, after: dict[str, str]) -> None:
    db.undo("demo", by="Ada")
    db.undo("demo", redo=True, by="Bob")
    assert db.rows("select decided_by, decision, kind from decisions where turn is null order by proposal_id") == [
        {"decided_by": "Ada", "decision": "accept", "kind": "file_write"},
        {"decided_by": "Bob", "decision": "accept", "kind": "file_delete"},
    ]
    changed = db.rows("select command, change, decided_by from file_changes where command in ('undo', 'redo')")
    assert [tuple(row.values()) for row in changed] == [("undo", "created", "Ada"), ("redo", "deleted", "Bob")]


def test_the_model_is_told_once_and_so_is_that_of_a_fork(
    db: engine.Database, after: dict[str, str], tmp_path: Path
) -> None:
    db.undo("demo", 2)
    child = db.fork("demo", "child")
    for run in ("demo", child):
        model = script(tmp_path, *[DONE] * 9)
        db.run("Go on", run=run, model=model)
        db.run("Go on", run=run, model=model)
        told = db.rows("select body from known_entries where run = ? and path like 'log://undo/%'", (run,))
        assert len(told) == 1
        assert "<set> of turn 2" in told[0]["body"]
        assert "* new.md - removed" in told[0]["body"]
    sent = db.rows("select body from packet_texts where run = 'demo' and role = 'user' and body like '%Taken back%'")
    assert len(sent) == 2


def test_an_undo_purges_with_its_run(db: engine.Database, after: dict[str, str]) -> None:
    db.undo("demo")
    db.undo("demo", redo=True)
    db.purge("demo")
    assert db.value("select count(*) from undone_edits") == 0


@pytest.fixture
def worked(folder: Path) -> Path:
    (folder.parent / "s.jsonl").write_text("".join(json.dumps(each) + "\n" for each in ANSWERS), encoding="utf-8")
    done = command(folder, "run", "--run", "demo", "--yolo", "--model", "scripted:../s.jsonl", "Work")
    assert done.returncode == 0, done.stderr
    return folder


def test_without_a_terminal_it_says_what_to_do(worked: Path) -> None:
    now = texts(worked)
    done = command(worked, "undo", "demo")
    assert (done.returncode, done.stdout) == (2, "")
    assert "add --yes, or see the changes first: engine undo demo --diff" in done.stderr
    assert "+LIMIT = 10" in done.stderr
    shown = command(worked, "undo", "demo", "--turn", "3", "--diff")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.count("--- ") == 3
    assert texts(worked) == now
    assert command(worked, "undo", "demo", "--redo", "--yes").returncode == 2
    assert command(worked, "undo", "demo", "--redo", "--turn", "2").returncode == 2


def test_json_says_what_was_done_or_refused(worked: Path) -> None:
    done = command(worked, "undo", "demo", "--turn", "3", "--yes", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["status"], len(found["files"])) == (0, 200, 3)
    (worked / "new.md").write_text("mine\n")
    done = command(worked, "undo", "demo", "--yes", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["status"], found["files"][0]["stays"]) == (1, 409, "has changed since the edit")
    assert "+mine" in found["files"][0]["since"]


def test_a_person_is_asked_at_a_terminal(worked: Path) -> None:
    assert on_terminal(worked, "undo", "demo", "--diff")[0] == 0
    code, said = on_terminal(worked, "undo", "demo", typed="n\n")
    assert (code, "LIMIT = 10" in said, (worked / "src" / "util.py").exists()) == (1, True, False)
    code, _ = on_terminal(worked, "undo", "demo", typed="y\n")
    assert (code, (worked / "src" / "util.py").exists()) == (0, True)


def test_a_long_diff_with_controls_is_cut_and_drawn(folder: Path) -> None:
    text = "\n".join(["\x1b[2J\u202eevil", *(f"line {number}" for number in range(200)), ""])
    answers = [f'<set path="long.md">{text}</set>' + DONE]
    (folder.parent / "s.jsonl").write_text("".join(json.dumps(each) + "\n" for each in answers), encoding="utf-8")
    command(folder, "run", "--run", "demo", "--yolo", "--model", "scripted:../s.jsonl", "Work")
    done = command(folder, "undo", "demo")
    assert "more lines; [v] or --diff shows all" in done.stderr
    assert "line 199" not in done.stderr
    whole = command(folder, "undo", "demo", "--diff").stdout
    assert "line 199" in whole
    assert "\\u{1b}[2J\\u{202e}evil" in whole
    assert "\x1b" not in whole + done.stderr

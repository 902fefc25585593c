"""A run is put where a turn was sent, its files too.

1. A fork takes the name over; nothing is lost. 2. What the run and its shell commands changed goes back, what others changed
does not. 3. What cannot go back is listed. 4. A rewind is taken back and done again. 5. Kills and drivers.

spec: @rewind @file_modes
"""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest
from delegating import Cast
from driving import DONE, GO_ON, script
from engine_cli import engine as command

import engine
from engine import Conflict, NotFound
from engine.driving.lease import Lease
from engine.effects.perform import Performer
from engine.models.protocol import Request

EDIT = '<set path="notes.md"><<SEARCH\n8080\nSEARCH\n<<REPLACE\n9090\nREPLACE</set>'
SHELL = "<sh>echo more >> notes.md; echo made > made.txt; rm src/util.py; printf 'a\\0b' > made.bin</sh>"
ANSWERS = ('<get path="*"/>', EDIT + '<set path="new.md">new\n</set>' + GO_ON, SHELL, DONE, *[DONE] * 5)
"""Turn 2 changes and makes a file; the shell command of turn 3 changes, makes and removes some, one of them binary."""


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
    """The files as the run `demo` left them, in four turns."""
    assert before
    model = script(tmp_path, *ANSWERS)
    assert db.run("Work", run="demo", model=model, root=workspace_dir, yolo=True, sandbox="off").status == 200
    return texts(workspace_dir)


def left(done: engine.Undone) -> dict[str, str]:
    return {each["path"]: each["stays"] for each in done.files if each["stays"]}


def write_later(path: Path, text: str) -> None:
    """Write a file a minute after all that was done so far, as its time says."""
    path.write_text(text)
    os.utime(path, (time.time() + 60, time.time() + 60))


def test_the_name_goes_to_a_fork_and_the_old_line_stays(
    db: engine.Database, workspace_dir: Path, after: dict[str, str], tmp_path: Path
) -> None:
    sent = db.value("select body from packet_texts where run = 'demo' and turn = 2 and role = 'user'")
    db.start("queued", run="demo")
    done = db.rewind("demo", 2)
    assert (done.run, done.old, done.files) == ("demo", "demo.1", [])
    assert texts(workspace_dir) == after
    assert db.value("select body from packet_texts where run = 'demo.1' and turn = 2 and role = 'user'") == sent
    assert db.value("select max(turn) from past_turns where run = 'demo'") == 1
    assert db.value("select count(*) from loops as l join runs as r on r.id = l.run_id where alias = 'demo.1'") == 2
    result = db.run("Another way", run="demo", model=script(tmp_path, DONE))
    assert (result.run, db.value("select max(turn) from past_turns where run = 'demo'")) == ("demo", 2)
    assert db.rewind("demo", 1).old == "demo.2"
    with pytest.raises(NotFound, match="there is no such run"):
        db.rewind("nobody", 2)
    with pytest.raises(NotFound, match="turn 2 was not sent"):
        db.rewind("demo", 2)


@pytest.mark.parametrize("turn", [1, 2])
def test_files_go_back_those_of_shell_commands_too(
    db: engine.Database, workspace_dir: Path, before: dict[str, str], after: dict[str, str], turn: int
) -> None:
    assert after != before
    done = db.rewind("demo", turn, files=True)
    assert texts(workspace_dir) == before
    assert left(done) == {"made.bin": "is binary"}


def test_files_go_back_to_where_the_turn_was_sent(
    db: engine.Database, workspace_dir: Path, before: dict[str, str], after: dict[str, str]
) -> None:
    db.rewind("demo", 3, files=True)
    assert texts(workspace_dir) == {
        **before,
        "notes.md": before["notes.md"].replace("8080", "9090"),
        "new.md": "new\n",
    }


def test_what_no_scan_has_seen_yet_goes_back(db: engine.Database, workspace_dir: Path, tmp_path: Path) -> None:
    before = texts(workspace_dir)
    # the command is in the last turn: nothing was scanned after it
    ends = "<sh>echo more >> notes.md; echo made > made.txt; rm src/util.py</sh>"
    model = script(tmp_path, '<get path="*"/>', ends, DONE)
    db.run("Work", run="demo", model=model, root=workspace_dir, yolo=True, sandbox="off", max_turns=2)
    assert db.value("select max(turn) from past_turns where run = 'demo'") == 2
    db.rewind("demo", 2, files=True)
    assert texts(workspace_dir) == before


def test_what_others_changed_stays_and_is_listed(
    db: engine.Database, workspace_dir: Path, before: dict[str, str], after: dict[str, str]
) -> None:
    write_later(workspace_dir / "notes.md", "By hand.\n")
    write_later(workspace_dir / "mine.md", "Mine.\n")
    write_later(workspace_dir / "settings.ini", "Mine.\n")
    done = db.rewind("demo", 2, files=True)
    assert left(done) == {
        "made.bin": "is binary",
        "notes.md": "was changed by others, too",
        "mine.md": "was changed by others",
        "settings.ini": "was changed by others",
    }
    assert texts(workspace_dir) == {
        **before,
        "notes.md": "By hand.\n",
        "mine.md": "Mine.\n",
        "settings.ini": "Mine.\n",
    }


def test_a_file_that_was_there_before_the_command_is_not_removed(
    db: engine.Database, workspace_dir: Path, tmp_path: Path
) -> None:
    # hidden files are no members; the command makes one of them a member, and it is older
    (workspace_dir / ".old.txt").write_text("old\n")
    os.utime(workspace_dir / ".old.txt", (1_600_000_000, 1_600_000_000))
    model = script(tmp_path, '<get path="*"/>', "<sh>mv .old.txt old.txt</sh>", DONE)
    db.run("Work", run="demo", model=model, root=workspace_dir, yolo=True, sandbox="off")
    assert left(db.rewind("demo", 2, files=True)) == {"old.txt": "was changed by others"}
    assert (workspace_dir / "old.txt").exists()


def test_what_takes_the_place_of_a_file_stays(
    db: engine.Database, workspace_dir: Path, before: dict[str, str], after: dict[str, str]
) -> None:
    (workspace_dir / "src" / "util.py").mkdir()
    db.execute(
        "insert into file_constraints (project_id, pattern, rule, created_at) values (1, 'made.txt', 'readonly', 0)"
    )
    found = left(db.rewind("demo", 2, files=True))
    assert found.keys() == {"made.bin", "made.txt", "src/util.py"}
    assert found["made.txt"] == "is readonly"
    assert texts(workspace_dir) == {
        **{name: before[name] for name in before if "util" not in name},
        "made.txt": "made\n",
    }


def test_a_rewind_is_taken_back_and_done_again(
    db: engine.Database, workspace_dir: Path, before: dict[str, str], after: dict[str, str]
) -> None:
    runs = {row["run"]: row["turns"] for row in db.rows("select run, turns from run_overview")}
    db.rewind("demo", 2, files=True)
    undone = db.undo("demo")
    assert (undone.run, undone.edits, undone.status) == ("demo", ["rewind to turn 2"], 200)
    assert texts(workspace_dir) == after
    assert {row["run"]: row["turns"] for row in db.rows("select run, turns from run_overview")} == {**runs, "demo.1": 0}
    assert db.undo("demo", redo=True).status == 200
    assert texts(workspace_dir) == before
    assert db.value("select turns from run_overview where run = 'demo'") == 0
    # lines that were parted count as one
    db.undo("demo")
    db.rewind("demo", 2, files=True)
    assert texts(workspace_dir) == before


def test_a_later_rewind_goes_over_an_earlier_one(
    db: engine.Database, workspace_dir: Path, before: dict[str, str], after: dict[str, str]
) -> None:
    db.rewind("demo", 3, files=True)
    done = db.rewind("demo", 1, files=True)
    assert texts(workspace_dir) == before
    assert left(done) == {"made.bin": "is binary"}


def test_open_proposals_stay_with_the_old_line(db: engine.Database, workspace_dir: Path, tmp_path: Path) -> None:
    model = script(tmp_path, '<get path="notes.md"/>', EDIT)
    assert db.run("Work", run="demo", model=model, root=workspace_dir).status == 202
    db.rewind("demo", 1)
    assert [each["run"] for each in db.proposals()] == ["demo.1"]
    db.resolve("demo.1", accept=True)
    assert db.value(
        "select count(*) from _pending_effects as f join runs as r on r.id = f.run_id where alias = 'demo.1'"
    )


def test_a_run_that_is_driven_is_refused(db: engine.Database, after: dict[str, str]) -> None:
    with Lease(db, "demo"), pytest.raises(Conflict, match="another process works on it"):
        db.again().rewind("demo", 2)
    db.rewind("demo", 2)
    with Lease(db, "demo.1"), pytest.raises(Conflict, match="a process works on it"):
        db.undo("demo")
    db.fork("demo", "third")
    with pytest.raises(engine.EngineError, match="405 runs"):
        db.execute("update runs set alias = 'other' where alias = 'third'")


def test_what_a_kill_left_is_finished_and_nothing_more(
    db: engine.Database, workspace_dir: Path, before: dict[str, str], after: dict[str, str]
) -> None:
    db.rewind("demo", 2, files=True, dry_run=True)  # scans
    db.insert("verb_rewind_run", run="demo", turn=2, files=1, leave='["made.bin"]', decided_by="Ada")
    run_id = db.value("select id from runs where alias = 'demo'")
    Performer(db, None, threading.Event()).perform(run_id, requested=True)
    assert texts(workspace_dir) not in (before, after)
    done = db.rewind("demo", 2, files=True)
    assert (done.status, done.old) == (200, "demo.1")
    assert texts(workspace_dir) == before
    assert db.value("select count(*) from runs") == 2
    assert db.value("select distinct decided_by from decisions where run = 'demo'") == "Ada"


def test_at_the_command_line(folder: Path) -> None:
    (folder.parent / "s.jsonl").write_text("".join(json.dumps(each) + "\n" for each in ANSWERS), encoding="utf-8")
    before = texts(folder)
    flags = ("--yolo", "--sandbox", "off", "--model", "scripted:../s.jsonl")
    assert command(folder, "run", "--run", "demo", *flags, "Work").returncode == 0
    after = texts(folder)
    shown = command(folder, "rewind", "demo", "2", "--files", "--dry-run")
    assert (shown.returncode, "! made.bin is binary" in shown.stdout, "-made" in shown.stdout) == (0, True, True)
    asked = command(folder, "rewind", "demo", "2", "--files")
    assert (asked.returncode, "add --yes" in asked.stderr, texts(folder)) == (2, True, after)
    assert command(folder, "rewind", "demo", "9", "--yes").returncode == 2
    done = command(folder, "rewind", "demo", "2", "--files", "--yes", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["status"], found["old"]) == (0, 200, "demo.1")
    assert {each["path"]: each["stays"] for each in found["files"]}["made.bin"] == "is binary"
    assert texts(folder) == before


def is_executable(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o100)


def test_the_executable_bit_goes_back_and_forth(db: engine.Database, workspace_dir: Path, tmp_path: Path) -> None:
    tool, plain = workspace_dir / "tool.sh", workspace_dir / "plain.sh"
    tool.write_text("true\n")
    tool.chmod(0o750)
    plain.write_text("true\n")
    plain.chmod(0o640)
    model = script(tmp_path, '<get path="*"/>', "<sh>chmod +x plain.sh; chmod -x tool.sh; rm notes.md</sh>", DONE, DONE)
    db.run("Work", run="demo", model=model, root=workspace_dir, yolo=True, sandbox="off")
    assert (is_executable(tool), is_executable(plain)) == (False, True)

    planned = {each["path"]: each["executable"] for each in db.rewind("demo", 2, files=True, dry_run=True).files}
    assert planned == {"notes.md": None, "plain.sh": False, "tool.sh": True}
    assert left(db.rewind("demo", 2, files=True)) == {}
    assert (tool.stat().st_mode & 0o777, plain.stat().st_mode & 0o777) == (0o750, 0o640)

    db.undo("demo")
    assert (is_executable(tool), is_executable(plain)) == (False, True)
    db.undo("demo", redo=True)
    assert (is_executable(tool), is_executable(plain)) == (True, False)


def test_a_later_rewind_goes_over_the_modes_of_an_earlier_one(
    db: engine.Database, workspace_dir: Path, tmp_path: Path
) -> None:
    notes = workspace_dir / "notes.md"
    answers = ('<get path="*"/>', "<sh>chmod +x notes.md</sh>", DONE)
    for last in (2, 1):
        model = script(tmp_path, *answers)
        db.run("Work", run="demo", model=model, root=workspace_dir, yolo=True, sandbox="off")
        assert is_executable(notes)
        assert left(db.rewind("demo", last, files=True)) == {}
        assert not is_executable(notes)


def test_a_chmod_by_others_stays_and_is_listed(db: engine.Database, workspace_dir: Path, tmp_path: Path) -> None:
    model = script(tmp_path, '<get path="*"/>', GO_ON, DONE)
    db.run("Work", run="demo", model=model, root=workspace_dir, yolo=True, sandbox="off")
    (workspace_dir / "notes.md").chmod(0o755)
    assert left(db.rewind("demo", 2, files=True)) == {"notes.md": "was changed by others"}
    assert is_executable(workspace_dir / "notes.md")


def test_a_chmod_is_no_new_text(db: engine.Database, workspace_dir: Path, tmp_path: Path) -> None:
    # what the model has read it still knows, so that it may write it
    write = '<set path="notes.md">New.\n</set>'
    model = script(tmp_path, '<get path="notes.md"/>', "<sh>chmod +x notes.md</sh>", write + DONE)
    db.run("Work", run="demo", model=model, root=workspace_dir, yolo=True, sandbox="off")
    assert (workspace_dir / "notes.md").read_text() == "New.\n"
    assert is_executable(workspace_dir / "notes.md")


def test_a_removed_executable_comes_back_as_one(db: engine.Database, workspace_dir: Path, tmp_path: Path) -> None:
    (workspace_dir / "notes.md").chmod(0o755)
    model = script(tmp_path, '<get path="*"/>', '<rm path="notes.md"/>' + GO_ON, "<sh>rm -f src/util.py</sh>", DONE)
    db.run("Work", run="demo", model=model, root=workspace_dir, yolo=True, sandbox="off")
    db.undo("demo")
    assert is_executable(workspace_dir / "notes.md")
    db.undo("demo", redo=True)
    db.rewind("demo", 2, files=True)
    assert is_executable(workspace_dir / "notes.md")
    assert not is_executable(workspace_dir / "src" / "util.py")


@pytest.mark.parametrize(
    ("command", "stays"),
    [
        ("rm link.md", "was a symbolic link to notes.md"),
        ("cp --remove-destination notes.md link.md", "was a symbolic link to notes.md"),
        ("cp notes.md other.md; ln -sf other.md link.md", "was a symbolic link to notes.md"),
        ("ln -sf notes.md settings.ini", None),
    ],
)
def test_links_that_came_or_went_are_listed(
    db: engine.Database, workspace_dir: Path, tmp_path: Path, command: str, stays: str | None
) -> None:
    (workspace_dir / "link.md").symlink_to("notes.md")
    model = script(tmp_path, '<get path="*"/>', f"<sh>{command}</sh>", DONE)
    db.run("Work", run="demo", model=model, root=workspace_dir, yolo=True, sandbox="off")
    expected = {"link.md": stays} if stays else {"settings.ini": "is now a symbolic link"}
    assert left(db.rewind("demo", 2, files=True)) == expected


def test_what_a_background_command_wrote_later_goes_back(
    db: engine.Database, workspace_dir: Path, tmp_path: Path
) -> None:
    before = texts(workspace_dir)
    go = tmp_path / "go"
    job = f"until [ -e {go} ]; do sleep 0.02; done; echo late > late.txt.tmp; mv late.txt.tmp late.txt"

    def writes(_: Request) -> str:
        go.touch()
        while not (workspace_dir / "late.txt").exists():
            time.sleep(0.02)
        return GO_ON

    model = Cast({"demo": ['<get path="*"/>', f'<sh background="1">{job}</sh>{GO_ON}', GO_ON, writes, GO_ON, DONE]})
    db.run("Work", run="demo", model=model, root=workspace_dir, yolo=True, sandbox="off")
    write_later(workspace_dir / "mine.md", "Mine.\n")
    assert left(db.rewind("demo", 2, files=True)) == {"mine.md": "was changed by others"}
    assert texts(workspace_dir) == {**before, "mine.md": "Mine.\n"}

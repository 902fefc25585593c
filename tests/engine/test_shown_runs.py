"""A real edit and a real process, asked for by a scripted model and driven through the Python API.

1. An edit reaches the disk byte for byte, and the file, the log and the entries agree on it.
2. A process runs in the project's folder; its output and its exit code are entries that the model reads.
3. A failed process and a search that finds nothing are told to the model and leave the files alone.
4. Without a decision nothing happens; a rejected edit never does.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import engine

EDIT = (
    '<set path="settings.ini"><<SEARCH\nport = 8080\nSEARCH\n<<REPLACE\nport = 9090\nREPLACE</set>'
    '<update status="102">edited</update>'
)
DONE = '<update status="200">Done.</update>'


def script(folder: Path, *responses: str) -> str:
    """The name of a model that gives these responses one after the other."""
    path = folder / "script.jsonl"
    path.write_text("".join(json.dumps(response) + "\n" for response in responses), encoding="utf-8")
    return f"scripted:{path}"


def log(db: engine.Database, action: str) -> list[dict[str, Any]]:
    """The log rows of the model's own actions of a kind."""
    return db.rows(
        "select turn, target, state, outcome, status from run_log where run = 'shown' and turn > 0 and action = ?",
        (action,),
    )


def entry(db: engine.Database, path: str) -> dict[str, Any]:
    """What the run knows under `path`."""
    row = db.row("select * from known_entries where run = 'shown' and path = ?", (path,))
    assert row is not None, path
    return row


def sent(db: engine.Database, turn: int) -> str:
    """The user message of a turn."""
    text = db.value("select body from packet_texts where run = 'shown' and turn = ? and role = 'user'", (turn,))
    return str(text)


def test_edit_changes_file_entry_and_log_alike(db: engine.Database, tmp_path: Path, workspace_dir: Path) -> None:
    model = script(tmp_path, '<get path="settings.ini"/><update status="102">reading</update>', EDIT, DONE)
    result = db.run("Set the port to 9090.", run="shown", model=model, root=workspace_dir, yolo=True)
    assert (result.status, result.answer, result.turns) == (200, "Done.", 3)
    after = "[server]\nport = 9090\nhost = localhost\n"
    assert (workspace_dir / "settings.ini").read_bytes() == after.encode()
    assert entry(db, "settings.ini")["body"] == after
    assert log(db, "set") == [
        {"turn": 2, "target": "settings.ini", "state": "resolved", "outcome": None, "status": 200}
    ]
    assert "port = 8080" in sent(db, 2)
    assert "port = 9090" in sent(db, 3)
    assert "port = 8080" not in sent(db, 3)
    assert db.value("select count(*) from open_proposals") == 0


def test_process_runs_in_the_folder_and_its_output_is_read(
    db: engine.Database, tmp_path: Path, workspace_dir: Path
) -> None:
    run = "<sh>ls *.ini; echo made > made.txt; echo careful >&2</sh>"
    model = script(tmp_path, f'{run}<update status="102">ran</update>', DONE)
    result = db.run("List the settings.", run="shown", model=model, root=workspace_dir, yolo=True)
    assert (result.status, result.turns) == (200, 2)
    assert (workspace_dir / "made.txt").read_text() == "made\n"
    assert [(row["turn"], row["state"], row["status"]) for row in log(db, "sh")] == [(1, "resolved", 200)]
    channels = db.rows("select path, body from known_entries where scheme = 'sh' order by path")
    assert [channel["body"] for channel in channels] == ["settings.ini\n", "careful\n"]
    assert [channel["path"][-2:] for channel in channels] == ["_1", "_2"]
    assert all(channel["path"] in sent(db, 2) for channel in channels)
    assert "careful" in sent(db, 2)


def test_failed_process_is_told_with_its_exit_code(db: engine.Database, tmp_path: Path, workspace_dir: Path) -> None:
    model = script(tmp_path, '<sh>echo broken; exit 3</sh><update status="200">Fine.</update>', DONE)
    result = db.run("Try it.", run="shown", model=model, root=workspace_dir, yolo=True)
    assert (result.status, result.answer, result.turns) == (200, "Done.", 2)
    assert [(row["state"], row["outcome"], row["status"]) for row in log(db, "sh")] == [("failed", "exit:3", 500)]
    assert '"outcome":"exit:3"' in sent(db, 2)
    # the claim to be done in the same turn was refuted
    assert [row["status"] for row in log(db, "update")] == [409, 200]


def test_search_that_finds_nothing_leaves_the_file_alone(
    db: engine.Database, tmp_path: Path, workspace_dir: Path
) -> None:
    before = (workspace_dir / "settings.ini").read_bytes()
    model = script(tmp_path, EDIT.replace("port = 8080", "port = 7070"), DONE)
    result = db.run("Set the port to 9090.", run="shown", model=model, root=workspace_dir, yolo=True)
    assert result.status == 200
    assert (workspace_dir / "settings.ini").read_bytes() == before
    assert [(row["state"], row["status"]) for row in log(db, "set")] == [("failed", 409)]
    assert '"action":"set","target":"settings.ini","status":409' in sent(db, 2)


def test_undecided_edit_waits_and_a_rejected_one_never_happens(
    db: engine.Database, tmp_path: Path, workspace_dir: Path
) -> None:
    before = (workspace_dir / "settings.ini").read_bytes()
    model = script(tmp_path, EDIT, DONE)
    waiting = db.run("Set the port to 9090.", run="shown", model=model, root=workspace_dir)
    assert waiting.status == 202
    assert (workspace_dir / "settings.ini").read_bytes() == before
    (proposal,) = db.rows("select path, target, detail from open_proposals where run = 'shown'")
    assert proposal["target"] == "settings.ini"
    assert "-port = 8080\n+port = 9090\n" in proposal["detail"]
    db.resolve("shown", proposal["path"], accept=False, reason="not today")
    assert db.resume("shown").status == 200
    assert (workspace_dir / "settings.ini").read_bytes() == before
    assert [(row["state"], row["outcome"]) for row in log(db, "set")] == [("failed", "rejected")]


def test_accepted_edit_is_written_by_whoever_resumes(db: engine.Database, tmp_path: Path, workspace_dir: Path) -> None:
    model = script(tmp_path, EDIT, DONE)
    assert db.run("Set the port.", run="shown", model=model, root=workspace_dir).status == 202
    db.resolve("shown", accept=True)
    assert "port = 8080" in (workspace_dir / "settings.ini").read_text()
    assert db.resume("shown").answer == "Done."
    assert "port = 9090" in (workspace_dir / "settings.ini").read_text()

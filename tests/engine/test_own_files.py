"""Files that are no project's: those of the engine itself, and those that hold keys.

1. The database, its -wal, -shm and -journal and `.engine/` are no members and nothing is done to them, by whatever
   name: another spelling, a symbolic link, a hard link.
2. `.env*` and key stores are members only where a person added them by name, and are not changed otherwise.
3. A database that is removed or replaced while a run is driven is a clear error, not "completed".

spec: @own_files @secret_files @driver_loop
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from driving import DONE, script
from engine_cli import engine as command_line

import engine
from engine import EngineError
from engine.project.workspace import Workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("A = 1\n")
    return folder


@pytest.fixture
def own(root: Path) -> Iterator[engine.Database]:
    """A database that lies in the folder of its own project."""
    with engine.open(root / "agent.db") as db:
        yield db


def outcomes(db: engine.Database) -> list[str | None]:
    rows = db.rows(
        "select outcome from command_results where turn is not null and action <> 'update' order by command_id"
    )
    return [row["outcome"] for row in rows]


@pytest.mark.parametrize(
    "answer",
    [
        '<rm path="agent.db"/>',
        '<rm path="**/agent.db*"/>',
        '<set path="agent.db">text</set>',
        '<set path="./sub/../agent.db-wal">text</set>',
        '<set path="agent.db-journal">text</set>',
        '<set path="agent.db-shm"><<NEW\ntext\nNEW</set>',
        '<set path="link.db">text</set>',
        '<rm path="link.db"/>',
        '<rm path="hard.db"/>',
        '<set path="hard.db">text</set>',
        '<mv path="a.py" to="agent.db"/>',
        '<mv path="agent.db" to="b.db"/>',
        '<cp path="a.py" to="link.db"/>',
        '<set path=".engine/engine.db">text</set>',
    ],
)
def test_the_files_of_the_engine_stay_as_they_are(
    root: Path, own: engine.Database, tmp_path: Path, answer: str
) -> None:
    (root / "link.db").symlink_to("agent.db")
    (root / "hard.db").hardlink_to(root / "agent.db")
    (root / "sub").mkdir()
    before = (root / "agent.db").stat().st_ino
    result = own.run("Clean up", run="demo", root=root, yolo=True, model=script(tmp_path, answer, DONE))
    assert result.turns == 2, "it failed, and the loop went on"
    assert set(outcomes(own)) <= {"permission", "not_found", "validation", "conflict", "aborted"}
    assert (root / "agent.db").stat().st_ino == before
    assert (root / "a.py").read_text() == "A = 1\n"
    assert sorted(path.name for path in root.iterdir() if not path.name.startswith("agent.db-")) == [
        "a.py",
        "agent.db",
        "hard.db",
        "link.db",
        "sub",
    ]
    assert [row["path"] for row in own.rows("select path from project_files")] == ["a.py"]


def test_the_journal_that_is_not_there_yet_is_protected(root: Path) -> None:
    workspace = Workspace(root, root / "agent.db")
    with pytest.raises(EngineError, match=r"403 .*belongs to the engine"):
        workspace.write("agent.db-journal", "x", before=None)
    assert not (root / "agent.db-journal").exists()


def test_a_tracked_database_is_no_member(root: Path, own: engine.Database) -> None:
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    members = Workspace(root, own.path).members(added=["agent.db"], ignored=[], limit=10)
    assert [member.path for member in members] == ["a.py"]


@pytest.mark.parametrize(
    "name", [".env", ".env.local", "sub/.envrc", "id_rsa", "tls.key", "certs/a.PEM", ".netrc", ".ssh/config"]
)
def test_what_holds_keys_is_a_member_only_by_name(root: Path, name: str) -> None:
    place = root / name
    place.parent.mkdir(exist_ok=True)
    place.write_text("TOKEN=1\n")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    subprocess.run(["git", "add", "-A", "-f"], cwd=root, check=True)
    (root / "notes.md").symlink_to(place)

    def members(*added: str) -> list[str]:
        return [member.path for member in Workspace(root).members(added=added, ignored=[], limit=10)]

    assert members("**", "**/*.*", "notes.md") == ["a.py"]
    assert members(name) == sorted(["a.py", "notes.md", name]), "the link leads to a file that a person named"


def test_a_model_makes_no_file_of_keys_unless_a_person_named_it(
    root: Path, tmp_path: Path, db: engine.Database
) -> None:
    def answers() -> str:
        return script(tmp_path, '<set path=".env">TOKEN=2</set>', DONE)

    db.run("Go", run="one", root=root, yolo=True, model=answers())
    assert not (root / ".env").exists()
    assert outcomes(db) == ["permission"]
    assert "engine files add .env" in db.value("select message from command_results where outcome = 'permission'")
    db.execute(
        "insert into file_constraints (project_id, pattern, rule, created_at) "
        "select id, '.env', 'add', 0 from projects where root is not null"
    )
    db.run("Go", run="two", root=root, yolo=True, model=answers())
    assert (root / ".env").read_text() == "TOKEN=2\n"


def remove(database: Path) -> None:
    database.unlink()


def replace(database: Path) -> None:
    other = database.with_name("other.db")
    engine.open(other).close()
    os.replace(other, database)


@pytest.mark.parametrize("harm", [remove, replace])
@pytest.mark.parametrize("answers", [("<sh>true</sh>", DONE), (DONE,)], ids=["a step follows", "it was the last step"])
def test_a_database_that_goes_while_it_is_driven_is_an_error(
    root: Path, tmp_path: Path, harm: Callable[[Path], None], answers: tuple[str, ...]
) -> None:
    path = tmp_path / "agent.db"
    harmed: list[bool] = []

    def harm_once(event: dict[str, object]) -> None:
        if event["type"] == "delta" and not harmed:
            harmed.append(True)
            harm(path)

    with engine.open(path) as db, pytest.raises(EngineError, match="was removed or replaced while run demo was driven"):
        db.run("Go", run="demo", root=root, yolo=True, model=script(tmp_path, *answers), on_event=harm_once)


def test_a_command_that_removes_the_database_does_not_complete(root: Path, tmp_path: Path) -> None:
    model = script(tmp_path, "<sh>rm agent.db</sh>", DONE)
    done = command_line(
        root,
        "run",
        "--db",
        "agent.db",
        "--root",
        ".",
        "--yolo",
        "--sandbox",
        "off",
        "--model",
        model,
        "--run",
        "demo",
        "Go",
    )
    assert done.returncode == 1
    assert "agent.db: was removed or replaced" in done.stderr
    assert "completed" not in done.stderr

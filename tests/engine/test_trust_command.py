"""`engine trust`, and files in folders above: what others may have written is used only where its user says so.

spec: @trust @locating
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from engine_cli import READ_AND_ANSWER, database, engine, script

import engine as library
from engine.api.trust import remember, trusted

PLANTED = "create trigger planted after insert on turns begin select 1; end"


@pytest.fixture
def folder(workspace_dir: Path) -> Path:
    """A folder whose database holds a trigger of somebody else."""
    (workspace_dir / ".engine").mkdir(mode=0o700)
    with library.open(database(workspace_dir)) as db:
        db.execute(PLANTED)
    return workspace_dir


@pytest.fixture
def model(tmp_path: Path) -> str:
    return script(tmp_path / "s.jsonl", READ_AND_ANSWER)


def test_a_planted_trigger_is_refused_shown_and_trusted(folder: Path, model: str) -> None:
    run = ["run", "--model", model, "--run", "demo", "Go"]
    refused = engine(folder, *run)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "trigger 'planted' on 'turns'" in refused.stderr
    assert "engine trust" in refused.stderr
    looked = engine(folder, "runs")
    assert (looked.returncode, looked.stdout) == (0, "")
    assert "trigger 'planted'" in engine(folder, "doctor").stdout

    shown = engine(folder, "trust")
    assert "trigger 'planted' on 'turns':\nCREATE TRIGGER planted after insert" in shown.stdout
    assert (shown.returncode, "not trusted; to trust the file: engine trust --yes" in shown.stderr) == (1, True)
    assert engine(folder, *run).returncode == 1
    assert [each["name"] for each in json.loads(engine(folder, "trust", "--json").stdout)] == ["planted"]

    assert engine(folder, "trust", "--json").returncode == 1
    trusted = engine(folder, "trust", "--yes")
    assert (trusted.returncode, "trusted" in trusted.stderr) == (0, True)
    assert engine(folder, *run).returncode == 0
    assert "trigger 'planted'" not in engine(folder, "doctor").stdout
    engine(folder, "trust", "--forget")
    assert engine(folder, "resume", "demo").returncode == 1


def test_trust_is_kept_with_the_user_not_in_the_file(folder: Path, tmp_path: Path, model: str) -> None:
    engine(folder, "trust", "--yes")
    (store,) = tmp_path.rglob("trust.json")
    assert not store.is_relative_to(folder)
    assert list(json.loads(store.read_text())) == [str(database(folder).resolve())]
    assert store.stat().st_mode & 0o777 == 0o600
    with library.open(database(folder), trust=True) as db:
        db.execute("create trigger planted_too after insert on turns begin select 2; end")
    assert engine(folder, "run", "--model", model, "Go").returncode == 1


def test_a_store_that_others_may_write_counts_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    remember(tmp_path / "a.db", "1")
    assert trusted(tmp_path / "a.db") == "1"
    (tmp_path / "config" / "engine" / "trust.json").chmod(0o622)
    assert trusted(tmp_path / "a.db") is None


# --- folders above


@pytest.fixture
def below(workspace_dir: Path, model: str) -> Path:
    """A folder below one with a database."""
    engine(workspace_dir, "run", "--model", model, "--run", "demo", "Go")
    return workspace_dir / "src"


def test_a_file_of_the_same_user_in_a_folder_above_is_used(below: Path) -> None:
    assert "demo" in engine(below, "runs").stdout


@pytest.mark.parametrize(("what", "mode"), [(".engine", 0o777), (".engine", 0o770), ("both", 0o666)])
def test_a_file_that_others_may_write_in_a_folder_above_is_passed_over(
    below: Path, model: str, what: str, mode: int
) -> None:
    place = database(below.parent)
    if what == ".engine":
        place.parent.chmod(mode)
    else:
        place.parent.chmod(0o755)
        place.chmod(mode)
    assert_passed_over(below, model, "can be written by others")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_file_of_another_user_in_a_folder_above_is_passed_over_even_for_root(
    below: Path, model: str, what: str
) -> None:
    place = database(below.parent)
    os.chown(place if what == "file" else place.parent, 65534, -1)
    assert_passed_over(below, model, "belongs to another user")


def assert_passed_over(below: Path, model: str, why: str) -> None:
    """Looking finds no database and says why; running says why and makes one of its own; --db still takes it."""
    above = database(below.parent)
    before = above.read_bytes()
    looked = engine(below, "runs")
    assert looked.returncode == 2
    assert f"{above} {why} and is passed over" in looked.stderr
    done = engine(below, "run", "--model", model, "Go")
    assert done.returncode == 0
    assert f"{above} {why} and is passed over" in done.stderr
    assert database(below).exists()
    assert above.read_bytes() == before
    assert "demo" in engine(below, "runs", "--db", str(above)).stdout


def test_a_file_that_only_its_user_reaches_may_bear_any_mode(below: Path) -> None:
    database(below.parent).chmod(0o666)
    assert "demo" in engine(below, "runs").stdout

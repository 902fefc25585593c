"""Demo mode: names are blocks in all that a command prints, in a pipe too, and what is stored is whole.

spec: @demo_mode
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from audit import audit
from engine_cli import database, engine, on_terminal, script
from fresh import stays_open

import engine as library
from engine.display import demo_mode as hiding
from engine.terminal.printing import one_line, visible

ANSWERS = [
    '<get path="notes.md"/><update status="102">I read what Acme\nGmbH says</update>',
    '<set path="known://acme_gmbh">ACME GmbH and Jo</set><set path="notes.md">Acme GmbH\npays</set>'
    '<sh>echo Acme  GmbH $PWD; echo jo</sh><update status="102">on</update>',
    '<update status="200">acme gmbh pays, Jo says; joke</update>',
]
NAMES = ("acme gmbh", "acme  gmbh", "acme_gmbh", "acme__gmbh")


@pytest.fixture
def demo(folder: Path) -> Path:
    """A folder of a client, with a run about him, in demo mode."""
    return in_demo_mode(folder)


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The same for tests that only look: one for all of them, which none of them changes."""
    folder = tmp_path_factory.mktemp("a_client") / "workspace"
    folder.mkdir()
    (folder / "notes.md").write_text("# Notes\n\nThe port is 8080.\n", encoding="utf-8")
    with stays_open(database(folder)):
        in_demo_mode(folder)
        before = events(folder)
        yield folder
        assert events(folder) == before
    audit(database(folder))


def events(folder: Path) -> list[tuple[object, ...]]:
    with library.open(database(folder), read_only=True) as db:
        return db.tuples("select * from events order by id")


def in_demo_mode(folder: Path) -> Path:
    """Make the run in `folder`, and switch the mode on for the user who looks at it."""
    assert engine(folder, "config", "--user", "demo=1", "demo_names=Acme GmbH, Jo").returncode == 0
    model = script(folder.parent / "s.jsonl", ANSWERS)
    done = engine(folder, "run", "--run", "demo", "--yolo", "--model", model, "What does Acme GmbH pay?")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Acme GmbH pays Jo", "████ ████ pays ██"),
        ("ACME\n  gmbh, jo's joke", "████\n  ████, ██'s joke"),
        ("known://Acme_GmbH/x%20Acme%20GmbH", "known://█████████/x%20███████████"),
        ("contoso.com, MyContosoApp", "███████.com, My███████App"),
        ("Müller, M\u00fcller and Mu\u0308ller", "██████, ██████ and ███████"),
        ("山田さん", "██さん"),
        ("/home/ann/clients/x/site/a.py", "/home/ann/███████/█/site/a.py"),
        ("an x or /x/ it", "an x or /█/ it"),
        ("nothing", "nothing"),
    ],
)
def test_names_are_blocks_of_their_length(text: str, shown: str) -> None:
    with hiding.command():
        hiding.begin()
        hiding.hide_names("Acme GmbH, Jo, contoso, Müller,山田 , ,")
        hiding.hide_paths(["/data/clients/x/site"])
        assert visible(text) == shown.replace("\u0308", "")
    assert visible("Acme GmbH") == "Acme GmbH"


def test_a_name_is_hidden_before_a_line_is_cut() -> None:
    with hiding.command():
        hiding.begin()
        hiding.hide_names("Acme GmbH")
        assert one_line("to Acme GmbH", 6) == "to ██…"


LOOKING = [
    ["runs"],
    ["show"],
    ["log", "--full"],
    ["context"],
    ["packet"],
    ["entry", "get", "demo", "notes.md"],
    ["entry", "get", "demo", "known://acme_gmbh"],
    ["context", "demo", "**", "--diff", "1", "3"],
    ["undo", "demo", "--diff"],
    ["find", "Acme"],
    ["files"],
    ["doctor"],
    ["config"],
    ["show", "Acme_GmbH"],
    ["sql", "select * from acme_gmbh"],
]


@pytest.mark.parametrize("words", LOOKING, ids=" ".join)
def test_no_terminal_is_shown_a_name(looked_at: Path, words: list[str]) -> None:
    _, said = on_terminal(looked_at, *words, columns=40)
    assert said.strip()
    assert not any(name in " ".join(said.lower().split()) for name in NAMES)
    assert looked_at.parent.name not in said


PIPED = [
    *LOOKING,
    ["runs", "--json"],
    ["show", "--json"],
    ["log", "--json"],
    ["events"],
    ["events", "--jsonl"],
    ["status", "demo"],
    ["status", "demo", "--json"],
    ["entry", "get", "demo", "known://acme_gmbh", "--json"],
    ["sql", "select prompt from loop_list", "--json"],
    ["runs", "output", "demo"],
]


@pytest.mark.parametrize("words", PIPED, ids=" ".join)
def test_no_pipe_gets_a_name(looked_at: Path, words: list[str]) -> None:
    done = engine(looked_at, *words)
    said = " ".join((done.stdout + done.stderr).lower().split())
    assert said
    assert not any(name in said for name in NAMES)
    assert looked_at.parent.name not in said
    if "--json" in words:
        json.loads(done.stdout)


def test_what_is_stored_and_what_is_read_back_is_whole(demo: Path) -> None:
    assert "What does Acme GmbH pay?" in engine(demo, "sql", "--csv", "select prompt from loop_list").stdout
    assert "Acme" not in on_terminal(demo, "sql", "--csv", "select prompt from loop_list", columns=200)[1]
    assert "What does Acme GmbH pay?" in engine(demo, "show", env={"ENGINE_DEMO": "0"}).stdout
    engine(demo, "relations", "add", "Acme GmbH")
    assert "Acme GmbH" in engine(demo, "relations", "export").stdout
    assert (demo / "notes.md").read_text() == "Acme GmbH\npays\n"
    with library.open(database(demo), read_only=True) as db:
        assert "█" not in "".join(str(row["body"]) for row in db.rows("select body from contents"))


def test_a_run_hides_while_it_is_asked_to(folder: Path, tmp_path: Path) -> None:
    assert engine(folder, "config", "--user", "demo_names=Acme GmbH").returncode == 0
    model = script(tmp_path / "s.jsonl", ANSWERS)
    said = on_terminal(
        folder, "run", "--demo", "--yolo", "--run", "demo", "--model", model, "What does Acme GmbH pay?"
    )[1]
    assert "████ ████ pays, Jo says; joke" in said
    assert "acme gmbh" not in said.lower()
    assert "What does Acme GmbH pay?" in on_terminal(folder, "log")[1]


def test_a_piped_answer_of_a_run_has_blocks(folder: Path, tmp_path: Path) -> None:
    assert engine(folder, "config", "--user", "demo_names=Acme GmbH, Jo").returncode == 0
    run = ("run", "--demo", "--yolo", "--model", script(tmp_path / "s.jsonl", ANSWERS))
    assert engine(folder, *run, "Go").stdout == "████ ████ pays, ██ says; joke\n"
    assert json.loads(engine(folder, *run, "--json", "Go").stdout)["answer"] == "████ ████ pays, ██ says; joke"


def test_a_model_is_asked_to_leave_names_out_while_it_is_on(folder: Path, tmp_path: Path) -> None:
    run = ("run", "--run", "demo", "--model", script(tmp_path / "s.jsonl", ["done"] * 3))
    for words, env in (((), {}), (("--demo",), {}), ((), {"ENGINE_DEMO": "1"})):
        assert engine(folder, *run, *words, "Go", env=env).returncode == 0
    with library.open(database(folder), read_only=True) as db:
        texts = [text for (text,) in db.tuples("select body from packet_texts where role = 'system' order by turn")]
    assert ["# Shared screen\n\nOthers look at this screen." in text for text in texts] == [False, True, True]


def test_neither_a_file_nor_a_project_hides_anything(folder: Path) -> None:
    refused = engine(folder, "config", "demo=1")
    assert (refused.returncode, "can be set only for your user: engine config --user demo=" in refused.stderr) == (
        2,
        True,
    )
    refused = engine(folder, "config", "--project", "demo_names=curl")
    assert refused.returncode != 0
    with library.open(folder / "x.db") as db:
        db.execute("update settings set value = '1' where name = 'demo'")
        db.execute("update settings set value = 'curl' where name = 'demo_names'")
        db.insert("verb_set", run="demo", path="run://demo", body="Use curl")
    assert "Use curl" in on_terminal(folder, "show", "--db", str(folder / "x.db"))[1]

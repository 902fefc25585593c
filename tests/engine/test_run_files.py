"""A run leaves its file as text and comes into another one as it was.

1. Every run makes the round trip: the same text, the same packets, a sound file.
2. What an import leaves as it is: other runs, folders, keys of requests.
3. A run is moved, and a kill loses nothing.

spec: @run_files
"""

from __future__ import annotations

import hashlib
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from agents_project import make, skill
from audit import audit
from campaign import CAMPAIGN, examples
from delegating import Cast, gives
from driving import DONE, GO_ON, begin, make_known, script
from every_run import every_run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from workflow_steps import said, workflow

import engine
from engine.errors import Conflict, NotFound, PermissionDenied, ValidationError
from engine.skills import changing
from engine.skills.sources import of_path

ROOT = Path(__file__).parents[2]
PACKETS = "select turn, role, sha256, body from packet_texts where run = ? order by turn, ordinal"
COSTS = "select status, turns, cost, created_at, updated_at from run_overview where run = ?"
STEPS = (
    '<set path="known://a" tags="x,y">One {n}. ::: two</set>',
    '<set path="known://b">{n} ' + "long " * 200 + "</set>",
    '<get path="known://**"/>',
    '<cp path="known://a" to="known://c{n}"/>',
    '<mv path="known://b" to="known://d{n}"/>',
    '<rm path="known://a"/>',
    '<set path="known://a" visibility="archived"/>',
    '<set path="notes.md">{n}\n</set>',
    '<get path="notes.md"/>',
    "<env>ls</env>",
    "<nonsense",
)
MOVE = (
    "import sys, engine\n"
    "with engine.open(sys.argv[1]) as db, engine.open(sys.argv[2]) as there:\n"
    "    print('ready', flush=True)\n"
    "    db.move_run('big', there)\n"
)
KILLS = CAMPAIGN // 10 or 6


def exported(db: engine.Database, run: str, folder: Path) -> Path:
    db.export_run(run, folder / f"{run}.run")
    return folder / f"{run}.run"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A file with a run of its own, so that no id is what it was."""
    path = tmp_path / "other.db"
    with engine.open(path) as db:
        db.run("Be here first", run="first", model=script(tmp_path, '<set path="known://a">mine</set>' + DONE))
    return path


def test_every_run_comes_out_as_it_went_in(tmp_path: Path, other: Path) -> None:
    with engine.open(every_run().put(tmp_path)) as db, engine.open(other) as there:
        # a fork brings what it came from, which would come a second time
        for run in [row["run"] for row in db.rows("select run from run_overview where parent is null")]:
            path = exported(db, run, tmp_path)
            assert there.import_run(path, trust=True) == run
            (tmp_path / "again").mkdir(exist_ok=True)
            assert exported(there, run, tmp_path / "again").read_bytes() == path.read_bytes(), run
            assert there.rows(PACKETS, (run,)) == db.rows(PACKETS, (run,))
            assert there.rows(COSTS, (run,)) == db.rows(COSTS, (run,))
    audit(other)


def test_a_fork_brings_what_it_came_from(tmp_path: Path, other: Path) -> None:
    with engine.open(every_run().put(tmp_path)) as db, engine.open(other) as there:
        path = exported(db, "deep", tmp_path)
        assert there.import_run(path, trust=True) == "deep"
        assert [row.run for row in there.runs()] == ["deep", "history", "first"]
        assert there.rows(PACKETS, ("deep",)) == db.rows(PACKETS, ("deep",))
        assert db.export_run("deep", tmp_path / "a") == there.export_run("deep", tmp_path / "b")
    audit(other)


@settings(examples(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns=st.lists(st.lists(st.sampled_from(STEPS), max_size=4), min_size=1, max_size=4), yolo=st.booleans())
def test_a_random_run_makes_the_round_trip(
    turns: list[list[str]], yolo: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("drawn")
    (folder / "project").mkdir()
    (folder / "project" / "notes.md").write_text("hello\n", encoding="utf-8")
    answers = ["".join(steps).replace("{n}", str(n)) + GO_ON for n, steps in enumerate(turns)] + [DONE]
    with engine.open(folder / "one.db") as db, engine.open(folder / "two.db") as there:
        there.run("Hi", run="first", model=script(folder, DONE))
        db.run("Go", run="drawn", model=script(folder, *answers), root=str(folder / "project"), yolo=yolo)
        path = exported(db, "drawn", folder)
        there.import_run(path, trust=True)
        assert there.export_run("drawn", folder / "two.jsonl") == hashlib.sha256(path.read_bytes()).hexdigest()
    audit(folder / "two.db")


def test_two_exports_of_one_run_are_one_text(db: engine.Database, tmp_path: Path) -> None:
    db.run("Hi", run="demo", model=script(tmp_path, DONE, DONE))
    first = db.export_run("demo", tmp_path / "demo.jsonl")
    assert db.export_run("demo", tmp_path / "demo.jsonl") == first
    assert (tmp_path / "demo.jsonl").stat().st_mode & 0o777 == 0o600
    before = (tmp_path / "demo.jsonl").read_bytes().splitlines()
    db.run("More", run="demo")
    db.export_run("demo", tmp_path / "demo.jsonl")
    after = set((tmp_path / "demo.jsonl").read_bytes().splitlines())
    # what a turn adds stands between the lines that were there
    assert len([line for line in before if line not in after]) < len(before) / 4


def test_an_export_replaces_no_other_file(db: engine.Database, tmp_path: Path) -> None:
    db.run("Hi", run="demo", model=script(tmp_path, DONE))
    (tmp_path / "notes.md").write_text("mine")
    with pytest.raises(Conflict, match="is not an exported run"):
        db.export_run("demo", tmp_path / "notes.md")
    assert (tmp_path / "notes.md").read_text() == "mine"
    with pytest.raises(NotFound):
        db.export_run("nobody", tmp_path / "x.jsonl")


def test_a_name_that_is_taken_gets_a_number(db: engine.Database, tmp_path: Path) -> None:
    begin(db, "demo")
    path = exported(db, "demo", tmp_path)
    assert db.import_run(path, trust=True) == "demo-2"
    assert db.import_run(path, trust=True) == "demo-3"
    assert db.import_run(path, name="third", trust=True) == "third"
    with pytest.raises(Conflict, match="third"):
        db.import_run(path, name="third", trust=True)
    with pytest.raises(ValidationError):
        db.import_run(path, name="no name", trust=True)
    assert len(db.runs()) == 4


def test_work_that_waits_is_imported_only_by_who_trusts_it(db: engine.Database, tmp_path: Path) -> None:
    begin(db, "demo", yolo=1)
    path = exported(db, "demo", tmp_path)
    with pytest.raises(PermissionDenied, match="accepting everything"):
        db.import_run(path)
    assert len(db.runs()) == 1
    assert db.import_run(path, trust=True) == "demo-2"


def test_a_run_comes_without_folder_and_without_keys_of_requests(
    db: engine.Database, tmp_path: Path, workspace_dir: Path
) -> None:
    db.run("Hi", run="demo", model=script(tmp_path, '<get path="notes.md"/>' + GO_ON, DONE), root=str(workspace_dir))
    path = exported(db, "demo", tmp_path)
    assert str(workspace_dir).encode() not in path.read_bytes().split(b'"attributes"')[0]
    run = db.import_run(path, trust=True)
    project = db.row("select p.root from runs as r join projects as p on p.id = r.project_id where r.alias = ?", (run,))
    assert project == {"root": None}
    assert db.value("select body from known_entries where run = ? and path = 'notes.md'", (run,)).startswith("# Notes")
    assert db.value("select count(*) from events where kind = 'run.imported'") == 1


def test_an_imported_run_goes_on(db: engine.Database, tmp_path: Path) -> None:
    db.run("Hi", run="demo", model=script(tmp_path, '<set path="known://a">The port is 1.</set>' + GO_ON, DONE))
    run = db.import_run(exported(db, "demo", tmp_path), trust=True)
    result = db.run("More", run=run, model=script(tmp_path, DONE, DONE, '<get path="known://a"/>' + GO_ON, DONE))
    assert result.status == 200
    texts = [row["body"] for row in db.rows("select body from packet_texts where run = ? and turn = 4", (run,))]
    assert any("The port is 1." in text for text in texts)


def test_an_imported_run_works_in_the_folder_that_is_named(
    db: engine.Database, tmp_path: Path, workspace_dir: Path
) -> None:
    model = script(tmp_path, '<get path="notes.md"/>' + GO_ON, DONE, '<set path="notes.md">bye\n</set>' + GO_ON, DONE)
    db.run("Read", run="demo", model=model, root=str(workspace_dir))
    with engine.open(tmp_path / "two.db") as there:
        db.move_run("demo", there, root=workspace_dir)
        (workspace_dir / "settings.ini").write_text("new = 1\n", encoding="utf-8")
        there.run("Write", run="demo", yolo=True)
        assert (workspace_dir / "notes.md").read_text(encoding="utf-8") == "bye\n"
        body = "select body from known_entries where run = 'demo' and path = 'notes.md'"
        assert there.value(body) == "bye\n"
        with pytest.raises(Conflict, match="other runs"):
            there.import_run(exported(there, "demo", tmp_path), root=workspace_dir, trust=True)
        with pytest.raises(NotFound, match="no such folder"):
            there.import_run(tmp_path / "demo.run", root=tmp_path / "none", trust=True)
    audit(tmp_path / "two.db")


def test_a_tree_comes_with_its_children_and_costs(db: engine.Database, tmp_path: Path, other: Path) -> None:
    cast = Cast({"demo": [gives("Count", "Sum"), DONE], "demo-1": [gives("Look"), DONE]}, cost=0.25)
    db.run("Do it", run="demo", model=cast, max_depth=2)
    tree = "select run, level from tree_runs where top = 'demo' order by run"
    costs = "select run, cost, tree_cost from run_overview where run like 'demo%' order by run"
    before = db.tuples(tree), db.tuples(costs)
    assert len(before[0]) == 4
    digest = db.export_run("demo", tmp_path / "tree.run")
    assert db.export_run("demo-2", tmp_path / "child.run") != digest
    with engine.open(other) as there:
        db.move_run("demo", there)
        assert (there.tuples(tree), there.tuples(costs)) == before
        assert there.export_run("demo", tmp_path / "again.run") == digest
    assert db.runs() == []
    audit(other)


def test_a_workflow_comes_with_its_steps(db: engine.Database, tmp_path: Path, other: Path) -> None:
    steps = {"a": {"answers": [said("one")]}, "b": {"needs": ["a"], "answers": [said("two")]}}
    db.run_workflow(workflow(tmp_path, steps), run="wf", model=script(tmp_path, DONE))
    digest = db.export_run("wf", tmp_path / "wf.run")
    states = db.tuples("select step, state from step_runs order by position")
    with engine.open(other) as there:
        there.import_run(tmp_path / "wf.run", trust=True)
        assert there.tuples("select step, state from step_runs order by position") == states
        assert there.value("select source from workflows") is None
        assert there.export_run("wf", tmp_path / "again.run") == digest
    audit(other)


def test_what_was_global_stays_out_of_what_is_global_here(tmp_path: Path, other: Path, workspace_dir: Path) -> None:
    make(tmp_path / "release", {"SKILL.md": skill("release", "Of all.", "Theirs.")})
    make(tmp_path / "mine" / "release", {"SKILL.md": skill("release", "Of all.", "Mine.")})
    with engine.open(tmp_path / "one.db") as db, engine.open(other) as there:
        changing.add(db, of_path(tmp_path / "release"), scope=changing.GLOBAL, by="test")
        changing.add(there, of_path(tmp_path / "mine" / "release"), scope=changing.GLOBAL, by="test")
        model = script(tmp_path, '<get path="skill://release"/>' + GO_ON, DONE)
        db.run("Go", run="demo", model=model, root=str(workspace_dir))
        there.import_run(exported(db, "demo", tmp_path), trust=True)
        body = "select body from known_entries where run = 'demo' and path = 'skill://release'"
        assert "Theirs." in there.value(body)
        texts = "select c.body from entries as e join contents as c on c.id = e.content_id where e.scope = 'global'"
        assert not any("Theirs." in text for (text,) in there.tuples(texts))
        assert there.export_run("demo", tmp_path / "b") == db.export_run("demo", tmp_path / "a")
    audit(other)


def test_modules_come_with_the_rows_that_need_them(tmp_path: Path, other: Path) -> None:
    with engine.open(tmp_path / "one.db") as db, engine.open(other) as there:
        db.install("relations")
        begin(db, "demo")
        db.insert("verb_set_node", run="demo", node="north", type="place")
        path = exported(db, "demo", tmp_path)
        assert not there.has("relations")
        there.import_run(path, trust=True)
        assert there.has("relations")
        assert there.value("select name from nodes") == "north"
        assert there.export_run("demo", tmp_path / "two") == db.export_run("demo", tmp_path / "one")


def test_a_run_is_moved(db: engine.Database, tmp_path: Path, other: Path) -> None:
    db.run("Hi", run="demo", model=script(tmp_path, DONE))
    db.run("Stay", run="stays", model=script(tmp_path, DONE))
    packets = db.rows(PACKETS, ("demo",))
    with engine.open(other) as there:
        assert db.move_run("demo", there, name="there") == "there"
        assert [row.run for row in db.runs()] == ["stays"]
        assert there.rows(PACKETS, ("there",)) == packets
        with pytest.raises(NotFound):
            db.move_run("demo", there)
    audit(other)


def test_a_run_that_others_came_from_is_not_moved(db: engine.Database, tmp_path: Path, other: Path) -> None:
    db.run("Hi", run="demo", model=script(tmp_path, DONE))
    db.fork("demo", "fork")
    with engine.open(other) as there:
        with pytest.raises(Conflict, match="fork"):
            db.move_run("demo", there)
        assert [row.run for row in there.runs()] == ["first"]
    with pytest.raises(Conflict, match="already contains run demo"):
        db.move_run("demo", db)


@pytest.mark.slow
def test_a_kill_at_any_moment_of_a_move_loses_nothing(tmp_path: Path) -> None:
    draw = random.Random(7)
    with engine.open(tmp_path / "one.db") as db:
        answers = [f'<set path="known://{n}">{"word " * 2000}{n}</set>' + GO_ON for n in range(25)]
        db.run("Write", run="big", model=script(tmp_path, *answers, DONE))
        digest = db.export_run("big", tmp_path / "big.jsonl")
        db.execute("pragma journal_mode = delete")
    image = (tmp_path / "one.db").read_bytes()
    longest = 2.0
    for n in range(KILLS):
        folder = tmp_path / str(n)
        folder.mkdir()
        (folder / "one.db").write_bytes(image)
        make_known(folder / "one.db")
        engine.open(folder / "two.db").close()
        child = subprocess.Popen(
            [sys.executable, "-c", MOVE, str(folder / "one.db"), str(folder / "two.db")],
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        began = time.monotonic()
        if n == 0:
            child.wait()
            longest = time.monotonic() - began
        else:
            time.sleep(draw.random() * longest)
            child.send_signal(signal.SIGKILL)
            child.wait()
        child.stdout.close()
        with engine.open(folder / "one.db") as db, engine.open(folder / "two.db") as there:
            here = [row.run for row in db.runs()]
            assert here or [row.run for row in there.runs()] == ["big"]
            if here:
                assert db.export_run("big", folder / "big.jsonl") == digest
                assert db.move_run("big", there) == "big"
            assert [row.run for row in there.runs()] == ["big"]
            assert there.export_run("big", folder / "big.jsonl") == digest
        audit(folder / "one.db")
        audit(folder / "two.db")

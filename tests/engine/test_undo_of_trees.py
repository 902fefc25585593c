"""Undo and rewind of a run take back what the runs below it wrote.

1. The work of a child is one edit of its parent, with the child beside each file; redo does it again. 2. What has changed
since stands in the way. 3. A workflow is one edit. 4. A rewind takes the edits and the shell commands of children back.
5. Models above and below are told.

spec: @undo @undo_told @rewind @purge
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from delegating import DONE, GO_ON, Cast, ended, gives
from workflow_steps import Steps, workflow
from workflow_steps import said as step_said

import engine
from engine import Conflict, NotFound
from engine.driving.lease import Lease


def work(db: engine.Database, root: Path, cast: Cast, **options: Any) -> engine.Result:
    given = {"max_depth": 2, "yolo": True, "sandbox": "off", **options}
    return db.run("Do it", model=cast, run="demo", root=root, **given)


def made(name: str, text: str = "new") -> str:
    return f'<set path="{name}">{text}\n</set>'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.md").write_text("old\n")
    return folder


@pytest.fixture
def tree(db: engine.Database, root: Path) -> engine.Database:
    """Turn 1 makes own.md; in turn 2 a child changes a.md and its own child makes deep.md, another child makes b.md."""
    cast = Cast(
        {
            "demo": [made("own.md") + GO_ON, gives("One", "Two"), DONE],
            "demo-1": ['<get path="a.md"/>', made("a.md") + gives("Deep"), made("c.md") + ended()],
            "demo-2": [made("b.md") + ended()],
            "demo-1-1": [made("deep.md") + ended()],
        }
    )
    assert work(db, root, cast).status == 200
    return db


def touched(done: engine.Undone) -> list[tuple[str, str, str | None]]:
    return [(each["path"], each["change"], each["child"]) for each in done.files]


def names(root: Path) -> set[str]:
    return {path.name for path in root.iterdir() if path.is_file()}


FIRST = [("a.md", "changed", "demo-1"), ("c.md", "removed", "demo-1"), ("deep.md", "removed", "demo-1-1")]


def test_the_work_of_a_child_is_one_edit_of_its_parent(tree: engine.Database, root: Path) -> None:
    # which of the two wrote last is not known
    both = [touched(tree.undo("demo")), touched(tree.undo("demo"))]
    assert sorted(both, key=len) == [[("b.md", "removed", "demo-2")], FIRST]
    assert names(root) == {"a.md", "own.md"}
    assert (root / "a.md").read_text() == "old\n"
    assert touched(tree.undo("demo")) == [("own.md", "removed", None)]
    with pytest.raises(NotFound, match="there is no edit to undo"):
        tree.undo("demo")
    with pytest.raises(NotFound, match="there is no edit to undo"):
        tree.undo("demo-1")
    for _ in range(3):
        tree.undo("demo", redo=True)
    assert names(root) == {"a.md", "b.md", "c.md", "deep.md", "own.md"}
    assert (root / "a.md").read_text() == "new\n"


def test_a_turn_takes_all_of_its_children_and_a_child_is_taken_back_by_name(tree: engine.Database, root: Path) -> None:
    planned = tree.undo("demo", 2, dry_run=True)
    assert touched(planned) == [FIRST[0], ("b.md", "removed", "demo-2"), *FIRST[1:]]
    assert "set b.md, turn 1 of demo-2" in planned.edits
    assert touched(tree.undo("demo-1")) == [("c.md", "removed", None)]
    assert touched(tree.undo("demo", 2)) == [FIRST[0], ("b.md", "removed", "demo-2"), FIRST[2]]
    assert touched(tree.undo("demo", redo=True)) == [
        ("a.md", "changed", "demo-1"),
        ("b.md", "brought back", "demo-2"),
        ("deep.md", "brought back", "demo-1-1"),
    ]
    rows = tree.rows("select distinct child from undoable_edits where run = 'demo' and turn = 2 order by child")
    assert [row["child"] for row in rows] == ["demo-1", "demo-1-1", "demo-2"]


def test_a_file_of_a_child_that_changed_since_is_refused_with_its_diff(tree: engine.Database, root: Path) -> None:
    (root / "deep.md").write_text("mine\n")
    planned = tree.undo("demo", 2, dry_run=True)
    assert planned.status == 409
    (deep,) = [each for each in planned.files if each["stays"]]
    assert (deep["child"], deep["stays"]) == ("demo-1-1", "has changed since the edit")
    assert "+mine" in str(deep["since"])
    with pytest.raises(Conflict, match=r"deep.md has changed since the edit; nothing was taken back"):
        tree.undo("demo", 2)
    assert names(root) == {"a.md", "b.md", "c.md", "deep.md", "own.md"}


def test_a_child_that_is_driven_is_named(tree: engine.Database) -> None:
    with Lease(tree, "demo-1-1"), pytest.raises(Conflict, match="run demo-1-1: a process works on it"):
        tree.undo("demo", 2)


def test_models_above_and_below_are_told(tree: engine.Database, root: Path) -> None:
    tree.undo("demo", 2)
    tree.undo("demo", redo=True)
    tree.undo("demo-2")
    told = "select body from known_entries where run = ? and path glob 'log://undo/*' order by path"
    for run in ("demo", "demo-2"):
        tree.run("Go on", run=run, model=Cast({}))
    taken, again, child = (str(row["body"]) for row in tree.rows(told, ("demo",)))
    assert "<set> of turn 2 of demo-1" in taken
    assert "Done again" in again
    assert "<set> of turn 1 of demo-2" in child
    assert len(tree.rows(told, ("demo-2",))) == 3
    assert "<set> of turn 1." in str(tree.rows(told, ("demo-2",))[2]["body"])


def test_a_workflow_is_one_edit(db: engine.Database, tmp_path: Path, root: Path) -> None:
    steps = Steps(one=[made("b.md") + step_said("b")], two=[made("c.md") + step_said("c")])
    path = workflow(tmp_path, {"one": {}, "two": {"needs": ["one"]}})
    assert db.run_workflow(path, run="wf", root=root, model=steps, yolo=True).status == 200
    assert touched(db.undo("wf")) == [("b.md", "removed", "wf-one"), ("c.md", "removed", "wf-two")]
    assert names(root) == {"a.md"}


def test_a_rewind_takes_back_what_children_and_their_commands_changed(db: engine.Database, root: Path) -> None:
    cast = Cast(
        {
            "demo": ['<get path="*"/>', gives("One", "Two"), DONE],
            "demo-1": ['<get path="a.md"/>', made("a.md") + GO_ON, "<sh>echo x > shell.txt</sh>", ended()],
            "demo-2": [made("b.md") + ended()],
        }
    )
    assert work(db, root, cast).status == 200
    assert names(root) == {"a.md", "b.md", "shell.txt"}
    # the same text is written again
    db.undo("demo", 2)
    db.undo("demo", redo=True)
    done = db.rewind("demo", 2, files=True)
    assert len(done.files) == 3
    assert {each["path"]: (each["child"], each["stays"]) for each in done.files} == {
        "a.md": ("demo-1", None),
        "b.md": ("demo-2", None),
        "shell.txt": (None, None),
    }
    assert names(root) == {"a.md"}
    assert (root / "a.md").read_text() == "old\n"
    db.undo("demo")
    assert names(root) == {"a.md", "b.md", "shell.txt"}


def test_a_tree_keeps_its_children_when_a_rewind_renames_its_top(db: engine.Database, root: Path) -> None:
    cast = Cast({"demo": ['<get path="*"/>', gives("One"), DONE], "demo-1": [made("b.md") + ended()]})
    assert work(db, root, cast, yolo=False).status == 202
    assert db.rewind("demo", 2, files=True).old == "demo.1"
    assert db.proposals("demo") == []
    (waiting,) = db.proposals("demo.1")
    assert waiting["tree"] == "demo.1 > demo-1"
    db.abort("demo.1", "enough")
    status = {run.run: run.status for run in db.runs()}
    assert (status["demo.1"], status["demo-1"]) == (499, 499)
    # the new line has children of its own, by another name
    assert work(db, root, Cast({"demo": ["", "", gives("Two"), DONE]})).status == 200
    assert db.value("select run from tree_runs where top = 'demo' and level = 1") == "demo-2"


def test_the_new_line_of_a_child_stays_below_its_parent(db: engine.Database, root: Path) -> None:
    cast = Cast({"demo": [gives("One"), DONE], "demo-1": [made("first.md") + GO_ON, made("second.md") + ended()]})
    assert work(db, root, cast).status == 200
    assert db.rewind("demo-1", 2, files=True).old == "demo-1.1"
    assert names(root) == {"a.md", "first.md"}
    below = db.sql("select run, tree, level from tree_runs where top = 'demo' and level order by run")
    assert [tuple(row.values()) for row in below] == [
        ("demo-1", "demo > demo-1", 1),
        ("demo-1.1", "demo > demo-1.1", 1),
    ]
    db.run("Again", model=Cast({"demo-1": ["", "", made("late.md") + ended()]}), run="demo-1", yolo=True, sandbox="off")
    assert touched(db.undo("demo")) == [("late.md", "removed", "demo-1")]
    # the rewind of a child is an edit of its parent as well
    assert touched(db.undo("demo")) == [("second.md", "brought back", "demo-1")]
    assert db.value("select forked_at from runs where alias = 'demo-1'") is None
    assert len(touched(db.undo("demo"))) == 2
    assert names(root) == {"a.md"}
    for _ in range(3):
        db.undo("demo", redo=True)
    assert names(root) == {"a.md", "first.md", "late.md"}
    assert db.value("select forked_at from runs where alias = 'demo-1'") == 2
    db.purge("demo", tree=True)
    assert db.runs() == []


def test_what_a_person_asked_a_child_for_later_is_an_edit_of_its_own(db: engine.Database, root: Path) -> None:
    """The later prompt of demo-1 delegates, too: for demo that is one edit, as it is for demo-1."""
    cast = Cast(
        {
            "demo": [gives("One"), DONE],
            "demo-1": [gives("Deep"), made("one.md") + ended(), gives("More"), made("late.md") + ended()],
            "demo-1-1": [made("deep.md") + ended(), made("asked.md") + ended()],
            "demo-1-2": [made("more.md") + ended()],
        }
    )
    assert work(db, root, cast).status == 200
    assert db.run("And more", model=cast, run="demo-1", max_depth=2, yolo=True, sandbox="off").status == 200
    assert db.run("And this", model=cast, run="demo-1-1", yolo=True, sandbox="off").status == 200
    assert {path for path, _, _ in touched(db.undo("demo", 1, dry_run=True))} == {"deep.md", "one.md"}
    later = [("asked.md", "removed", "demo-1-1"), ("late.md", "removed", "demo-1"), ("more.md", "removed", "demo-1-2")]
    assert touched(db.undo("demo-1", dry_run=True)) == later[:1]
    assert [touched(db.undo("demo")) for _ in later] == [[each] for each in later]
    assert {path for path, _, _ in touched(db.undo("demo"))} == {"deep.md", "one.md"}
    assert names(root) == {"a.md"}


def test_a_fork_takes_back_no_later_work_of_a_child(db: engine.Database, root: Path) -> None:
    """A child of the run that was forked goes on: what it wrote behind the fork is none of the fork's past."""
    cast = Cast({"demo": [gives("One"), GO_ON, DONE], "demo-1": [made("one.md") + ended(), made("late.md") + ended()]})
    assert work(db, root, cast).status == 200
    db.fork("demo", "copy", 3)
    assert db.run("More", model=cast, run="demo-1", yolo=True, sandbox="off").status == 200
    assert [each["path"] for each in db.undo("copy", dry_run=True).files] == ["one.md"]
    assert "late.md" not in [
        each["path"] for each in db.rewind("copy", 2, files=True, dry_run=True).files if not each["stays"]
    ]


def test_a_fork_of_a_turn_that_is_not_there_is_refused(db: engine.Database, root: Path) -> None:
    assert work(db, root, Cast({"demo": [DONE]})).status == 200
    with pytest.raises(NotFound, match="run demo: has no turn 99; its last turn is 1"):
        db.fork("demo", "copy", 99)

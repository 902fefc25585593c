"""A model replaces or removes only a text that it has seen.

spec: @seen_files
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from engine_cli import script

import engine
from engine.project.workspace import Workspace

READ = '<get path="a.txt"/>'
ON = '<update status="102">on</update>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "folder"
    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\n")
    return root


def run(folder: Path, *answers: str, name: str = "demo", **options: Any) -> list[tuple[str, str | None]]:
    """The actions on files of a run with these answers, each with its outcome."""
    model = script(folder.parent / f"{name}.jsonl", [{"text": answer} for answer in answers])
    with engine.open(folder.parent / "t.db") as db:
        db.run("go", run=name, model=model, root=folder, yolo=True, **options)
        rows = db.rows(
            "select c.action, c.outcome from commands as c join runs as r on r.id = c.run_id "
            "where r.alias = ? and c.action in ('set', 'rm', 'cp', 'mv') and c.turn_id is not null order by c.id",
            (name,),
        )
    return [(row["action"], row["outcome"]) for row in rows]


def test_a_text_that_was_read_is_replaced(folder: Path) -> None:
    assert run(folder, READ, '<set path="a.txt">new</set>') == [("set", None)]
    assert (folder / "a.txt").read_text() == "new\n"


def test_reading_and_replacing_in_one_answer_is_too_soon(folder: Path) -> None:
    assert run(folder, READ + '<set path="a.txt">new</set>', "done") == [("set", "conflict")]
    assert (folder / "a.txt").read_text() == "one\ntwo\n"


def test_a_part_of_it_is_not_all_of_it(folder: Path) -> None:
    assert run(folder, '<get path="a.txt" line="1" limit="1"/>', '<set path="a.txt">new</set>', "x") == [
        ("set", "conflict")
    ]


def test_what_changed_on_disk_since_is_told_as_changed(folder: Path) -> None:
    answers = (
        READ,
        '<set path="a.txt" visibility="archived"/>' + ON,
        "<sh>echo three >> a.txt</sh>",
        '<rm path="a.txt"/>',
        "x",
    )
    assert run(folder, *answers)[-1] == ("rm", "conflict")
    with engine.open(folder.parent / "t.db") as db:
        said = db.value("select message from commands where action = 'rm'")
    assert "changed on disk since you read it" in said


def test_a_file_that_is_written_again_at_once_is_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Workspace.write

    def write_twice(self: Workspace, path: str, *text: str, **expected: Any) -> str:
        digest = write(self, path, *text, **expected)
        (folder / path).write_text("by another program\n")
        return digest

    monkeypatch.setattr(Workspace, "write", write_twice)
    assert run(folder, '<set path="b.txt">b</set>' + ON, "done") == [("set", None)]
    run(folder, "done", name="another")
    with engine.open(folder.parent / "t.db") as db:
        assert (
            db.value("select body from known_entries where run = 'demo' and path = 'b.txt'") == "by another program\n"
        )


def test_its_own_writes_a_run_knows(folder: Path) -> None:
    answers = ('<set path="b.txt">b</set>' + ON, '<set path="b.txt">c</set>' + ON, '<rm path="b.txt"/>' + ON, "done")
    assert run(folder, *answers) == [("set", None), ("set", None), ("rm", None)]
    assert not (folder / "b.txt").exists()


def test_two_writes_of_a_new_file_in_one_answer(folder: Path) -> None:
    assert run(folder, '<set path="b.txt">b</set><set path="b.txt">c</set>', "done") == [("set", None), ("set", None)]
    assert (folder / "b.txt").read_text() == "c\n"


def test_another_run_has_to_read_what_this_one_wrote(folder: Path) -> None:
    run(folder, '<set path="b.txt">b</set>')
    assert run(folder, '<set path="b.txt">c</set>', "x", name="other") == [("set", "conflict")]


def test_a_fork_has_seen_what_its_parent_saw(folder: Path) -> None:
    run(folder, READ, ON, '<set path="b.txt">b</set>')
    model = script(
        folder.parent / "fork.jsonl",
        [{"text": '<set path="a.txt">new</set><rm path="b.txt"/>'}] * 4,
    )
    with engine.open(folder.parent / "t.db") as db:
        db.fork("demo", "fork")
        db.run("go", run="fork", model=model, yolo=True)
    assert (folder / "a.txt").read_text() == "new\n"
    assert not (folder / "b.txt").exists()


def test_an_option_switches_it_off_and_a_client_is_not_asked(folder: Path) -> None:
    assert run(folder, '<set path="a.txt">new</set>', overwrite_unseen=True) == [("set", None)]
    assert (folder / "a.txt").read_text() == "new\n"
    with engine.open(folder.parent / "t.db") as db:
        db.insert("verb_set", run="demo", path="a.txt", body="by a client")
        assert db.value("select outcome from commands where writer = 'client' and path = 'a.txt'") is None


def test_a_patch_that_removes_or_adds_names_nothing_of_the_text(folder: Path) -> None:
    removal = "<set>*** Begin Patch\n*** Delete File: a.txt\n*** End Patch</set>"
    change = "<set>*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch</set>" + ON
    assert run(folder, removal, READ, change, removal, "done") == [("set", "conflict"), ("set", None), ("set", None)]


@pytest.mark.parametrize(
    "body",
    [
        "<<APPEND\nx\nAPPEND<<NEW\nnew\nNEW",
        "<<SEARCH\none\nSEARCH<<REPLACE\n1\nREPLACE<<NEW\nnew\nNEW",
        "s/.+/x/g",
        "s/[\\s\\S]*//g",
    ],
)
def test_what_names_nothing_of_the_text_replaces_the_whole(folder: Path, body: str) -> None:
    assert run(folder, f'<set path="a.txt">{body}</set>', "done") == [("set", "conflict")]
    assert (folder / "a.txt").read_text() == "one\ntwo\n"


def test_a_regular_expression_for_a_part_needs_no_reading(folder: Path) -> None:
    assert run(folder, '<set path="a.txt">s/t.o/2/</set>', "done") == [("set", None)]
    assert (folder / "a.txt").read_text() == "one\n2\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('<set path="a.txt"><<APPEND\nx\nAPPEND</set>', '<set path="a.txt">new</set>'),
        ('<set path="a.txt">s/one/1/</set>', '<rm path="a.txt"/>'),
        ('<mv path="a.txt" to="b.txt"/>', '<rm path="b.txt"/>'),
        (
            "<set>*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n@@\n-one\n+1\n*** End Patch</set>",
            '<set path="b.txt">new</set>',
        ),
    ],
)
def test_a_text_that_was_not_seen_stays_unseen_where_a_run_changes_or_moves_it(
    folder: Path, first: str, second: str
) -> None:
    assert [outcome for _, outcome in run(folder, first + second, "done")] == [None, "conflict"]


def test_a_text_that_was_seen_stays_seen_where_a_run_changes_and_moves_it(folder: Path) -> None:
    answer = '<set path="a.txt"><<APPEND\nx\nAPPEND</set><mv path="a.txt" to="b.txt"/><set path="b.txt">new</set>'
    assert run(folder, READ, answer, "done") == [("set", None), ("mv", None), ("set", None)]
    assert (folder / "b.txt").read_text() == "new\n"

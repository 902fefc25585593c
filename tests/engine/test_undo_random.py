"""Random edits, against a model of the folder in plain Python: what was done is on the disk, each undo takes back the newest
change, each redo brings it again, and entries say what the disk has.

spec: @undo @files
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from campaign import examples
from driving import DONE, script
from fresh import fresh
from hypothesis import given
from hypothesis import strategies as st
from test_undo import texts

import engine

NAMES = ["a.txt", "b.txt", "d/c.txt", "d/e/f.txt"]
TEXTS = st.sampled_from(["", "one", "two"])
ACTIONS = st.one_of(
    st.tuples(st.just("set"), st.sampled_from(NAMES), TEXTS),
    st.tuples(st.just("rm"), st.sampled_from(NAMES), st.none()),
    st.tuples(st.sampled_from(["mv", "cp"]), st.sampled_from(NAMES), st.sampled_from(NAMES)),
)
Files = dict[str, str]


def command(action: str, path: str, other: str | None) -> str:
    if action == "set":
        return f'<set path="{path}"><<NEW\n{other}\nNEW</set>' if other else f'<set path="{path}"><<NEW\nNEW</set>'
    return f'<{action} path="{path}"/>' if other is None else f'<{action} path="{path}" to="{other}"/>'


def changed(files: Files, action: str, path: str, other: str | None) -> Files:
    if action == "set":
        return files | {path: f"{other}\n" if other else ""}
    if path not in files or path == other:
        return files
    kept = {name: text for name, text in files.items() if action == "cp" or name != path}
    return kept if other is None else kept | {other: files[path]}


@examples(15)
@given(st.lists(ACTIONS, min_size=1, max_size=8))
def test_edits_are_taken_back_and_done_again(actions: list[tuple[str, str, str | None]]) -> None:
    with tempfile.TemporaryDirectory() as name, fresh() as db:
        root = Path(name) / "root"
        root.mkdir()
        (root / "a.txt").write_text("a\n")
        (root / "b.txt").write_text("b\n")
        states = [texts(root)]
        model = script(Path(name), *(command(*each) + DONE for each in actions))
        for each in actions:
            options = {"yolo": True, "sandbox": "off", "overwrite_unseen": True, "max_turns": 1}
            db.run("Go", run="demo", model=model, root=root, **options)  # type: ignore[arg-type]
            wanted = changed(states[-1], *each)
            assert texts(root) == wanted, each
            if wanted != states[-1]:
                states.append(wanted)
        for wanted in reversed(states[:-1]):
            db.undo("demo")
            assert texts(root) == wanted
        for wanted in states[1:]:
            db.undo("demo", redo=True)
            assert texts(root) == wanted
        heads = (
            "select e.path, c.body from entries as e join contents as c on c.id = e.content_id where e.kind = 'file'"
        )
        assert {row["path"]: row["body"] for row in db.rows(heads)} == texts(root)


def test_a_write_of_what_was_there_is_no_edit(db: engine.Database, tmp_path: Path) -> None:
    """It was taken back first, and nothing changed."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("a\n")
    answers = ('<set path="a.txt">b</set>', '<set path="a.txt">b</set>', '<set path="e.txt"><<NEW\nNEW</set>')
    model = script(tmp_path, *(answer + DONE for answer in answers))
    for _ in answers:
        db.run("Go", run="demo", model=model, root=root, yolo=True, overwrite_unseen=True)
    assert [each["path"] for each in db.undo("demo").files] == ["e.txt"]
    assert [each["path"] for each in db.undo("demo").files] == ["a.txt"]
    assert texts(root) == {"a.txt": "a\n"}

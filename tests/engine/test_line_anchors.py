"""The option line_anchors in a run: what is shown, what is told, and what an edit does to the file.

spec: @line_anchors @seen_files
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON

import engine
from engine.models.protocol import Completion, Request

GET = f'<get path="a.py"/>{GO_ON}'


class Editor:
    """A model of an app that edits by the anchors that it was shown: `{N}` in an answer is the anchor of line N."""

    def __init__(self, *answers: str) -> None:
        self.answers = iter(answers)
        self.asked: list[str] = []

    def complete(self, request: Request, *_: Any) -> Completion:
        system, user = (message.content for message in request.messages)
        self.asked.append(system + user)
        visible = re.search(r"<visible>(.*)</visible>", user, re.DOTALL)
        anchors = re.findall(r"^(\d+:\w{3})\|", visible[1], re.MULTILINE) if visible else []
        answer = next(self.answers)
        return Completion(re.sub(r"\{(\d+)\}", lambda found: anchors[int(found[1]) - 1], answer))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.py").write_text("import os\n\nport = 80\nprint(port)\n")
    return root


def run(db: engine.Database, folder: Path, *answers: str, anchors: bool = True) -> Editor:
    if anchors:
        db.execute("update settings set value = 1 where name = 'line_anchors'")
    editor = Editor(*answers)
    db.run("Edit", run="demo", model=editor, root=folder, yolo=True)
    return editor


def test_an_edit_names_the_anchors_that_were_shown(db: engine.Database, folder: Path) -> None:
    body = "<<DELETE {1}..{2} DELETE\n<<REPLACE {3}\nport = 8080\nREPLACE\n<<AFTER {4}\nprint('</set>')\nAFTER"
    editor = run(db, folder, GET, f'<set path="a.py">{body}</set>{GO_ON}', DONE)
    assert (folder / "a.py").read_text() == "port = 8080\nprint(port)\nprint('</set>')\n"
    assert "## Line anchors" in editor.asked[1]
    assert re.search(r"\n3:[0-9a-f]{3}\|port = 80\n", editor.asked[1])
    assert re.search(r"\n1:[0-9a-f]{3}\|port = 8080\n", editor.asked[2])
    kept = db.rows("select group_concat(body, '') as body from packet_texts where turn = 2")
    assert "|port = 80\n" in kept[0]["body"]


def test_a_stale_anchor_changes_nothing_and_tells_the_lines(db: engine.Database, folder: Path) -> None:
    run(db, folder, GET, f'<set path="a.py"><<REPLACE 3:000\nport = 1\nREPLACE</set>{GO_ON}', DONE)
    assert (folder / "a.py").read_text() == "import os\n\nport = 80\nprint(port)\n"
    row = db.row("select outcome, message from commands where action = 'set' and turn_id is not null")
    assert row is not None
    assert row["outcome"] == "conflict"
    assert "|port = 80" in row["message"]


def test_an_anchor_that_matches_was_seen(db: engine.Database, folder: Path) -> None:
    from engine.functions.edits.anchors import anchor_lines

    anchor = (anchor_lines((folder / "a.py").read_text()) or "").split("\n")[2].partition("|")[0]
    run(db, folder, f'<set path="a.py"><<REPLACE {anchor}\nport = 1\nREPLACE</set>{GO_ON}', DONE)
    assert (folder / "a.py").read_text() == "import os\n\nport = 1\nprint(port)\n"


def test_without_the_option_nothing_is_shown_or_told(db: engine.Database, folder: Path) -> None:
    editor = run(db, folder, GET, DONE, anchors=False)
    assert "anchor" not in "".join(editor.asked)
    assert "\nport = 80\n" in editor.asked[1]

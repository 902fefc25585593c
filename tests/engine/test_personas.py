"""A person's own personas: added, used, kept by a rebuild, removed.

spec: @personas
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from driving import DONE, script
from engine_cli import engine as cli
from fresh import fresh

import engine
from engine.config import personas
from engine.errors import Conflict, EngineError, NotFound


def test_a_persona_is_added_used_and_kept(db: engine.Database, tmp_path: Path) -> None:
    (tmp_path / "editor.md").write_text("\nYou edit.\n", encoding="utf-8")
    assert personas.add(db, tmp_path / "editor.md") == "editor"
    db.run("Look", run="demo", model=script(tmp_path, DONE), persona="editor")
    system = db.value("select body from packet_texts where role = 'system'")
    assert system.endswith("# Persona\n\nYou edit.\n")
    with pytest.raises(Conflict, match="is used by runs, such as demo"):
        personas.remove(db, "editor")
    personas.add(db, tmp_path / "editor.md", "other")
    personas.remove(db, "other")
    with pytest.raises(NotFound):
        personas.remove(db, "other")
    for name in ("default", "reviewer"):
        with pytest.raises(Conflict, match="is built in"):
            personas.add(db, tmp_path / "editor.md", name)
        with pytest.raises(Conflict, match="is built in"):
            personas.remove(db, name)


def test_a_rebuild_renews_those_of_the_engine_only(tmp_path: Path) -> None:
    (tmp_path / "editor.md").write_text("You edit.\n", encoding="utf-8")
    with fresh() as db:
        personas.add(db, tmp_path / "editor.md")
        shipped = db.value("select body from personas where name = 'default'")
        db.execute("update personas set body = 'old'")
        db.execute("update engine_meta set value = 'another' where key = 'sources'")
        path = db.path
    with engine.open(path) as db:
        found = {row["name"]: row["body"] for row in db.rows("select name, body from personas")}
    assert (found["default"], found["editor"]) == (shipped, "old")


@pytest.mark.parametrize(
    ("data", "name", "status"),
    [
        (b"", "x", 400),
        (b"\xff", "x", 400),
        (b"a\0b", "x", 400),
        (b"a" * 20_001, "x", 413),
        (b"a", "../x", 400),
        (b"a", "", 400),
    ],
)
def test_what_is_no_persona_is_refused(
    data: bytes, name: str, status: int, db: engine.Database, tmp_path: Path
) -> None:
    (tmp_path / "p.md").write_bytes(data)
    before = db.rows("select * from personas")
    with pytest.raises(EngineError) as told:
        personas.add(db, tmp_path / "p.md", name)
    assert told.value.status == status
    assert db.rows("select * from personas") == before


def test_the_commands_list_add_show_and_remove(tmp_path: Path) -> None:
    root = tmp_path / "p"
    root.mkdir()
    (root / "editor.md").write_text("You edit.\n", encoding="utf-8")
    assert "default" in cli(root, "personas", "list").stdout
    assert cli(root, "personas", "add", "editor.md").returncode == 0
    listed = json.loads(cli(root, "personas", "list", "--json").stdout)
    assert {row["name"]: row["origin"] for row in listed} == {
        "default": "engine",
        "reviewer": "engine",
        "editor": "own",
    }
    assert cli(root, "personas", "show", "editor").stdout == "You edit.\n"
    assert "did you mean editor?" in cli(root, "personas", "show", "editr").stderr
    assert cli(root, "personas", "rm", "editor").returncode == 0
    assert cli(root, "personas", "add", "nothing.md").returncode == 2

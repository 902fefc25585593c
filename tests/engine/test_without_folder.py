"""Runs that work in no folder: what their models are told of, and what is refused.

spec: @run_without_root @personas @acceptance
"""

from __future__ import annotations

from pathlib import Path

import pytest
from driving import DONE, GO_ON, script

import engine

SYSTEM = "select body from packet_texts where run = ? and turn = ? and role = 'system'"
MOST_TOKENS = 800


def refund(order: str, amount: float) -> str:
    """Give the money of an order back."""
    return f"{order}: {amount}"


def test_what_stands_before_the_prompt_is_short_and_tells_of_no_folder(tmp_path: Path) -> None:
    model = script(tmp_path, '<set path="known://a">b</set>' + GO_ON, DONE)
    with engine.open(tmp_path / "t.db", tools=[refund]) as db:
        db.run("Where is my parcel?", run="bot", model=model)
        first, second = db.value(SYSTEM, ("bot", 1)), db.value(SYSTEM, ("bot", 2))
        assert len(first) / 2 <= MOST_TOKENS, "at two characters a token, as is reckoned before a provider has counted"
        for word in ("<sh", "<env", "sh,", "env,", "folder", "project", "Persona", "## <get", "## <set"):
            assert word not in first
        assert "## <refund order=" in first
        assert "You MAY also call get, set, think, rm, cp, mv, " in first
        # the document of a command follows once it was called
        assert "## <set path=" in second
        assert "## <get" not in second


def test_a_run_in_a_folder_is_told_of_all_as_before(db: engine.Database, tmp_path: Path, workspace_dir: Path) -> None:
    db.run("Look", run="demo", model=script(tmp_path, DONE), root=workspace_dir)
    told = db.value(SYSTEM, ("demo", 1))
    for word in (
        "## <sh>",
        "## <env>",
        "## <get path",
        "# Persona",
        "A path without a scheme is a file of the project",
    ):
        assert word in told
    assert "You MAY also call" not in told


def test_a_persona_that_somebody_wrote_is_told_of(db: engine.Database, tmp_path: Path) -> None:
    db.execute("insert into personas (name, body, origin) values ('clerk', 'You are a clerk.', 'own')")
    db.run("Hello", run="demo", model=script(tmp_path, DONE), persona="clerk")
    db.run("Hello", run="other", model=script(tmp_path, DONE), persona="reviewer")
    assert "# Persona\n\nYou are a clerk." in db.value(SYSTEM, ("demo", 1))
    assert "# Persona" in db.value(SYSTEM, ("other", 1))


def test_a_command_line_that_accepts_is_refused_at_once(db: engine.Database, tmp_path: Path) -> None:
    with pytest.raises(engine.ValidationError, match="accept_command needs a folder, but this run has no folder"):
        db.run("Go", run="demo", model=script(tmp_path, DONE), accept_command="make test")
    with pytest.raises(engine.ValidationError, match="needs a folder"):
        db.start("Go", run="demo", model="scripted:none", accept_command="make test")
    assert db.runs() == []
    db.run("Go", run="demo", model=script(tmp_path, DONE), accept_command=None)
    with pytest.raises(engine.ValidationError, match="needs a folder"):
        db.start("On", run="demo", accept_command="make test")

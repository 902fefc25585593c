"""How hard a model thinks: who says it, what is refused, what is recorded.

spec: @effort
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from delegating import DONE, gives
from driving import begin, turn
from engine_cli import database, engine, script

import engine as library
from engine.functions.values import EFFORTS, value_error
from engine.models.protocol import Completion, Request


class Listening:
    """A model that takes an effort and notes it."""

    name = "listening"

    def __init__(self) -> None:
        self.heard: list[str | None] = []

    def complete(self, request: Request, on_delta: Any, cancelled: Any) -> Completion:
        self.heard.append(request.effort)
        return Completion(DONE)


class Deaf(Listening):
    """A model that takes none."""

    name = "deaf"
    takes_effort = False


def calls(db: library.Database) -> list[Any]:
    return [row["effort"] for row in db.rows("select effort from model_calls order by id")]


def test_an_effort_is_kept_for_the_run_and_recorded(db: library.Database) -> None:
    model = Listening()
    db.run("One", run="demo", model=model, effort="high")
    db.run("Two", run="demo", model=model)
    db.run("Three", run="demo", model=model, effort="none")
    db.run("Four", run="other", model=model)
    assert model.heard == ["high", "high", "none", None]
    assert calls(db) == ["high", "high", "none", None]


def test_a_model_that_takes_none_is_refused_where_one_was_asked_for(db: library.Database) -> None:
    with pytest.raises(
        library.ValidationError,
        match="has no effort levels, but effort low was given; choose another model or effort none",
    ):
        db.run("One", run="demo", model=Deaf(), effort="low")
    assert db.value("select count(*) from runs") == 0
    db.run("One", run="demo", model=Listening(), effort="low")
    with pytest.raises(library.ValidationError, match="has no effort levels"):
        db.run("Two", run="demo", model=Deaf())
    db.run("Two", run="demo", model=Deaf(), effort="none")
    assert calls(db) == ["low", None]


def test_a_setting_is_not_sent_to_a_model_that_takes_none(db: library.Database) -> None:
    db.execute("update settings set value = 'high' where name = 'effort'")
    deaf = Deaf()
    db.run("One", run="demo", model=deaf)
    assert (deaf.heard, calls(db)) == ([None], [None])


def test_a_key_of_the_folder_counts_and_one_that_is_gone_is_a_failed_call(folder: Path) -> None:
    pytest.importorskip("httpx2")
    (folder / ".env").write_text("ANTHROPIC_API_KEY=sk-ant-0123456789\n")
    env = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    words = ("run", "--run", "demo", "--model", "anthropic/claude-opus-4-1", "--effort", "high")
    assert engine(folder, "config", "--user", "model_deadline=0.01").returncode == 0
    done = engine(folder, *words, "One", env=env)
    assert (done.returncode, "no key" in done.stderr) == (1, False)
    with library.open(database(folder)) as db:
        assert calls(db) == ["high"]
        begin(db, "demo", "Two", model="anthropic/claude-opus-4-1")
    (folder / ".env").unlink()
    done = engine(folder, "resume", "demo", env=env)
    assert done.returncode == 1
    assert "no key for anthropic" in done.stderr
    with library.open(database(folder), read_only=True) as db:
        assert db.rows("select state, status from model_calls where id = 2") == [{"state": "failed", "status": 401}]


def test_the_answer_cache_tells_efforts_apart(db: library.Database) -> None:
    """spec: @answer_cache"""
    model = Listening()
    for run, effort in (("one", "low"), ("two", "high"), ("three", "low")):
        db.run("The very same", run=run, model=model, effort=effort, answer_cache=True)
    assert model.heard == ["low", "high"]


def test_what_is_no_effort_is_refused_everywhere(folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", [DONE])
    for words in (
        ("run", "--model", model, "--effort", "hard", "Go"),
        ("models", "add", "deep", model, "--effort", "hard"),
        ("config", "--user", "effort=hard"),
    ):
        done = engine(folder, *words)
        assert done.returncode == 2
        assert "one of none, minimal, low, medium, high, xhigh, max, not 'hard'" in done.stderr
    assert not database(folder).exists()


def test_the_command_line_takes_it(folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", [DONE] * 3)
    assert engine(folder, "models", "add", "deep", model, "--effort", "xhigh").returncode == 0
    assert "xhigh" in engine(folder, "models").stdout
    assert engine(folder, "run", "--run", "demo", "--model", "deep", "One").returncode == 0
    assert engine(folder, "run", "--run", "demo", "--effort", "low", "Two").returncode == 0
    assert engine(folder, "config", "demo", "effort=medium").returncode == 0
    assert engine(folder, "run", "--run", "demo", "Three").returncode == 0
    with library.open(database(folder), read_only=True) as db:
        assert calls(db) == ["xhigh", "low", "medium"]
    refused = engine(folder, "models", "add", "small", "local", "--effort", "low")
    assert (refused.returncode, "has no effort levels" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("own", "asked", "of_run", "allowed"),
    [
        ("thorough", "quick", None, True),
        ("quick", "thorough", None, False),
        ("quick", "unsaid", None, False),
        ("quick", "quick", None, True),
        ("quick", "thorough", "medium", True),  # what the run says holds for those below it
    ],
)
def test_a_tier_goes_by_the_effort_of_run_and_alias(
    db: library.Database, own: str, asked: str, of_run: str | None, allowed: bool
) -> None:
    """spec: @model_tiers"""
    for alias, effort in (("quick", "low"), ("thorough", "xhigh"), ("unsaid", None)):
        db.insert("models", alias=alias, actual="openai/gpt-5-codex", effort=effort, created_at=0)
    begin(db, "demo", model=own, max_depth=1, **({"effort": of_run} if of_run else {}))
    db.insert("_claim_lease", run="demo", token="t", holder="{}")
    db.insert("_offer_delegation", run="demo", lease="t")
    db.execute("update leases set expires_at = 0")
    turn(db, "demo", gives("part", model=asked))
    refusal = db.value("select refusal from _delegation_refusals")
    assert (refusal is None) is allowed, refusal


def test_the_constraint_of_the_tables_is_the_list_of_the_function(db: library.Database) -> None:
    assert all(value_error(effort, "effort", None, None) is None for effort in EFFORTS)
    for effort in EFFORTS:
        db.insert("models", alias=effort, actual="x/y", effort=effort, created_at=0)

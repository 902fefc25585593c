"""What is found by meaning while a run is driven.

1. Others can write to the file while an embedder works. 2. One that fails leaves words, which is told once. 3. What another
process took over is not stored. 4. An answer from the cache is told.

spec: @discovery @narrowed_tools @references_by_meaning @answer_cache
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import agents_project as project
import apsw
import pytest
from driving import DONE, GO_ON, script
from engine_cli import engine as cli
from test_discovery import _Letters, _Plugin

import engine
from engine import plugins
from engine.errors import EngineError

ROOT = {
    "AGENTS.md": "# Shop\n\nSee the [refund policy](docs/refunds.md).\n",
    "docs/refunds.md": "# Refunds\n\nMoney goes back to customers within 14 days.\n",
}
PROMPT = "Delete the old drafts"


class _Interrupted(_Letters):
    """Does something else before it makes its vectors."""

    def __init__(self, before: Callable[[], object]) -> None:
        super().__init__()
        self.before = before

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.before()
        return super().embed(texts)


@contextmanager
def embedding(before: Callable[[], object]) -> Iterator[_Interrupted]:
    plugin = _Plugin(given := _Interrupted(before))
    plugins.manager().register(plugin)
    try:
        yield given
    finally:
        plugins.manager().unregister(plugin)


def broken() -> None:
    raise RuntimeError("no weights")


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"narrow_tools": 1, "no_repo": True}, "select 1 from tool_narrowings where embedder = 'letters'"),
        ({}, "select 1 from known_entries where path = 'docs/refunds.md' and visibility = 'visible'"),
        ({"answer_cache": True, "no_repo": True}, "select 1 from _cached_answers where embedder = 'letters'"),
    ],
    ids=["tools", "references", "answers"],
)
def test_others_write_while_an_embedder_works(
    db: engine.Database, tmp_path: Path, options: dict[str, Any], found: str
) -> None:
    db.execute("create table notes (text text)")

    def write() -> None:
        other = apsw.Connection(str(db.path))
        other.set_busy_timeout(300_000)
        other.execute("insert into notes values ('written')")
        other.close()

    root = project.make(tmp_path / "shop", ROOT)
    with embedding(write) as embedder:
        db.run(PROMPT, run="demo", model=script(tmp_path, GO_ON, DONE), root=root, **options)
    assert embedder.texts
    assert db.value("select count(*) from notes") > 0
    assert db.value(found) == 1


def test_a_failing_embedder_leaves_words_and_is_told_once(db: engine.Database, tmp_path: Path) -> None:
    events: list[Any] = []
    model = script(tmp_path, GO_ON, DONE, GO_ON, DONE)
    with embedding(broken):
        for _ in range(2):
            result = db.run(PROMPT, run="demo", model=model, narrow_tools=1, no_web=True, on_event=events.append)
            assert result.status == 200
    told = [event["body"] for event in events if event["type"] == "embedder"]
    assert told == ["embedder 'letters': RuntimeError: no weights; tools are found by their words alone"]
    assert (
        db.rows("select tool, found_by, embedder from tool_choices where reason = 'found'")
        == [{"tool": "rm", "found_by": "words", "embedder": None}] * 2
    )


def test_what_another_process_took_over_is_not_stored(db: engine.Database, tmp_path: Path) -> None:
    def take_over() -> None:
        db.execute("update leases set token = 'another'")

    with (
        embedding(take_over),
        pytest.raises(EngineError, match=r"409 run demo: another process has taken over this run"),
    ):
        db.run(PROMPT, run="demo", model=script(tmp_path, DONE), narrow_tools=1)
    assert not db.rows("select 1 from tool_narrowings")
    assert db.value("select step from _next_steps where run = 'demo'") == "prepare"
    db.execute("delete from leases")
    db.execute("insert into _end_preparation (run) values ('demo')")
    assert db.value("select step from _next_steps where run = 'demo'") == "render"
    with pytest.raises(EngineError, match="409 run demo: has no turn to prepare"):
        db.execute("insert into _end_preparation (run) values ('demo')")


def test_an_answer_from_the_cache_is_told(tmp_path: Path) -> None:
    model = script(tmp_path, DONE)
    first, second = (
        cli(tmp_path, "run", "--cache", "--no-repo", "--run", run, "--model", model, PROMPT).stderr for run in "ab"
    )
    line = "from the answer cache, $0.0000 (turn 1 of run a)"
    assert (line in first, line in second) == (False, True)
    assert (line in cli(tmp_path, "log", "a").stdout, line in cli(tmp_path, "log", "b").stdout) == (False, True)
    assert re.search(r"\[1\] +from the answer cache", second)

"""Whole sessions, as a person has them: a model that works over a real package with a real test command.

1. Thirty turns of edit, red test, edit, green test: nothing is refused, nothing strikes. 2. Searches without a hit, a file
that is not there, a rejection with a reason, an absolute path: the run goes on.

spec: @repeated_commands @strikes @dispatch @pause_and_resume @absolute_paths
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, script

import engine

TEST = f"{sys.executable} -B -m unittest -q"
NAMES = ("add", "sub", "mul", "div", "neg", "inc", "dec", "twice")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package `calc` of eight functions that return nothing, with a test of each that is turned on one by one."""
    root = tmp_path / "package"
    (root / "calc").mkdir(parents=True)
    (root / "calc" / "__init__.py").write_text("".join(f"def {name}(a, b=2):\n    return None\n\n\n" for name in NAMES))
    (root / "test_calc.py").write_text(
        "import unittest\n\nimport calc\n\n\nclass Tests(unittest.TestCase):\n    pass\n"
    )
    return root


def edit(path: str, search: str, replace: str) -> str:
    return f'<set path="{path}"><<SEARCH\n{search}\nSEARCH\n<<REPLACE\n{replace}\nREPLACE</set>'


def work() -> Iterator[str]:
    """Thirty answers: look, then for each function a test that is red and a body that makes it green; twice a check."""
    yield f'<get path="calc/__init__.py"/><get path="test_calc.py"/>{GO_ON}'
    yield f"<sh>{TEST}</sh>{GO_ON}"
    for number, name in enumerate(NAMES):
        test = f"    def test_{name}(self):\n        self.assertEqual(calc.{name}(8), {number})\n"
        yield f'<set path="test_calc.py"><<APPEND\n{test}APPEND</set><sh>{TEST}</sh>{GO_ON}'
        if number % 2:
            yield f"<think>{name} returns nothing yet</think>{GO_ON}"
        body = edit(
            "calc/__init__.py", f"def {name}(a, b=2):\n    return None", f"def {name}(a, b=2):\n    return {number}"
        )
        yield f"{body}<sh>{TEST}</sh>{GO_ON}"
    for step in range(7):
        yield f'<set path="known://done">{step} of 7 checked</set>{GO_ON}'
    yield '<update status="200">All eight are done.</update>'


def outcomes(db: engine.Database, action: str) -> list[str | None]:
    rows = db.rows("select outcome from commands where turn_id is not null and action = ? order by id", (action,))
    return [row["outcome"] for row in rows]


def test_thirty_turns_of_red_and_green_go_through_without_a_strike(
    db: engine.Database, tmp_path: Path, package: Path
) -> None:
    answers = list(work())
    assert len(answers) == 30
    result = db.run("Make it work", model=script(tmp_path, *answers), root=package, yolo=True)
    assert (result.status, result.turns, result.answer) == (200, 30, "All eight are done.")
    assert outcomes(db, "sh")[1:] == ["exit:1", None] * len(NAMES), "red, then green, each time"
    assert set(outcomes(db, "set")) == {None}
    assert db.value("select max(streak) from turns") == 0
    assert db.value("select count(*) from turn_errors") == 0
    assert (package / "calc" / "__init__.py").read_text().count("return None") == 0


def test_searches_without_a_hit_a_missed_read_a_rejection_and_an_absolute_path(
    db: engine.Database, tmp_path: Path, package: Path
) -> None:
    greps = [f"<env>grep -rn {word} calc</env>{GO_ON}" for word in ("TODO", "FIXME", "XXX")]
    model = script(
        tmp_path,
        *greps,
        f'<get path="calc/none.py"/><get path="{package}/calc/__init__.py"/><set path="known://a">seen</set>{GO_ON}',
        f'<sh>rm -rf calc</sh><set path="known://b">removed</set>{DONE}',
        f'<set path="{package}/calc/more.py">x = 1\n</set>{DONE}',
    )

    def decide(proposal: dict[str, Any]) -> bool | None:
        if "rm -rf" not in proposal["target"]:
            return True
        db.resolve("demo", proposal["path"], accept=False, reason="keep the package, add to it")
        return None

    result = db.run("Look around", model=model, run="demo", root=package, on_proposal=decide)
    while db.value("select 1 from resumable_runs where run = 'demo'"):
        result = db.resume("demo", on_proposal=decide)
    assert (result.status, result.turns, result.answer) == (200, 6, "Done.")
    assert outcomes(db, "env") == ["exit:1"] * 3
    assert outcomes(db, "get") == ["not_found", None]
    assert outcomes(db, "sh") == ["rejected"]
    assert outcomes(db, "set") == [None, "aborted", None]
    assert db.value("select max(streak) from turns") == 0
    assert "keep the package, add to it" in db.value("select body from packet_texts where turn = 6 and role = 'user'")
    assert (package / "calc" / "more.py").read_text() == "x = 1\n"
    assert (package / "calc" / "__init__.py").exists()

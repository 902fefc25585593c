"""Any two readable calls in a row are two calls, and nothing in thoughts is one: in all notations.

spec: @fuzz @parser @thoughts
"""

from __future__ import annotations

import pytest

from . import rows
from .notations import NOTATIONS, OWN, THOUGHTS


@pytest.mark.parametrize("seed", [1, 2])
def test_calls_in_a_row_are_these_calls(seed: int) -> None:
    assert [(row.text, fault) for row in rows.rows(2_500, seed) if (fault := rows.wrong(row))] == []


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_in_thoughts_is_a_call(seed: int) -> None:
    assert [(row.text, fault) for row in rows.thoughts(2_500, seed) if (fault := rows.wrong(row))] == []


def test_each_notation_is_among_them() -> None:
    assert len(rows.calls()) > len(NOTATIONS)
    assert {text.split(rows.MARK)[0] for text, _ in rows.calls()} >= {text.split("§")[0] for text in OWN[:7]}
    assert len(THOUGHTS) > 20


def test_a_call_that_is_lost_or_runs_in_thoughts_is_noticed() -> None:
    get = [{"action": "get", "path": "a"}]
    assert rows.wrong(rows.Row('<get path="a"/>', get)) is None
    assert rows.wrong(rows.Row('<get path="a"/>', [])) is not None
    assert rows.wrong(rows.Row('`<get path="a"/>`', get)) is not None
    assert rows.wrong(rows.Row("<think>a</think>", [], reasoning="b")) is not None

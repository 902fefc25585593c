"""A message counts one thing in the singular.

spec: @functions
"""

from __future__ import annotations

import pytest

import engine


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("1, 'turn'", "1 turn"),
        ("0, 'turn'", "0 turns"),
        ("1200, 'turn'", "1,200 turns"),
        ("1.0, 'second'", "1 second"),
        ("0.5, 'second'", "0.5 seconds"),
        ("1, 'entry', 'entries'", "1 entry"),
        ("2, 'entry', 'entries'", "2 entries"),
        ("null, 'turn'", None),
    ],
)
def test_a_count_has_its_noun(db: engine.Database, arguments: str, told: str | None) -> None:
    assert db.value(f"select counted({arguments})") == told

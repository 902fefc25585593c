"""The symbol map of a tree: what it shows, and what it says of the rest.

spec: @maps
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.functions.counts import counted
from engine.functions.sources.symbol_maps import symbol_map

SOURCE = "class A:\n    def b(self):\n        pass\n\ndef c(x):\n    pass\n"


def mapped(files: list[list[Any]], tokens: Any = None) -> str:
    return symbol_map("**", json.dumps(files), json.dumps({"limit": tokens})) or ""


def test_a_small_tree_is_shown_whole_in_the_order_of_its_paths() -> None:
    files = [["src/a.py", 6, SOURCE], ["notes.md", 1, "1: no symbol"], ["logo.bin", None, None], ["known://x", 1, "y"]]
    assert mapped(files) == (
        'MAP path="**": 3 files, 3 symbols\nlogo.bin (no text)\nnotes.md (1 line)\nsrc/a.py (6 lines)\n'
        "  1: class A\n  2:     def b(self)\n  5: def c(x)"
    )


def test_what_is_outermost_and_nearest_comes_first() -> None:
    symbols = "\n".join(f"{n}: {'    ' * (n % 2)}def name_{n}()" for n in range(1, 41))
    files = [[f"{'deep/' * n}f{m}.py", 400, symbols] for n in range(30) for m in range(3)]
    shown = mapped(files, 1000)
    assert shown.startswith('MAP path="**": 90 files, 3,600 symbols\n')
    assert "\nf0.py (400 lines)\n" in shown
    assert "  2: def name_2()" in shown
    assert "    def name_1()" not in shown
    assert "files and 3," in shown
    assert len(shown) <= 2_000
    assert mapped(random.Random(1).sample(files, len(files)), 1000) == shown


def test_a_summary_says_how_many_symbols_it_left_out() -> None:
    summary = "\n".join(["1: class A", "2:     def b(self)", "[… 7 more symbols]"])
    shown = mapped([["a.py", 90, summary]])
    assert "1 file, 9 symbols" in shown
    assert shown.endswith("[… 0 files and 7 symbols are left out; a narrower path or a larger limit shows them]")


def test_left_out_folders_are_named_with_the_command_that_shows_them() -> None:
    files = [[f"pkg{n % 12}/sub/deeper/f{n}.py", 1, "def x(): pass"] for n in range(400)]
    shown = mapped(files, 100)
    assert '* <get path="pkg0/sub/**" map/> - 34 files' in shown
    assert shown.count("* <get") == 10


def test_a_name_cannot_end_its_line_nor_steer_a_terminal() -> None:
    shown = mapped(
        [["a\n\x1b[2J/b\u202e.py", 1, "1: def \x1b]0;x()"], *[[f"z/{n}.py", 1, None] for n in range(99)]], 100
    )
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "a&#10;&#27;[2J" in shown


@pytest.mark.parametrize("limit", [0, -5, 10**30, [], "7", "lots", "\x1b"])
def test_any_limit_is_kept_to_or_told(limit: Any) -> None:
    shown = mapped([["a.py", 6, SOURCE]], limit)
    assert shown.startswith("MAP") or shown.endswith("is not a number of tokens.")
    assert "\x1b" not in shown


@given(
    st.lists(
        st.tuples(
            st.text("ab/._", min_size=1, max_size=12),
            st.integers(0, 99),
            st.none() | st.text("1: def\n[…", max_size=60),
        )
    ),
    st.integers(100, 600),
)
def test_a_map_stays_within_its_size_and_counts_all(files: list[Any], tokens: int) -> None:
    shown = mapped([list(file) for file in files], tokens)
    assert len(shown) <= max(2 * tokens, 0) + 900
    assert shown.startswith(f'MAP path="**": {counted(len(files), "file")}, ')


def test_null_is_null() -> None:
    assert symbol_map(None, None, None) is None

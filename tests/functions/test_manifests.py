"""Lists of entries: whole where they fit, by folders where they do not.

spec: @project_manifest
"""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing import check_cost

from engine.functions.manifests import manifest_text

FILES = {f"pkg{a}/mod{b}/f{c}.py": 100 * c for a in range(5) for b in range(20) for c in range(30)} | {"README.md": 40}


def told(files: dict[str, int | None], most: int | None, note: str | None = None) -> str:
    return manifest_text(json.dumps([[path, chars, note] for path, chars in sorted(files.items())]), 2, most) or ""


def test_a_list_that_fits_is_whole() -> None:
    files = {"a/b.py": 3, "a.md": 0}
    assert told(files, 100) == told(files, None) == "* a.md - 0 tokens\n* a/b.py - 2 tokens"
    assert told({"a.png": None}, 100, "binary file, 900 bytes") == "* a.png - binary file, 900 bytes"
    assert manifest_text("[]", 2, 100) is None


def test_a_list_that_is_too_long_names_folders() -> None:
    lines = told(FILES, 400).split("\n")
    assert lines[1:] == ["* README.md - 20 tokens"] + [f"* pkg{a}/ - 600 entries, 435,000 tokens" for a in range(5)]


def test_folders_are_opened_while_there_is_room() -> None:
    """From the top: all packages before any module."""
    lines = told(FILES, 6_000).split("\n")
    assert "* pkg4/mod9/ - 30 entries, 21,750 tokens" in lines
    assert not any(re.match(r"\* pkg\d/ ", line) for line in lines)
    files = {**FILES, "small/only.py": 2}
    assert "* small/only.py - 1 token" in told(files, 500)


def test_a_folder_of_very_many_files_is_cut() -> None:
    lines = told({f"f{n:05}.txt": 1 for n in range(10_000)}, 1_000).split("\n")
    assert lines[1] == "* f00000.txt - 1 token"
    assert re.fullmatch(r"\[… [\d,]+ more lines\]", lines[-1])


PATHS = st.dictionaries(
    st.lists(st.sampled_from(["a", "b", "cc"]), min_size=1, max_size=5).map("/".join), st.integers(0, 99)
)


@given(PATHS, st.integers(200, 2_000))
def test_every_entry_is_in_the_list_or_counted_once(files: dict[str, int | None], most: int) -> None:
    """A path may be a file and a folder of others, as entries of the engine are."""
    text = told(files, most)
    assert len(text) <= max(most, len(told(files, None)) if len(told(files, None)) <= most else most)
    counts = [int(found) for found in re.findall(r"/ - (\d+) entr", text)]
    plain = [line for line in text.split("\n") if line.startswith("* ") and "entr" not in line]
    assert len(plain) + sum(counts) == len(files) or "more line" in text


@pytest.mark.parametrize("most", [500, 50_000])
def test_a_large_tree_is_told_quickly(most: int) -> None:
    entries = json.dumps([[f"a{n % 25}/b{n % 500}/c{n}.py", n, None] for n in range(20_000)])
    deep = json.dumps([["d/" * 200 + f"{n}.py", n, None] for n in range(500)])

    def work() -> None:
        for text in (entries, deep):
            assert len(manifest_text(text, 2, most) or "") <= most

    check_cost(10, work)

"""A file that is written whole keeps what a model cannot see of it.

spec: @whole_writes
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.functions.rewrites import text_rewrite

LINES = st.lists(st.sampled_from(["", "a", "b", "  a", "é", "x = 1"]), min_size=1, max_size=8)
ENDS = st.sampled_from(["\n", "\r\n"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Texts with a mark or without, ends of one kind or of several, and a last line feed or none."""
    lines = draw(LINES)
    ends = draw(
        st.one_of(ENDS.map(lambda end: [end] * len(lines)), st.lists(ENDS, min_size=len(lines), max_size=len(lines)))
    )
    ends[-1] = draw(st.sampled_from([ends[-1], ""]))
    return draw(st.sampled_from(["", "\ufeff"])) + "".join(map("".join, zip(lines, ends, strict=True)))


def seen(text: str) -> str:
    """A text as a model sees it."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


@given(texts())
def test_a_text_that_is_repeated_as_it_is_seen_stays_byte_for_byte(text: str) -> None:
    shown = seen(text)
    assert text_rewrite(text, shown) == (text if shown else shown)
    if not shown.endswith("\n\n"):  # a model that leaves out the last line end leaves out no blank line
        assert text_rewrite(text, shown.removesuffix("\n")) == (text if shown.removesuffix("\n") else "")


@given(texts(), texts())
def test_what_is_written_is_what_was_meant(old: str, new: str) -> None:
    """The new text is the lines of `new`, with the mark and the last line feed of `old`, and no end that `old` has not."""
    meant = seen(new)
    written = text_rewrite(old, meant) or ""
    assert seen(written).rstrip("\n") == meant.rstrip("\n")
    if meant and seen(old):
        assert written.startswith("\ufeff") == old.startswith("\ufeff")
        assert written.endswith("\n") == old.endswith("\n") or not written or meant.endswith("\n\n")
    if "\r\n" not in old:
        assert "\r" not in written
    if "\n" not in old.replace("\r\n", "") and "\r\n" in old:
        assert "\n" not in written.replace("\r\n", "")


@given(LINES, st.data())
def test_lines_that_stay_keep_their_ends(lines: list[str], data: st.DataObject) -> None:
    ends = [data.draw(ENDS) for _ in lines]
    old = "".join(map("".join, zip(lines, ends, strict=True)))
    place = data.draw(st.integers(0, len(lines)))
    written = text_rewrite(
        old, seen(old) if place == len(lines) else "\n".join([*lines[:place], "new", *lines[place + 1 :], ""])
    )
    kept = (written or "").splitlines(keepends=True)
    expected = old.splitlines(keepends=True)
    assert kept[:place] == expected[:place]
    assert kept[place + 1 :] == expected[place + 1 :]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, "a", "a\n"),
        ("", "a\n", "a\n"),
        ("a\n", "", ""),
        ("a\rb\r", "1\n2", "1\r2\r"),
        ("a\n", "1\r\n2", "1\r\n2\n"),
        ("\ufeff", "a", "\ufeffa\n"),
        ("a\r\n" * 3, "\ufeffb", "\ufeffb\r\n"),
        ("a\r\nb\r\nc\n", "x\ny\nz", "x\r\ny\r\nz\r\n"),
        ("a", "b\n\n", "b\n"),
    ],
)
def test_ends_of_a_rewritten_file(old: str | None, new: str, expected: str) -> None:
    assert text_rewrite(old, new) == expected


def test_null_stays_null() -> None:
    assert text_rewrite("a", None) is None

"""What texts promise: 1. digests, 2. line counts, 3. slices, 4. summaries of every kind."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing import check_cost

from engine.functions.texts import body_short, body_summary, text_digest, text_lines, text_slice


def sliced(text: str, line: int | None, limit: int | None) -> tuple[str, int, int, int]:
    found = json.loads(text_slice(text, line, limit) or "")
    return found["text"], found["first"], found["last"], found["total"]


def test_null_stays_null() -> None:
    assert text_digest(None) is text_lines(None) is text_slice(None, 1, 1) is None
    assert body_summary("a.py", None) is None


def test_a_digest_is_that_of_the_bytes() -> None:
    assert text_digest("é") == hashlib.sha256("é".encode()).hexdigest()


@pytest.mark.parametrize(("text", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n", 1), ("\n\n", 2)])
def test_a_final_newline_begins_no_line(text: str, lines: int) -> None:
    assert text_lines(text) == lines


@pytest.mark.parametrize(
    ("line", "limit", "expected"),
    [
        (None, None, ("a\nb\nc\nd", 1, 4, 4)),
        (2, 2, ("b\nc", 2, 3, 4)),
        (0, 1, ("a", 1, 1, 4)),
        (-1, None, ("d", 4, 4, 4)),
        (-2, 1, ("c", 3, 3, 4)),
        (-99, 2, ("a\nb", 1, 2, 4)),
        (3, 99, ("c\nd", 3, 4, 4)),
        (2, 0, ("b", 2, 2, 4)),
        (2, -5, ("b", 2, 2, 4)),
        (9, 2, ("", 0, 0, 4)),
    ],
)
def test_a_slice_counts_from_either_end(
    line: int | None, limit: int | None, expected: tuple[str, int, int, int]
) -> None:
    assert sliced("a\nb\nc\nd\n", line, limit) == expected


def test_a_slice_of_nothing_is_empty() -> None:
    assert sliced("", 1, 5) == ("", 0, 0, 0)


@given(
    st.sampled_from([None, "a.py", "a.ts", "a.md", "sh://turn_1/x_1", "known://a", "prompt://1"]),
    st.text(max_size=2000),
)
def test_a_summary_is_never_longer_than_its_limit(path: str | None, body: str) -> None:
    assert len(body_summary(path, body) or "") <= 500


@given(st.sampled_from(["a.py", "a.go", "a.md", "env://turn_1/x_2"]), st.text(min_size=501, max_size=3000))
def test_a_cut_summary_says_so(path: str, body: str) -> None:
    assert "[… " in (body_summary(path, body) or "") or path == "a.py"


def test_a_short_body_is_shown_whole() -> None:
    assert body_summary("a.py", "x" * 500) == "x" * 500


def test_prose_is_cut_at_a_line_and_counts_the_rest() -> None:
    body = "one line of prose\n" * 100
    summary = body_summary("notes.md", body) or ""
    *lines, last = summary.split("\n")
    assert set(lines) == {"one line of prose"}
    assert last == f"[… {len(body) - len(chr(10).join(lines))} more characters]"


def test_the_short_form_is_a_number_where_the_summary_is_the_beginning() -> None:
    prose, code = "word " * 300, "def f():\n    pass\n" + "# filler\n" * 100
    kept = body_short("notes.md", prose)
    assert isinstance(kept, int)
    assert body_summary("notes.md", prose) == f"{prose[:kept]}\n[… {len(prose) - kept} more characters]"
    assert body_short("a.py", code) == body_summary("a.py", code) == "1: def f()"
    assert body_short("notes.md", "x" * 500) is body_short("notes.md", None) is None
    assert body_short("notes.md", "\0" + prose) == body_short("notes.md", "\ufffd" + prose)


def test_prose_without_lines_is_cut_at_a_word() -> None:
    text = (body_summary("notes.md", "word " * 300) or "").partition("\n")[0]
    assert text.endswith("word")


def test_python_is_summarized_by_its_symbols() -> None:
    body = (
        "import os\n\n\nclass Box(Base):\n"
        "    async def open(self, *, wide: bool = True, **more):\n        pass\n\n"
        "\ndef close(a, /, *rest):\n    pass\n" + "# filler\n" * 100
    )
    assert body_summary("src/box.py", body) == (
        "4: class Box(Base)\n5:     async def open(self, *, wide, **more)\n9: def close(a, *rest)"
    )


def test_python_that_does_not_parse_is_skimmed() -> None:
    assert body_summary("a.py", "def broken(:\n    pass\n" + "# filler\n" * 100) == "1: def broken("


def test_python_with_a_bad_escape_gives_no_warning() -> None:
    assert body_summary("a.py", "def f():\n    return '\\d'\n" + "# filler\n" * 100) == "1: def f()"


@pytest.mark.parametrize(
    ("path", "line", "symbol"),
    [
        ("a.ts", "export async function load(path: string) {", "2: export async function load(path: string)"),
        ("a.go", "func (b *Box) Open() error {", "2: func (b *Box) Open() error"),
        ("a.rs", "pub(crate) fn open(&self) -> bool {", "2: pub(crate) fn open(&self) -> bool"),
        ("a.java", "public interface Box {", "2: public interface Box"),
        ("a.c", "struct box {", "2: struct box"),
    ],
)
def test_other_code_is_summarized_by_its_headings(path: str, line: str, symbol: str) -> None:
    assert body_summary(path, f"\n{line}\n" + "x = 1\n" * 200) == symbol


def test_symbols_that_do_not_fit_are_counted() -> None:
    body = "".join(f"def function_number_{number}(): ...\n" for number in range(100))
    *shown, last = (body_summary("a.py", body) or "").split("\n")
    assert last == f"[… {100 - len(shown)} more symbols]"


def test_one_symbol_that_does_not_fit_is_one_symbol() -> None:
    def summary(count: int) -> str:
        return body_summary("a.py", "".join(f"def function_{n}(): ...\n" for n in range(10, 10 + count))) or ""

    fit = summary(80).count("\n")
    assert summary(fit + 1).endswith("\n[… 1 more symbol]")


def test_code_without_symbols_is_prose() -> None:
    assert (body_summary("a.py", "x = 1\n" * 200) or "").startswith("x = 1\n")


def test_output_is_summarized_by_its_end() -> None:
    body = "".join(f"line {number}\n" for number in range(500))
    lines = (body_summary("sh://turn_3/make_1", body) or "").splitlines()
    assert lines[1:] == [f"line {number}" for number in range(480, 500)]
    assert lines[0].endswith("earlier characters]")


def test_one_endless_line_of_output_is_cut_from_the_front() -> None:
    summary = body_summary("env://turn_3/x_1", "x" * 5000 + "end") or ""
    assert summary.endswith("xend")
    assert len(summary) <= 500


def test_summaries_of_prose_are_cheap() -> None:
    body = "some words in a line of prose\n" * 34
    check_cost(3, lambda: [body_summary("notes.md", body) for _ in range(5000)])


@given(
    st.text("ab\n", max_size=60),
    st.none() | st.integers(-70, 70),
    st.none() | st.integers(-3, 70),
    st.none() | st.integers(1, 70),
)
def test_a_slice_of_characters_says_which_they_are(
    text: str, char: int | None, chars: int | None, most: int | None
) -> None:
    found = json.loads(text_slice(text, None, None, char, chars, most) or "")
    whole = sliced(text, None, None)[0]
    assert most is None or len(found["text"]) <= most
    if "of" in found:
        assert found["of"] == len(whole)
        assert found["text"] == (whole[found["from"] - 1 : found["to"]] if found["from"] else "")
    else:
        assert whole.startswith(found["text"])
        assert found["text"] == sliced(text, 1, found["last"])[0] if found["last"] else not whole

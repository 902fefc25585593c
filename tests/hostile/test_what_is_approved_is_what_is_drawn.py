"""What a person is shown of a proposal is what would be written: nothing in it is hidden, and no two texts look the same.

1. What an eye would not see is an escape, and an escape is told from a text that looks like one. 2. Text of the world's
scripts and emoji is left alone. 3. Blanks that change are seen in a diff. 4. Letters of several scripts are named. 5. Every
drawing goes through this: the terminal's question, `engine proposals`, JSON.

spec: @drawing @proposals
"""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.display.escapes import drawn, drawn_diff, drawn_json, scripts_mixed
from engine.display.proposals import proposal_notes
from engine.terminal.proposals import proposal_lines

HIDDEN = (
    "\r\x0b\x0c\x1b\x7f\x85\x9b\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u180b\u180e\u2000\u2003\u200b\u200c\u200d\u200e\u200f"
    "\u2028\u2029\u202a\u202e\u202f\u2060\u2063\u2064\u2066\u2069\u206a\u2800\u3164\ufe00\ufe0e\ufe0f\ufeff\uffa0\ufff9"
    "\ue000\ud800\U000e0001\U000e0041\U000e007f\U000e0100\U000f0000\U0001d173\U0001bca0\U0001d159\u0378"
)
"""Characters that nobody sees: controls, blanks, joiners, directions, fillers, tags, selectors, private ones."""

READABLE = {
    "German": "Größe, Straße, „Übung“",
    "decomposed": unicodedata.normalize("NFD", "é ñ Å Việt Nam"),
    "Devanagari": "हिन्दी में लिखा हुआ",
    "Arabic": "مَرْحَبًا بِالعَالَم",
    "Hebrew": "בְּרֵאשִׁית בָּרָא",
    "Thai": "ภาษาไทยที่อ่านได้",
    "Chinese": "请提前准备好预算表。\u3000第二段",
    "Korean": "한국어 문장",
    "emoji": "😀 👩\u200d👩\u200d👧\u200d👦 👍🏽 🏳\ufe0f\u200d🌈 ❤\ufe0f 1\ufe0f\u20e3 🇩🇪",
    "flag of Scotland": "🏴" + "".join(chr(0xE0000 + ord(each)) for each in "gbsct") + "\U000e007f",
    "code": 'if a\\b and "\\n" in r"\\u202e": print(\'\\x1b[0m\')\t# §',
}

TEXTS = st.text(
    alphabet=st.one_of(
        st.sampled_from(HIDDEN + "\\u{}202e\t\n +-e\u0301\u0308א😀❤\ufe0f\u200d👩"),
        st.characters(exclude_categories=()),
    ),
    max_size=24,
)


# -- 1. nothing is hidden


@pytest.mark.parametrize("hidden", HIDDEN, ids=lambda each: f"U+{ord(each):04X}")
def test_what_an_eye_would_not_see_is_an_escape(hidden: str) -> None:
    assert drawn(f"a{hidden}b") == f"a\\u{{{ord(hidden):x}}}b"
    assert drawn(f"{hidden}") == f"\\u{{{ord(hidden):x}}}"


def test_an_escape_is_told_from_a_text_that_looks_like_one() -> None:
    assert drawn("\u202e") == "\\u{202e}"
    assert drawn("\\u{202e}") == "\\\\u{202e}"
    assert drawn("\\\u202e") == "\\\\\\u{202e}"
    assert drawn("\\u202e C:\\u \\\\n") == "\\u202e C:\\u \\\\n"


@given(TEXTS)
@example("\\\\\u202e\\u{1}")
def test_a_drawing_is_read_back_to_one_text(text: str) -> None:
    def read(found: re.Match[str]) -> str:
        slashes, escape = found[1], found[2]
        if not escape:
            return slashes
        half = "\\" * (len(slashes) // 2)
        return half + (chr(int(escape[2:-1], 16)) if len(slashes) % 2 else escape)

    assert re.sub(r"(\\+)(u\{[0-9a-f]+\})?", read, drawn(text)) == text


@given(TEXTS)
def test_a_drawing_holds_only_what_is_seen(text: str) -> None:
    shown = drawn(text)
    hidden = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"}
    seen = "\n\t \u3000\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
    for character in re.sub("[\u200d\ufe0f\u20e3]|[\U000e0061-\U000e007f]", "", shown):
        assert character in seen or unicodedata.category(character) not in hidden, hex(ord(character))


@given(TEXTS)
def test_json_says_the_same(text: str) -> None:
    if not any(0xD800 <= ord(each) < 0xE000 for each in text):
        assert json.loads(drawn_json(json.dumps({"text": text}, ensure_ascii=False))) == {"text": text}


def test_a_flood_of_marks_is_cut_into_escapes() -> None:
    shown = drawn("a" + "\u0301" * 30)
    assert shown.startswith("a\u0301\u0301\u0301\u0301\\u{301}")
    assert shown.count("\u0301") == 4
    assert drawn("\u0301a") == "\\u{301}a"
    assert drawn("a \u0301") == "a \\u{301}"
    assert drawn("\u200b\u0301") == "\\u{200b}\\u{301}"


# -- 2. ordinary text


@pytest.mark.parametrize("text", READABLE.values(), ids=READABLE)
def test_ordinary_text_reads_as_it_is(text: str) -> None:
    assert drawn(text) == text
    assert drawn_json(text) == text


# -- 3. diffs


HEAD = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n"


def lines(diff: str) -> list[str]:
    return drawn_diff(HEAD + diff)[3:]


def test_carriage_returns_of_all_lines_are_told_in_one() -> None:
    """Each line of a file of Windows ended in an escape. One line that differs has it, and so have all then."""
    told = "\\ All lines end in a carriage return and a line feed"
    assert drawn_diff(f"{HEAD} a\r\n-b\r\n+c\r\n")[2:] == [told, "@@ -1,2 +1,2 @@", " a", "-b", "+c", ""]
    assert drawn_diff(f"{HEAD}-b\r\n+c\n\\ No newline at end of file")[2] == told
    assert lines("-b\r\n+b") == ["-b\\u{d}", "+b"]
    assert lines("-b\n+b\r") == ["-b", "+b\\u{d}"]
    assert lines("-b\r \n+c\r \n") == ["-b\\u{d}\\u{20}", "+c\\u{d}\\u{20}", ""]


def test_blanks_at_the_end_of_a_changed_line_are_seen() -> None:
    assert lines("-a\n+a  \n b ") == ["-a", "+a\\u{20}\\u{20}", " b "]
    assert lines("-a\n+a\t") == ["-a", "+a\\u{9}"]
    assert lines("+a\r\n b") == ["+a\\u{d}", " b"]


def test_tabs_are_seen_where_only_blanks_change() -> None:
    assert lines("-    if x:\n+\tif x:") == ["-    if x:", "+\\u{9}if x:"]
    assert lines("-\told\n+\tnew") == ["-\told", "+\tnew"]


def test_a_line_is_one_line_whatever_it_holds() -> None:
    assert lines("+keep\u2028-rm -rf\x85-all\x0c-more") == ["+keep\\u{2028}-rm -rf\\u{85}-all\\u{c}-more"]
    assert lines("+\u0301x") == ["+\\u{301}x"]
    assert lines("--- a comment \n+++ another") == ["--- a comment\\u{20}", "+++ another"]


@given(
    st.lists(st.tuples(st.sampled_from(" +-"), st.text("ab \t\r\u2028\u200b\\u{}20", max_size=6)), max_size=8),
    st.data(),
)
def test_two_diffs_are_never_drawn_alike(rows: list[tuple[str, str]], data: st.DataObject) -> None:
    other = data.draw(st.lists(st.sampled_from(rows), max_size=len(rows))) if rows else []
    first, second = ("\n".join(sign + text for sign, text in each) for each in (rows, other))
    assert (first == second) == (lines(first) == lines(second))


# -- 4. scripts


def test_letters_of_several_scripts_are_named() -> None:
    said = scripts_mixed("r\u043c -rf build")
    assert said is not None
    assert "Cyrillic U+043C" in said
    assert scripts_mixed("echo ｒｍ") is not None
    assert scripts_mixed("echo 𝐫𝐦") is not None
    assert scripts_mixed("rm -rf build && echo 你好") is None
    assert scripts_mixed("привет") is None


# -- 5. everywhere


def proposal(kind: str, detail: str, target: str) -> dict[str, Any]:
    return {"kind": kind, "detail": detail, "target": target, "action": "sh"}


def test_a_proposal_is_drawn_by_one_function() -> None:
    assert proposal_lines(proposal("process", "echo a\u2028rm b\necho \u200b", "x")) == [
        "echo a\\u{2028}rm b",
        "echo \\u{200b}",
    ]
    assert proposal_lines(proposal("file_write", HEAD + "+a ", "x"))[-1] == "+a\\u{20}"
    assert proposal_notes(proposal("process", "r\u043c b", "r\u043c b"))[0].startswith(
        "note: holds letters of several scripts"
    )
    assert proposal_notes(proposal("file_write", HEAD, "m\u0430in.py"))
    assert proposal_notes(proposal("file_write", HEAD, "main.py")) == []

"""What a terminal shows of a text: 1. redrawn lines, 2. sequences, 3. pieces, 4. enemies.

spec: @shown_output
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing import check_cost

from engine.functions.terminals import Terminal, terminal_text

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


# 1. redrawn lines and 2. sequences


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("plain\ttext é\n", "plain\ttext é\n"),
        ("windows\r\nlines\r\n", "windows\nlines\n"),
        ("10%\r20%\r100%\ndone\n", "100%\ndone\n"),
        ("\r10%\r20%", "20%"),
        ("downloading\rdone\x1b[K\n", "done\n"),
        ("downloading\rdone       \n", "done\n"),
        ("99 of 100\r100 of 100", "100 of 100"),
        ("long frame\rab\n", "abng frame\n"),
        ("a  \n", "a  \n"),
        ("- \b\\ \b| \b/ \bdone", "-\\|/done"),
        ("N\bNA\bAM\bME\bE", "NAME"),
        ("\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3mtrue\x1b[m\n", "red true\n"),
        ("match\x1b[m\x1b[K here  \n", "match here  \n"),
        ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "alink\n"),
        ("\x1bPq#0;2\n~~\x1b\\a \x1b_app\x1b\\b \x9dtitle\x9cc", "a b c"),
        ("a\x1b(B\x1b[?25l\x1b[?2004hb\x1b=\x1b7\x1b8c\x07\x0e\x7f", "abc"),
        ("\x9b31mred\x85next", "red\nnext"),
        ("nul\0", "nul\ufffd"),
        ("one\x1b[2J\x1b[Htwo\x1bcthree\n", "one\ntwo\nthree\n"),
        ("abc\x1b[2Dx\x1b[1Gy\x1b[5Cz", "yxc   z"),
        # a title that does not end hides its own line alone
        ("\x1b]0;title\nnext\n", "\nnext\n"),
        # lines above are redrawn
        ("a 1\nb 1\n\x1b[2Aa 2\nb 2\n\x1b[2Aa 3\nb 3\n", "a 3\nb 3\n"),
        ("a\nb\n\x1b[2A\x1b[2Kdone a\x1b[2B\rend\n", "done a\nb\nend\n"),
        ("one\ntwo\nthree\n\x1b[2A\x1b[Jend\n", "one\nend\n"),
        ("a\nb\x1b[F\x1b[Kc\x1b[Ed", "c\nd"),
        ("a\n\x1bMb", "b\n"),
        # a colour breaks off a sequence before it, and takes no letter
        ("\x1b\x1b[31mx \x1b(\x1b[1my \x1b[3\x1b[0mz\n", "x y z\n"),
        # characters are erased, inserted, deleted and repeated, and a place is saved
        ("abcd\x1b[1G\x1b[2X\n", "  cd\n"),
        ("cd\x1b[1G\x1b[2@ab\n", "abcd\n"),
        ("abcd\x1b[1G\x1b[2P\n", "cd\n"),
        ("=\x1b[9b>\n", "==========>\n"),
        ("ab\x1b7cd\x1b8XY\n", "abXY\n"),
        ("ab\n\x1b[s1%\x1b[u2%\n", "ab\n2%\n"),
    ],
)
def test_a_text_is_as_a_terminal_shows_it(printed: str, shown: str) -> None:
    assert terminal_text(printed) == shown


# 3. pieces

CELLS = "\x1b[2X|\x1b[@|\x1b[P|\x1b[2b|\x1b7|\x1b8|\x1b[s|\x1b[u|\x1b[3|\x1b|\x1b("
MOVES = "\x1b[K|\x1b[2K|\x1b[1K|\x1b[3G|\x1b[2C|\x1b[D|\x1bc|\x1b[2J|\x1b[H|\b|\r"
UNSEEN = "\x1b[31m|\x1b]0;t\x07|\x1b]0;t\x1b\\|\x1bPx\x1b\\|\x1b(B|\x9b1m|\x07"
PIECES = st.sampled_from(
    ["a", "bc", "é█", " ", "\t", "\n", "\r\n", *MOVES.split("|"), *CELLS.split("|"), *UNSEEN.split("|")]
)
UPS = st.sampled_from(["\x1b[A", "\x1b[2A", "\x1b[9F", "\x1bM", "\x1b[B", "\x1b[E", "\x1b[J", "\n", "x", "\r"])


def in_pieces(text: str, cuts: list[int]) -> str:
    terminal = Terminal()
    ends = sorted({min(cut, len(text)) for cut in cuts} | {len(text)})
    return "".join(terminal.feed(text[a:b]) for a, b in zip([0, *ends], ends, strict=False)) + terminal.finish()


@given(st.lists(PIECES).map("".join), st.lists(st.integers(0, 80)))
def test_where_a_text_is_cut_into_pieces_makes_no_difference(text: str, cuts: list[int]) -> None:
    shown = terminal_text(text)
    assert in_pieces(text, cuts) == shown
    assert not CONTROL.search(shown)


@given(st.lists(PIECES | UPS).map("".join), st.lists(st.integers(0, 80)), st.data())
def test_no_control_is_passed_on_whenever_it_is_asked_for(text: str, cuts: list[int], data: st.DataObject) -> None:
    terminal = Terminal()
    ends = sorted({min(cut, len(text)) for cut in cuts} | {len(text)})
    found = ""
    for a, b in zip([0, *ends], ends, strict=False):
        found += terminal.feed(text[a:b])
        found += data.draw(st.sampled_from([terminal.partial, terminal.snapshot, str]))()
    found += terminal.finish()
    assert not CONTROL.search(found)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t")), st.lists(st.integers(0, 80)))
def test_a_text_without_controls_passes_as_it_is(text: str, cuts: list[int]) -> None:
    assert terminal_text(text) == in_pieces(text, cuts) == text


@given(st.lists(st.lists(st.sampled_from(["a", "bb", ""]), min_size=3, max_size=3), min_size=1, max_size=9))
def test_of_a_block_that_is_redrawn_the_last_state_is_the_end(frames: list[list[str]]) -> None:
    """A block that was passed on before comes once more at most, whatever the number of its frames."""
    printed = ["\x1b[3A" * (i > 0) + "".join(f"\x1b[2K{line}\n" for line in frame) for i, frame in enumerate(frames)]
    terminal = Terminal()
    shown = "".join(map(terminal.feed, printed)) + terminal.finish()
    assert shown.endswith("".join(f"{line}\n" for line in frames[-1]))
    assert shown.count("\n") == (3 if len(frames) == 1 else 6)


def test_a_line_without_its_end_is_passed_on_when_asked_for() -> None:
    terminal = Terminal()
    assert terminal.feed("name: ") == ""
    assert terminal.partial() == "name: "
    assert terminal.feed("x") == ""
    assert terminal.partial() == "x"
    assert terminal.feed("\n") == "\n"


def test_a_line_that_is_redrawn_later_comes_once_more() -> None:
    terminal = Terminal()
    assert terminal.feed("1%") + terminal.partial() == "1%"
    assert terminal.feed("\r2%") + terminal.partial() == ""
    assert terminal.snapshot() == "\n2%"
    assert terminal.snapshot() == ""
    assert terminal.feed("\r3%\n") == "\n3%\n"


# 4. enemies

MANY = 100_000


@pytest.mark.parametrize(
    ("printed", "most"),
    [
        ("\r" * 100 * MANY, 0),
        ("\rx" * MANY, 1),
        ("\x1b]" + "x" * 20 * MANY, 10 * MANY),
        ("\x1bP" + "x" * 20 * MANY, 10 * MANY),
        ("\x1b[" + "0" * 20 * MANY, 0),
        ("\x1b" * MANY, 0),
        ("\b" * MANY, 0),
        ("x\x1b[2K" * MANY, 1),
        ("x" * 60_000 + "\x1b[1K\x1b[J" * MANY, 60_000),
        ("\x1b[A" * MANY, 0),
        ("\x1b[9Aa\n" * MANY, 200),
        ("\x1b[A\x1b[99999B" * MANY, 200),
        ("\n" * 60 + "\x1b[J\n\n\n\x1b[3A" * MANY, 200),
        ("\x1b[99999Cx\n" * 2_000, 2_000 * 600),
        ("x" * 100 * MANY, 100 * MANY),
        ("x" * 60_000 + "\x1b[1G\x1b[@\x1b[P\x1b[X" * MANY, 60_000),
        ("x\x1b[99999b\n" * 2_000, 2_000 * 600),
        ("x\x1b7\x1b8" * MANY, MANY),
        ("\x1b[3" * MANY + "\x1b[m", 0),
        ("x" * MANY + "\ry", MANY + 2),
        ("\x1b[31mx\x1b[0m\n" * MANY, 2 * MANY),
    ],
)
def test_no_text_takes_more_than_its_length_in_time_and_room(printed: str, most: int) -> None:
    def work() -> None:
        terminal = Terminal()
        pieces = (printed[i : i + 65_536] for i in range(0, len(printed), 65_536))
        assert sum(len(terminal.feed(piece)) for piece in pieces) + len(terminal.finish()) <= most
        assert not terminal.is_holding

    check_cost(30, work)


def test_small_pieces_are_as_cheap() -> None:
    def work() -> None:
        terminal = Terminal()
        for _ in range(MANY):
            terminal.feed("x")
        assert len(terminal.finish()) < MANY

    check_cost(20, work)

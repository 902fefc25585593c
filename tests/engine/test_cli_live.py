"""What a terminal shows while a run is driven: prose as it is written, and outputs folded to their last lines.

spec: @live_progress
"""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from engine_cli import on_terminal, screen, script
from rich.cells import cell_len

from engine.display.draft import Draft
from engine.terminal.drawing.last_lines import LastLines
from engine.terminal.drawing.look import Look, text_of
from engine.terminal.drawing.telling import Telling

LOUD = (
    'for i in $(seq 1 300); do echo "line $i: \\033[2J日本語 and more than forty columns"; done; '
    "printf '1%%\\r100%%'; exit 2"
)
ANSWERS = [
    f"I count, and I say so in more words than one line of a narrow terminal has.\n<env>{LOUD}</env>"
    '<update status="102">on</update>',
    '<update status="200">All\n\ndone.</update>',
]


def test_at_forty_columns_an_output_of_many_lines_leaves_its_last_ones(folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", ANSWERS)
    code, said = on_terminal(folder, "run", "--no-repo", "--yolo", "--model", model, "--run", "demo", "Go", columns=40)
    assert code == 0
    shown = screen(said)
    at = next(number for number, line in enumerate(shown) if line.startswith("● env for i in"))
    assert shown[at].endswith("exit 2")
    said_before = shown[:at]
    assert said_before[-3:] == ["I count, and I say so in more words than", "one line of a narrow terminal has.", ""]
    folded = [line for line in shown[at:] if line.startswith("  │ ")]
    assert folded[0] == "  │ … 296 lines before"
    assert folded[-1] == "  │ 100%"
    assert "\n".join(folded).count("日本語") == 4
    assert "line 296:" not in "\n".join(folded)
    answer = shown.index("All")
    assert shown[answer : answer + 3] == ["All", "", "done."]
    assert max(cell_len(line) for line in shown[at - 3 : answer]) <= 40
    assert "\x1b[2J" not in said


def test_the_tries_of_a_server_that_is_not_there_take_one_line(folder: Path) -> None:
    """Each try was a line of its own, and the error repeated them."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        code, said = on_terminal(folder, "run", "--no-repo", "--model", f"{url}#m", "--run", "demo", "Go", columns=120)
    assert code == 1
    assert f"try 2 in 1 s: model '{url}#m' cannot be reached" in said
    shown = "\n".join(screen(said))
    assert "cannot be reached" in shown
    assert "try 2" not in shown
    assert "asking again" not in said


def test_last_lines_are_put_together_from_pieces() -> None:
    output = LastLines()
    for piece in ("a", "b\nc\n", "\n", "10%\r2", "0%\r30%", "\n", "d\x1b[K\n" * 7, "e" * 5_000):
        output.add(piece)
    assert output.count == 12
    assert output.lines()[:4] == [r"d\u{1b}[K"] * 4
    assert len(output.lines()[-1]) == 2_000


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ('<get path="a"/><upd', []),
        ('<update status="102">on it', []),
        ('<update status="200">The answer, ', ["The answer,"]),
        ('<update status="200">The answer, 4 < 5.</upd', ["The answer, 4 < 5."]),
        ("<update status='200'>Two\nlines.</update>", ["Two", "lines."]),
    ],
)
def test_an_answer_is_shown_while_it_is_written(written: str, shown: list[str]) -> None:
    telling = Telling({}, lambda: Look(40))
    for character in written:
        telling({"type": "delta", "text": character})
    assert [text_of(line).rstrip() for line in [*telling.take(), *telling.moving(20)]] == shown


def test_prose_that_turns_out_to_be_other_is_mended() -> None:
    draft = Draft()
    for at, text in ((0, "I look"), (6, " at it <"), (6, ".")):
        draft.tell(at, text)
    assert draft.prose == "I look."


def test_an_answer_that_is_printed_elsewhere_is_gone_when_it_is_whole() -> None:
    telling = Telling({}, lambda: Look(40), keeps=False)
    for event in (
        {"type": "turn", "turn": 1},
        {"type": "text", "turn": 1, "at": 0, "text": "I look.\n\nOnce more."},
        {"type": "command", "action": "get", "target": "a.md", "status": 200, "turn": 1},
        {"type": "turn", "turn": 2},
        {"type": "delta", "text": '<update status="200">The\n\nanswer.</update>'},
    ):
        telling(event)
    assert [text_of(line) for line in telling.take()] == ["I look.", "", "Once more.", "", "● get a.md"]
    assert "answer." in [text_of(line) for line in telling.moving(20)]
    telling({"type": "command", "action": "update", "target": "The\n\nanswer.", "status": 200, "turn": 2})
    telling({"type": "loop", "status": 200, "outcome": "done"})
    telling.rest()
    assert telling.take() == telling.moving(20) == []

"""What a file holds never controls the terminal that it is shown at.

spec: @looking
"""

from __future__ import annotations

import io

import pytest

from engine.db.query import Answer
from engine.terminal.answers import print_answer, print_csv
from engine.terminal.printing import print_json, print_table

EVIL = "\x1b]0;title\x07\x1b[2J\x9b31m\u202e"
ROWS = [(EVIL, f"{EVIL}\nline"), (None, b"\x1b")]


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [Terminal, io.StringIO], ids=["at a terminal", "into a file"])
@pytest.mark.parametrize(
    "show",
    [
        lambda answer: print_answer(answer),
        lambda answer: print_csv(answer),
        lambda answer: print_json(answer.dicts()),
        lambda answer: print_table(answer.dicts(), answer.columns, "none"),
    ],
    ids=["table", "csv", "json", "table of a list"],
)
def test_no_row_and_no_name_of_a_column_reaches_a_terminal_raw(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO], show: object
) -> None:
    out = stream()
    monkeypatch.setattr("sys.stdout", out)
    monkeypatch.setenv("TERM", "dumb")
    assert callable(show)
    show(Answer([f"name{EVIL}", "b"], ROWS))
    said = out.getvalue()
    assert said
    if out.isatty():
        assert not set("\x1b\x07\x9b\u202e") & set(said)

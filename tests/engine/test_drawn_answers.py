"""Answers as they are drawn at a terminal: while they are written, at any width, whatever they hold.

spec: @drawn_answers @drawn_changes
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from engine_cli import on_terminal, screen, script
from hypothesis import given, settings
from hypothesis import strategies as some

from engine.terminal.drawing.changes import changes
from engine.terminal.drawing.flow import Flow
from engine.terminal.drawing.look import Line, Look, text_of, width_of
from engine.terminal.drawing.markdown import markdown

ANSWER = """# Heading with `code`

Some *emphasis*, a [link](https://example.com/x) and <https://a.b>, with enough words to be broken at a narrow width.

- one
- two **bold**
  goes on
  - nested
- [ ] open
- [x] ticked

3. three
4. four

   with a paragraph

> quoted
> twice

```python
def f(x: int) -> str:
    '''Doc
    string.'''
    return str(x)

class A: ...
```

| Name | Count |
|:-----|------:|
| 日本語 | 1 |
| long name that is broken | 20000 |

---

The end.
"""
WORDS = [
    *("# H\n", "text ", "\n", "\n\n", "- a", "\n- b", "1. x\n", "> q\n", "```py\n", "x = 1\n", "```\n", "~~~\n"),
    *("| a | b |\n|---|---|\n| 1 | 2 |\n", "  - c\n", "***\n", "`co", "de`", "**", "\t", "    code\n", "日本", "😀"),
    *("[l](http://x.y)", "&#x202e;", "\x1b[2J", "\u202e", "<b>", "\\", "a\u0301", "\r\n"),
]
PIECES = some.lists(some.sampled_from(WORDS), max_size=25)


def drawn(text: str, look: Look, step: int) -> list[Line]:
    """What is settled of a text that grows by `step` characters."""
    flow, lines = Flow(look), []
    for end in range(0, len(text), step):
        flow.update(text[:end])
        lines += flow.settled()
        flow.moving()
    flow.update(text, whole=True)
    return lines + flow.settled()


def said(lines: list[Line]) -> list[str]:
    return list(filter(None, (text_of(line).rstrip() for line in lines)))


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_a_text_that_is_written_is_drawn_as_the_whole_one(width: int) -> None:
    look = Look(width)
    assert drawn(ANSWER, look, 3) == markdown(ANSWER, look)
    assert max(width_of(line) for line in markdown(ANSWER, look)) <= width


@settings(max_examples=120)
@given(PIECES, some.integers(1, 7), some.sampled_from([12, 40]))
def test_any_text_is_drawn_once_and_within_its_width(pieces: list[str], step: int, width: int) -> None:
    text = "".join(pieces)
    lines = drawn(text, Look(width), step)
    for line in lines:
        assert width_of(line) <= width
        assert not re.search("[\x00-\x1f\x7f-\x9f\u202e]", text_of(line))
    assert said(lines) == said(markdown(text, Look(width)))


def test_a_list_goes_on_item_by_item_and_a_program_line_by_line() -> None:
    flow = Flow(Look(40))
    flow.update("- one\n- two\n- thr")
    assert [text_of(line) for line in flow.settled()] == ["• one", "• two"]
    assert [text_of(line) for line in flow.moving()] == ["• thr"]
    flow.update("- one\n- two\n- three\n\n```py\na = 1\nb = 2\nc = 3\nd = 4\ne = ")
    assert [text_of(line) for line in flow.settled()] == ["• three", "", "  a = 1", "  b = 2", "  c = 3", "  d = 4"]
    assert [text_of(line) for line in flow.moving()] == ["  e = "]


def test_a_table_that_is_too_wide_is_told_row_by_row() -> None:
    text = "| a | b | c | d |\n|---|---|---|---|\n| " + " | ".join("word " * 4 for _ in range(4)) + " |"
    assert text_of(markdown(text, Look(16))[0]).startswith("a: word word")
    assert " │ " in text_of(markdown(text, Look(60))[0])


def test_links_lead_where_they_say_or_show_it() -> None:
    def line(text: str, *, links: bool) -> str:
        look = Look(80, links=links)
        return "".join(look.ansi(line) for line in markdown(text, look))

    assert "\x1b]8;;https://a.b/c\x1b\\" in line("[here](https://a.b/c)", links=True)
    assert "(https://a.b/c)" in line("[here](https://a.b/c)", links=False)
    hostile = line("[here](file:///etc/passwd) [x](<https://a.b/\x1b]8;;y>)", links=True)
    assert "(file:///etc/passwd)" in hostile
    assert "\x1b]8;;y" not in hostile


def test_a_poor_terminal_gets_plain_characters() -> None:
    poor = Look(60, colour=False, unicode=False)
    text = "".join(poor.ansi(line) + "\n" for line in markdown(ANSWER, poor))
    assert text.isascii()
    assert "\x1b[3" not in text.replace("\x1b[3m", "")  # no colour
    assert "* one" in text
    plain = Look(60, plain=True, colour=False)
    assert "\x1b" not in "".join(plain.ansi(line) for line in markdown(ANSWER, plain))


def test_changed_words_of_a_line_are_marked() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -9,3 +9,3 @@\n head\n-the port is 8080\n+the port is 9090\n tail\n"
    lines, added, removed = changes(diff, Look(60))
    assert (added, removed) == (1, 1)
    assert [text_of(line).rstrip() for line in lines] == [
        " 9   head",
        "10 - the port is 8080",
        "10 + the port is 9090",
        "11   tail",
    ]
    marked = [span.text for line in lines for span in line if "reverse" in span.style]
    assert marked == ["8080", "9090"]


def test_an_answer_is_drawn_on_a_terminal_and_plain_in_a_pipe(folder: Path, tmp_path: Path) -> None:
    answer = f'<update status="200">{ANSWER}</update>'
    model = script(tmp_path / "s.jsonl", [answer])
    code, said = on_terminal(folder, "run", "--no-repo", "--model", model, "Go", columns=60)
    assert code == 0
    shown = screen(said)
    assert shown.count("Heading with code") == 1
    assert "  def f(x: int) -> str:" in shown
    assert "Name" in next(line for line in shown if "│ Count" in line)


@pytest.mark.parametrize("extra", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"PYTHONIOENCODING": "ascii"}])
def test_a_terminal_without_colours_or_utf8_has_none(folder: Path, tmp_path: Path, extra: dict[str, str]) -> None:
    model = script(tmp_path / "s.jsonl", [f'<update status="200">{ANSWER}</update>'])
    code, said = on_terminal(folder, "run", "--no-repo", "--model", model, "Go", columns=60, **extra)
    assert code == 0
    if "PYTHONIOENCODING" in extra:
        assert said.isascii()
    else:
        assert not re.search(r"\x1b\[3\d", said)

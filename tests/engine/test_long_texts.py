"""Texts that are too long to be shown whole: lines of any length are read in slices, prompts keep their end.

spec: @verb_get @contents
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from driving import DONE, GO_ON, script

import engine

LINE = "".join(f"var a{n}={n};" for n in range(9_000))


def messages(db: engine.Database) -> list[str]:
    rows = db.rows("select message from commands where writer = 'model' and action = 'get' order by id")
    return [row["message"] for row in rows]


def test_a_long_line_is_read_to_its_end_as_each_slice_says(db: engine.Database, tmp_path: Path) -> None:
    """A slice of its only line was the whole line, and was demoted."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root/min.js").write_text(LINE)
    read, place, turns = "", 1, 0
    while place:
        turns += 1
        model = script(tmp_path, f'<get path="min.js" char="{place}"/>{GO_ON}', DONE)
        db.run("Go", run=f"demo{turns}", model=model, root=tmp_path / "root", context_limit=32_000)
        head, text = messages(db)[-1].removeprefix("min.js\n").split("\n", 1)
        read += text
        on = re.search(r'continue with char="(\d+)"\]', head)
        place = int(on[1]) if on else 0
    assert read == LINE
    assert turns > 5
    assert db.value("select count(*) from turn_errors") == 0


@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        ('char="5" chars="3"', '[lines 1-1 / 1 total; characters 5-7 / 10 of them; continue with char="8"]\n567'),
        ('char="-3"', "[lines 1-1 / 1 total; characters 8-10 / 10 of them]\n890"),
        ('line="1" chars="2"', '[lines 1-1 / 1 total; characters 1-2 / 10 of them; continue with char="3"]\n12'),
        ('char="11"', "[it has 10 characters; character 11 is after its end]"),
        ('line="1" limit="1"', "[lines 1-1 / 1 total]\n1234567890"),
    ],
)
def test_characters_are_counted_from_either_end(
    db: engine.Database, tmp_path: Path, attributes: str, told: str
) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root/a.txt").write_text("1234567890\n")
    model = script(tmp_path, f'<get path="a.txt" {attributes}/>{GO_ON}', DONE)
    db.run("Go", run="demo", model=model, root=tmp_path / "root")
    assert messages(db) == [f"a.txt\n{told}"]


@pytest.mark.parametrize("wrong", ['char="x"', 'chars="many"'])
def test_what_is_no_number_of_characters_is_told(db: engine.Database, tmp_path: Path, wrong: str) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root/a.txt").write_text("1234567890\n")
    model = script(tmp_path, f'<get path="a.txt" {wrong}/>{GO_ON}', DONE)
    db.run("Go", run="demo", model=model, root=tmp_path / "root")
    assert messages(db)[0].startswith(f"Invalid {wrong.split('=')[0]}: ")


def test_of_many_lines_whole_ones_are_told(db: engine.Database, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root/a.txt").write_text("".join(f"line {n}\n" for n in range(1, 20_001)))
    model = script(tmp_path, f'<get path="a.txt" line="101"/>{GO_ON}', DONE)
    db.run("Go", run="demo", model=model, root=tmp_path / "root", context_limit=32_000)
    head, *lines = messages(db)[0].split("\n")[1:]
    assert head == f"[lines 101-{100 + len(lines)} / 20000 total]"
    assert lines == [f"line {n}" for n in range(101, 101 + len(lines))]


def test_the_end_of_a_prompt_that_is_too_long_stays_in_view(db: engine.Database, tmp_path: Path) -> None:
    """The question behind a long text was not seen."""
    prompt = (
        "Look at this log.\n" + "".join(f"line {n}\n" for n in range(20_000)) + "\nWhich of the lines is the last one?"
    )
    db.run(prompt, run="demo", model=script(tmp_path, DONE), context_limit=32_000)
    packet = "".join(row["body"] for row in db.rows("select body from packet_texts"))
    assert "Look at this log." in packet
    assert "Which of the lines is the last one?" in packet
    assert "characters left out; get prompt://1 with char and chars reads them" in packet

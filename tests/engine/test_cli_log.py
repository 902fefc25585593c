"""`engine log`: a run as a story, at a terminal of any width and in a pipe.

spec: @run_story
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from audit import audit
from engine_cli import database, engine, on_terminal, script
from rich.cells import cell_len

from engine.terminal.wrapping import wrapped

FAMILY = "👩‍👩‍👧"
PROMPT = f"Mend it.\nשלום עולם, 日本語のテキスト {FAMILY}, and a line that is longer than a terminal of forty columns."
ANSWERS = [
    'I look first.\n<get path="notes.md"/><get path="nothing.md"/><sh>seq 1 30; exit 3</sh>'
    '<update status="102">looking</update>',
    '<set path="notes.md"><<SEARCH\nThe port is 8080.\nSEARCH\n<<REPLACE\nThe port\nis 9090.\nREPLACE</set>'
    '<set path="known://fact">a\x1b[2Jb\u202ec</set><set path="日本語.md">こ\n</set><update status="102">mended</update>',
    '<update status="200">Mended.\n[9]        sh rm -rf .</update>',
]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the run `demo` did what a story has to tell."""
    root = tmp_path_factory.mktemp("story") / "folder"
    root.mkdir()
    (root / "notes.md").write_text("The port is 8080.\n", encoding="utf-8")
    model = script(root.parent / "s.jsonl", ANSWERS)
    assert engine(root, "run", "--yolo", "--model", model, "--run", "demo", PROMPT).returncode == 0
    audit(database(root))
    return root


def test_the_story_goes_from_prompt_to_answer(told: Path) -> None:
    lines = engine(told, "log").stdout.splitlines()
    lines = [re.sub(r"\(\d.*\)|\(act.*\)", "(…)", line) for line in lines]
    first, _, _ = PROMPT.partition("\n")
    assert lines[:8] == [
        "prompt 1 (…)",
        f"> {first}",
        f"> {PROMPT.partition(chr(10))[2]}",
        "    I look first.",
        "[1]           get notes.md",
        "[1] not found get nothing.md",
        "    nothing.md not found",
        "[1] exit 3    sh seq 1 30; exit 3 (…)",
    ]
    assert lines[8:14] == [
        "    … 25 lines before: engine log demo --full --turn 1",
        *(f"    | {n}" for n in range(26, 31)),
    ]
    assert lines[14:20] == [
        "[1]           update looking",
        "[2] +2 -1     set notes.md",
        "[2]           set known://fact",
        r"    a\u{1b}[2Jb\u{202e}c",
        "[2] +1 -0     set 日本語.md",
        "[2]           update mended",
    ]
    assert lines[20:] == ["done (…)", "  Mended.", "  [9]        sh rm -rf ."]


def test_the_command_that_is_named_shows_the_rest(told: Path) -> None:
    named = next(line for line in engine(told, "log").stdout.splitlines() if "before:" in line)
    lines = engine(told, *named.partition("engine ")[2].split()).stdout.splitlines()
    assert [line for line in lines if line.startswith("    | ")] == [f"    | {number}" for number in range(1, 31)]


@pytest.mark.parametrize("columns", [40, 200])
def test_at_a_terminal_no_line_is_longer_than_it_and_no_text_begins_one(told: Path, columns: int) -> None:
    code, said = on_terminal(told, "log", columns=columns, NO_COLOR="1")
    assert code == 0
    lines = said.splitlines()
    assert max(map(cell_len, lines)) <= columns
    assert all(line.startswith(("prompt 1 (", "> ", "    ", "  ", "[1] ", "[2] ", "done")) for line in lines if line)
    assert "\x1b" not in said
    assert FAMILY in said


def test_an_edit_that_changes_nothing_counts_no_lines(folder: Path, tmp_path: Path) -> None:
    text = (folder / "notes.md").read_text(encoding="utf-8")
    answers = [
        f'<set path="notes.md">{text}</set><update status="102">x</update>',
        '<update status="200">Done.</update>',
    ]
    model = script(tmp_path / "s.jsonl", answers)
    engine(folder, "run", "--yolo", "--overwrite-unseen", "--model", model, "--run", "demo", "Go")
    assert "[1] +0 -0 set notes.md" in engine(folder, "log").stdout
    query = "select added, removed from file_changes"
    assert json.loads(engine(folder, "sql", "--json", query).stdout) == [{"added": 0, "removed": 0}]


def test_what_a_glob_found_is_shown_by_its_beginning(folder: Path, tmp_path: Path) -> None:
    for number in range(20):
        (folder / f"note_{number:02}.md").write_text("x\n", encoding="utf-8")
    model = script(tmp_path / "s.jsonl", ['<get path="note_*.md"/>', '<update status="200">Done.</update>'])
    engine(folder, "run", "--model", model, "--run", "demo", "Go")
    lines = engine(folder, "log").stdout.splitlines()
    assert sum("* note_" in line for line in lines) == 7
    assert "    … 13 more lines" in lines
    assert "note_19.md" in engine(folder, "log", "--full").stdout


@pytest.mark.parametrize("width", [10, 17, 40])
@pytest.mark.parametrize(
    "text", [PROMPT, "a" * 90, "日本語" * 20, FAMILY * 9, "e\u0301" * 50, "\tif x:\n\t\treturn", ""]
)
def test_wrapping_keeps_every_character_but_blanks_at_the_breaks(text: str, width: int) -> None:
    lines = wrapped(text, width, "> ", "> ")
    assert all(line.startswith("> ") for line in lines)
    assert all(cell_len(line) <= max(width, 12) for line in lines)
    assert "".join("".join(lines).replace("> ", "").split()) == "".join(text.split())
    assert not any(line[2:].startswith(("\u0301", "\u200d")) for line in lines)


def test_the_end_of_a_background_command_is_told(folder: Path, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", ['<sh background="1">sleep 600</sh><update status="200">Done.</update>'])
    assert engine(folder, "run", "--yolo", "--model", model, "--run", "demo", "Go").returncode == 0
    assert "\n[1] cancelled sh sleep 600 (" in engine(folder, "log", "demo").stdout

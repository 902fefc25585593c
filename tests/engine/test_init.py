"""`engine init` as a person uses it: what it says, what it asks, what it writes.

spec: @init @rule_files
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_cli import database, engine, script
from fresh import stays_open
from terminal import OpenTerminal

DRAFT = "# Project\n\nRun the tests with `make test`."


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    root = tmp_path / "project"
    root.mkdir()
    with stays_open(database(root)):
        yield root


def said(folder: Path, *arguments: str, code: int = 0, **env: str) -> str:
    done = engine(folder, *arguments, env=env)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def drafting(folder: Path, text: str = f"```markdown\n{DRAFT}\n```") -> str:
    answers = ['<get path="Makefile"/>', f'<update status="200">{text}</update>']
    return script(folder.parent / "draft.jsonl", answers)


def test_without_a_terminal_rules_are_written_and_no_file_of_the_project(folder: Path) -> None:
    assert "added: domain global, domain development, domain testing, domain security" in said(folder, "init")
    rows = said(folder, "rules", "list", "--json")
    assert "added" not in said(folder, "init")
    assert said(folder, "rules", "list", "--json") == rows
    assert "4 of 4 domains active, 16 rules" in said(folder, "rules")
    assert [path.name for path in folder.iterdir()] == [".engine"]


@pytest.mark.parametrize("option", ["--agents-md", "--draft"])
@pytest.mark.parametrize("more", [[], ["--json"]])
def test_agents_md_is_not_written_without_a_yes(folder: Path, option: str, more: list[str]) -> None:
    told = said(folder, "init", option, *more, code=2, ENGINE_MODEL=drafting(folder))
    assert "add --yes to write it" in told
    assert not (folder / "AGENTS.md").exists()
    assert "has no rules" in said(folder, "rules")


def test_the_block_is_added_to_agents_md_once(folder: Path) -> None:
    (folder / "AGENTS.md").write_bytes(b"# Ours\r\nno end of line")
    assert "AGENTS.md: written" in said(folder, "init", "--agents-md", "--yes")
    text = (folder / "AGENTS.md").read_bytes()
    assert text.startswith(b"# Ours\r\nno end of line\r\n\r\n<!-- engine rules -->\r\n## Rules\r\n")
    assert "AGENTS.md: nothing to change" in said(folder, "init", "--agents-md", "--yes")
    assert (folder / "AGENTS.md").read_bytes() == text


def test_a_link_and_what_is_no_text_are_left_alone(folder: Path) -> None:
    other = folder.parent / "other.md"
    other.write_text("theirs")
    os.symlink(other, folder / "AGENTS.md")
    assert engine(folder, "init", "--agents-md", "--yes").returncode != 0
    assert other.read_text() == "theirs"
    (folder / "AGENTS.md").unlink()
    (folder / "AGENTS.md").write_bytes(b"\xff\x00")
    assert "was not changed; the rules were written" in said(folder, "init", "--agents-md", "--yes", code=1)
    assert (folder / "AGENTS.md").read_bytes() == b"\xff\x00"


def test_at_a_terminal_init_says_what_it_will_write_and_asks(folder: Path, open_terminal: OpenTerminal) -> None:
    terminal = open_terminal("init", "--agents-md")
    terminal.expect("init will write:")
    terminal.expect("rules for this folder")
    terminal.expect("AGENTS.md: a block of 7 lines about the rules")
    terminal.expect("Write it? [y/N]: ")
    terminal.type("\n")
    assert terminal.end()[0] == 1
    assert "has no rules" in said(folder, "rules")
    assert not (folder / "AGENTS.md").exists()
    terminal = open_terminal("init", "--global")
    terminal.expect("rules for all folders that use this database")
    terminal.expect("[y/N]: ")
    terminal.type("y\n")
    assert terminal.end()[0] == 0
    assert {row["folder"] for row in json.loads(said(folder, "rules", "list", "--json"))} == {None}
    assert not (folder / "AGENTS.md").exists()


def test_a_draft_is_shown_and_written_after_a_second_yes(folder: Path, open_terminal: OpenTerminal) -> None:
    (folder / "Makefile").write_text("test:\n\ttrue\n")
    for answer, code in (("n\n", 0), ("y\n", 0)):
        terminal = open_terminal("init", "--draft", "--model", drafting(folder))
        terminal.expect("drafts it from the code; you see it first")
        terminal.expect("[y/N]: ")
        terminal.type("y\n")
        terminal.expect("Write this to AGENTS.md? [y/N]: ")
        assert (folder / "AGENTS.md").exists() is False
        terminal.type(answer)
        ended, shown = terminal.end()
        assert ended == code
        assert "+Run the tests with `make test`." in shown
    assert (folder / "AGENTS.md").read_text() == DRAFT + "\n"
    runs = json.loads(said(folder, "runs", "--json"))
    assert [run["run"] for run in runs] == ["draft-an-agents-md-for-2", "draft-an-agents-md-for"]


def test_a_draft_that_is_no_answer_writes_nothing(folder: Path) -> None:
    model = script(folder.parent / "m.jsonl", ['<update status="500">I cannot.</update>'])
    told = said(folder, "init", "--draft", "--yes", "--model", model, code=1)
    assert "no draft was made; 'engine show draft-an-agents-md-for' says why; the rules were written" in told
    assert not (folder / "AGENTS.md").exists()


def test_a_draft_and_the_block_are_written_together(folder: Path) -> None:
    said(folder, "init", "--draft", "--agents-md", "--yes", "--model", drafting(folder, DRAFT))
    text = (folder / "AGENTS.md").read_text()
    assert text.startswith(DRAFT)
    assert text.count("<!-- engine rules -->") == 1


def test_a_drafting_run_changes_no_file(folder: Path) -> None:
    answers = ['<set path="made.txt">x</set><sh>touch made.txt</sh>', f'<update status="200">{DRAFT}</update>']
    model = script(folder.parent / "m.jsonl", answers)
    said(folder, "init", "--draft", "--yes", "--model", model)
    assert not (folder / "made.txt").exists()


def test_the_small_local_model_drafts_nothing(folder: Path) -> None:
    told = said(folder, "init", "--draft", "--yes", "--model", "local", code=2)
    assert "the small local model cannot draft AGENTS.md" in told
    assert not database(folder).exists()


def test_options_that_mean_nothing_together_are_refused(folder: Path) -> None:
    assert "leave out --global" in said(folder, "init", "--global", "--agents-md", "--yes", code=2)
    assert "works only with --draft" in said(folder, "init", "--model", "local", code=2)


def test_a_draft_is_offered_where_a_model_could_make_one(folder: Path) -> None:
    model = drafting(folder)
    assert f"'engine init --draft' lets {model} draft AGENTS.md" in said(folder, "init", ENGINE_MODEL=model)
    (folder / "AGENTS.md").write_text("# Ours\n")
    assert "--draft" not in said(folder, "init", ENGINE_MODEL=model)


def test_instructions_for_other_agents_are_offered(folder: Path, open_terminal: OpenTerminal) -> None:
    """A folder with CLAUDE.md alone had none, and nothing said so."""
    (folder / "CLAUDE.md").write_text("Be brief.\n", encoding="utf-8")
    told = said(folder, "init")
    assert "to use it: engine config instruction_files=CLAUDE.md,AGENTS.md" in told
    terminal = open_terminal("init")
    terminal.expect("models will read CLAUDE.md")
    terminal.expect("[y/N]: ")
    terminal.type("y\n")
    assert terminal.end()[0] == 0
    assert "CLAUDE.md" not in said(folder, "init")

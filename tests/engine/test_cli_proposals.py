"""Proposals on the command line: asked about at a terminal, left open without one, decided by `engine accept` and `reject`.

spec: @asking
"""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
import typer
from engine_cli import EDIT_AND_RUN, QUESTION, database, engine, on_terminal, script
from terminal import OpenTerminal

import engine as library
from engine.display.proposals import always_target as folder_of
from engine.functions.patterns.kinds import pattern_match
from engine.system.user import user_name
from engine.terminal.exit_codes import INTERRUPTED
from engine.terminal.questions import asked_once

ON = '<update status="102">on</update>'


@pytest.fixture
def editing(tmp_path: Path) -> str:
    return script(tmp_path / "edit.jsonl", EDIT_AND_RUN)


@pytest.fixture
def asking(tmp_path: Path) -> str:
    return script(tmp_path / "question.jsonl", QUESTION)


# --- without a terminal


def test_without_a_terminal_a_proposal_stays_open_and_says_how_to_decide(folder: Path, editing: str) -> None:
    done = engine(folder, "run", "--model", editing, "--run", "demo", "Change it")
    assert (done.returncode, done.stdout) == (6, "")
    assert "-The port is 8080." in done.stderr
    assert "engine accept demo log://turn_1/set/notes.md --continue" in done.stderr
    assert "engine reject demo log://turn_1/set/notes.md --reason WHY --continue" in done.stderr
    assert "8080" in (folder / "notes.md").read_text()


def test_the_shown_commands_name_the_database_that_was_named(folder: Path, editing: str) -> None:
    path = str(database(folder))
    database(folder).parent.mkdir()
    done = engine(folder, "run", "--db", path, "--model", editing, "--run", "demo", "Change it")
    assert f"engine accept --db {path} demo log://turn_1/set/notes.md --continue" in done.stderr


def test_accepting_step_by_step_ends_in_the_answer(folder: Path, editing: str) -> None:
    engine(folder, "run", "--model", editing, "--run", "demo", "Change it")
    second = engine(folder, "accept", "demo", "log://turn_1/set/notes.md", "--continue")
    assert second.returncode == 6
    assert "9090" in (folder / "notes.md").read_text()
    third = engine(folder, "accept", "demo", "--all", "--continue")
    assert (third.returncode, third.stdout) == (0, "Changed.\n")
    assert (folder / "marker").exists()


def test_who_decided_is_shown_by_name(folder: Path, editing: str) -> None:
    engine(folder, "run", "--model", editing, "--run", "demo", "Change it")
    engine(folder, "accept", "demo", "--continue", "--by", "Ada Lovelace")
    engine(folder, "accept", "demo")
    shown = json.loads(engine(folder, "show", "--json").stdout)["decisions"]
    assert [row["decided_by"] for row in shown] == ["Ada Lovelace", user_name()]
    assert "accept    Ada Lovelace" in engine(folder, "show").stdout
    log = json.loads(engine(folder, "log", "--json").stdout)
    assert [row["decided_by"] for row in log if row["decided_by"]] == ["Ada Lovelace", user_name()]
    assert "Ada Lovelace" in engine(folder, "log").stdout


def test_resolve_alone_decides_and_resume_goes_on(folder: Path, editing: str) -> None:
    engine(folder, "run", "--model", editing, "--run", "demo", "Change it")
    done = engine(folder, "accept", "demo")
    assert done.returncode == 0
    assert "engine resume demo" in done.stderr
    assert "8080" in (folder / "notes.md").read_text()
    assert engine(folder, "resume", "--yolo").stdout == "Changed.\n"
    assert "9090" in (folder / "notes.md").read_text()


def test_continue_with_yolo_accepts_what_comes_after(folder: Path, editing: str) -> None:
    engine(folder, "run", "--model", editing, "--run", "demo", "Change it")
    assert engine(folder, "accept", "demo", "--continue", "--yolo").stdout == "Changed.\n"


def test_a_rejection_with_its_reason_ends_the_prompt(folder: Path, editing: str) -> None:
    engine(folder, "run", "--model", editing, "--run", "demo", "Change it")
    done = engine(folder, "reject", "demo", "--reason", "not before January", "--continue")
    assert done.returncode == 0
    assert "8080" in (folder / "notes.md").read_text()
    log = json.loads(engine(folder, "log", "--json").stdout)
    assert [row["body"] for row in log if row["outcome"] == "rejected"] == ["not before January"]


def test_a_question_is_answered_by_resolve(folder: Path, asking: str) -> None:
    first = engine(folder, "run", "--model", asking, "--run", "demo", "Ask")
    assert first.returncode == 6
    assert "options: 2025; 2026" in first.stderr
    assert "--answer TEXT" in first.stderr
    assert "options: 2025; 2026" in engine(folder, "proposals").stdout
    assert [row["options"] for row in json.loads(engine(folder, "proposals", "--json").stdout)] == ['["2025","2026"]']
    done = engine(folder, "accept", "demo", "--answer", "2026", "--continue")
    assert (done.returncode, done.stdout) == (0, "Noted.\n")
    assert "→ 2026" in engine(folder, "packet", "demo", "--role", "user").stdout


def test_proposals_lists_diffs_and_json(folder: Path, editing: str) -> None:
    engine(folder, "run", "--model", editing, "--run", "demo", "Change it")
    assert "+The port is 9090." in engine(folder, "proposals").stdout
    rows = json.loads(engine(folder, "proposals", "demo", "--json").stdout)
    assert [(row["run"], row["action"], row["target"]) for row in rows] == [("demo", "set", "notes.md")]
    engine(folder, "abort", "demo")
    assert engine(folder, "proposals", "--json").stdout == "[]\n"


def test_a_decision_without_a_run_is_on_the_latest_proposal(folder: Path, editing: str) -> None:
    for name in ("first", "second"):
        engine(folder, "run", "--model", editing, "--run", name, "Change it")
    assert engine(folder, "reject").stderr.startswith("rejected: set notes.md\n")
    assert [row["run"] for row in json.loads(engine(folder, "proposals", "--json").stdout)] == ["first"]
    assert engine(folder, "accept").returncode == 0
    assert "nothing waits for a decision" in engine(folder, "accept").stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["accept", "demo", "log://turn_9/set/none"],
        ["reject", "nope"],
        ["reject", "demo", "--answer", "x"],
        ["accept", "demo", "--answer", "to a change"],
    ],
)
def test_an_unclear_decision_is_refused_and_decides_nothing(folder: Path, editing: str, arguments: list[str]) -> None:
    engine(folder, "run", "--model", editing, "--run", "demo", "Change it")
    done = engine(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr
    assert len(json.loads(engine(folder, "proposals", "--json").stdout)) == 1


def test_a_prompt_for_a_waiting_run_is_queued(folder: Path, editing: str) -> None:
    engine(folder, "run", "--model", editing, "--run", "demo", "Change it")
    done = engine(folder, "run", "--run", "demo", "And then this")
    assert done.returncode == 6
    assert ": queued (" in done.stderr
    assert "engine accept demo" in done.stderr


# --- at a terminal


def test_at_a_terminal_a_coloured_diff_and_a_command_are_asked_about(
    open_terminal: OpenTerminal, folder: Path, editing: str
) -> None:
    terminal = open_terminal("run", "--model", editing, "Change it")
    terminal.expect("accept?")
    assert "\x1b[32m+\x1b[0m" in terminal.said
    assert "+The port is 9090." in re.sub(r"\x1b\[\d+m", "", terminal.said)
    terminal.type("what\ny\n")
    terminal.expect("$ echo done > marker")
    terminal.type("y\n")
    assert terminal.end() == (0, "Changed.\n")
    assert "9090" in (folder / "notes.md").read_text()
    assert (folder / "marker").exists()


def test_no_color_is_honoured_at_a_terminal(open_terminal: OpenTerminal, folder: Path, editing: str) -> None:
    terminal = open_terminal("run", "--model", editing, "Change it", NO_COLOR="1")
    terminal.expect("accept?")
    assert "\x1b[32m" not in terminal.said
    terminal.type("q\n")
    assert terminal.end()[0] == 6


def test_no_with_a_reason_rejects(open_terminal: OpenTerminal, folder: Path, editing: str) -> None:
    terminal = open_terminal("run", "--model", editing, "--run", "demo", "Change it")
    terminal.expect("accept?")
    terminal.type("n\n")
    terminal.expect("why not?")
    terminal.type("not today\n")
    assert terminal.end()[0] == 0
    assert "8080" in (folder / "notes.md").read_text()
    assert "not today" in engine(folder, "log", "demo").stdout


def test_a_reason_may_stand_behind_the_no(open_terminal: OpenTerminal, folder: Path, editing: str) -> None:
    terminal = open_terminal("run", "--model", editing, "--run", "demo", "Change it")
    terminal.expect("accept?")
    terminal.type("y but not today\n")  # a yes has no more behind it
    terminal.expect("n use ValueError")
    terminal.expect("accept?")
    terminal.type("n use Port(9090)\n")
    assert terminal.end()[0] == 0
    assert "why not?" not in terminal.said
    assert "use Port(9090)" in engine(folder, "log", "demo").stdout


def test_quit_leaves_the_proposal_open(open_terminal: OpenTerminal, folder: Path, editing: str) -> None:
    terminal = open_terminal("run", "--model", editing, "Change it")
    terminal.expect("accept?")
    terminal.type("q\n")
    assert terminal.end()[0] == 6
    assert len(json.loads(engine(folder, "proposals", "--json").stdout)) == 1


def test_the_end_of_the_input_is_no_answer_and_ends_its_line(folder: Path, editing: str, asking: str) -> None:
    assert on_terminal(folder, "run", "--model", editing, "Change it", typed="\x04")[0] == 6
    code, said = on_terminal(folder, "run", "--model", asking, "--run", "demo", "Ask", typed="\x04")
    assert code == 6
    assert re.search(r"\n(\x1b\[[0-9;]*m)?demo: waiting", said)


def test_a_question_before_a_change_ends_the_command_unless_it_is_a_yes(capsys: pytest.CaptureFixture[str]) -> None:
    class Struck(io.StringIO):
        def readline(self, size: int = -1, /) -> str:
            raise KeyboardInterrupt

    assert [asked_once(io.StringIO(line), "Sure? ") for line in (" Yes\n", "n\n", "")] == ["yes", "n", ""]
    assert capsys.readouterr().err == "Sure? Sure? Sure? \n", "the end of the input is no line feed"
    with pytest.raises(typer.Exit) as end:
        asked_once(Struck(), "Sure? ")
    assert end.value.exit_code == INTERRUPTED


def test_a_no_to_a_removal_changes_nothing(folder: Path, asking: str) -> None:
    engine(folder, "run", "--model", asking, "--run", "demo", "Ask")
    for typed in ("n\n", "\n", "\x04"):
        code, said = on_terminal(folder, "runs", "purge", "demo", typed=typed)
        assert (code, "Remove demo, with 1 turn, for good? [y/N]: " in said) == (1, True)
        assert said.endswith("nothing was changed\n") or "nothing was changed\x1b" in said
    code, said = on_terminal(folder, "runs", "purge", "demo", typed="y\n")
    assert (code, "demo: purged" in said) == (0, True)


def test_an_option_is_chosen_by_its_number(open_terminal: OpenTerminal, folder: Path, asking: str) -> None:
    terminal = open_terminal("run", "--model", asking, "--run", "demo", "Ask")
    terminal.expect("2. 2026")
    terminal.type("2\n")
    terminal.expect("→ 2026")
    assert terminal.end() == (0, "Noted.\n")
    assert engine(folder, "log", "demo").stdout.count("Which year?") == 1
    assert "→ 2026" in engine(folder, "packet", "demo", "--role", "user").stdout


def test_a_question_takes_free_text(open_terminal: OpenTerminal, folder: Path, asking: str) -> None:
    terminal = open_terminal("run", "--model", asking, "--run", "demo", "Ask")
    terminal.expect("own words")
    terminal.type("neither, 2027\n")
    assert terminal.end()[0] == 0
    assert "→ neither, 2027" in engine(folder, "packet", "demo", "--role", "user").stdout


def test_control_characters_of_a_model_do_not_reach_the_terminal(open_terminal: OpenTerminal, tmp_path: Path) -> None:
    model = script(tmp_path / "s.jsonl", ['<sh>echo safe \x1b[2K\x1b[1A\u202e</sh><update status="102">x</update>'])
    terminal = open_terminal("run", "--model", model, "Go", NO_COLOR="1")
    terminal.expect("accept?")
    assert "\\u{1b}[2K" in terminal.said
    assert "\\u{202e}" in terminal.said
    terminal.type("q\n")
    terminal.end()


# --- more than yes and no


def test_an_edited_text_is_what_is_written_and_the_model_is_told(
    open_terminal: OpenTerminal, folder: Path, tmp_path: Path, editing: str
) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\nsed -i "s/9090/9191/" "$1"\n')
    editor.chmod(0o755)
    terminal = open_terminal("run", "--model", editing, "--run", "demo", "Change it", EDITOR=str(editor))
    terminal.expect("accept?")
    terminal.type("e\n")
    terminal.expect("accept?")
    terminal.type("y\n")
    assert terminal.end()[0] == 0
    assert "9191" in (folder / "notes.md").read_text()
    with library.open(database(folder), read_only=True) as db:
        told = db.value("select message from command_results where action = 'set' and turn = 1")
    assert "changed before it was accepted" in told
    assert "+The port is 9191." in told
    assert "[1] +1 -1" in engine(folder, "log", "demo").stdout, "what was written, not what was proposed"


def test_a_text_that_is_emptied_in_the_editor_empties_the_file(
    open_terminal: OpenTerminal, folder: Path, tmp_path: Path, editing: str
) -> None:
    editor = tmp_path / "editor.sh"
    editor.write_text('#!/bin/sh\n: > "$1"\n')
    editor.chmod(0o755)
    terminal = open_terminal("run", "--model", editing, "--run", "demo", "Change it", EDITOR=str(editor))
    terminal.expect("accept?")
    terminal.type("e\n")
    terminal.expect("$ ")
    terminal.type("q\n")
    assert terminal.end()[0] == 6
    assert (folder / "notes.md").read_bytes() == b""


@pytest.mark.parametrize("editor", ["true", "false", "/no/such/editor"])
def test_an_editor_that_changes_nothing_decides_nothing(
    open_terminal: OpenTerminal, folder: Path, editing: str, editor: str
) -> None:
    terminal = open_terminal("run", "--model", editing, "Change it", EDITOR=editor)
    terminal.expect("accept?")
    terminal.type("e\n")
    terminal.expect("accept?")
    terminal.type("q\n")
    assert terminal.end()[0] == 6
    assert "8080" in (folder / "notes.md").read_text()


def test_all_of_a_kind_and_always_are_grants_that_can_be_revoked(
    open_terminal: OpenTerminal, folder: Path, editing: str
) -> None:
    terminal = open_terminal("run", "--model", editing, "--run", "demo", "Change it")
    terminal.expect("accept?")
    terminal.type("p\n")
    terminal.expect("accept?")
    terminal.type("a\n")
    assert terminal.end()[0] == 0
    granted = json.loads(engine(folder, "allow", "grants", "--json").stdout)
    assert [(row["kind"], row["target"], row["run"]) for row in granted] == [
        ("file_write", "*", None),
        ("process", None, "demo"),
    ]
    assert engine(folder, "allow", "grants").stdout.splitlines()[2].split()[-1] == "any"
    assert engine(folder, "allow", "grants", "--revoke", "1").returncode == 0


def test_the_whole_proposal_is_shown_in_a_pager(open_terminal: OpenTerminal, folder: Path, tmp_path: Path) -> None:
    long = "".join(f"line {number}\n" for number in range(200))
    model = script(tmp_path / "long.jsonl", [f'<set path="new.txt">{long}</set><update status="200">Done.</update>'])
    terminal = open_terminal("run", "--model", model, "Write it", PAGER="sed s/^/paged:/")
    terminal.expect("accept?")
    assert "line 199" not in terminal.said
    assert "more lines; [v] shows all" in terminal.said
    terminal.type("v\n")
    terminal.expect("line 199")
    assert "paged:" in terminal.said
    terminal.type("q\n")
    terminal.end()


def test_the_files_of_a_patch_are_one_decision_or_several(
    open_terminal: OpenTerminal, folder: Path, tmp_path: Path
) -> None:
    patch = "<set>*** Begin Patch\n*** Add File: x.txt\n+x\n*** Add File: y.txt\n+y\n*** End Patch</set>"
    done = '<update status="200">Done.</update>'
    model = script(tmp_path / "patch.jsonl", [patch + done, patch.replace(".txt", ".md") + done, done])
    terminal = open_terminal("run", "--model", model, "--run", "one", "Write it")
    terminal.expect("accept all?")
    assert "changes 2 files" in terminal.said
    terminal.type("y\n")
    assert terminal.end()[0] == 0
    assert (folder / "y.txt").read_text() == "y\n"
    terminal = open_terminal("run", "--run", "one", "Again")
    terminal.expect("accept all?")
    terminal.type("o\n")
    terminal.expect("accept?")
    terminal.type("y\n")
    terminal.expect("accept?")
    terminal.type("n\n")
    terminal.expect("why not?")
    terminal.type("only the first\n")
    terminal.end()
    assert not (folder / "x.md").exists()  # a patch is done whole or not at all


def test_all_of_a_kind_at_one_file_of_a_patch_is_a_yes_to_the_others(
    open_terminal: OpenTerminal, folder: Path, tmp_path: Path
) -> None:
    patch = "<set>*** Begin Patch\n*** Add File: x.txt\n+x\n*** Add File: y.txt\n+y\n*** End Patch</set>"
    terminal = open_terminal(
        "run", "--model", script(tmp_path / "p.jsonl", [patch, "Done."]), "--run", "one", "Write it"
    )
    terminal.expect("accept all?")
    terminal.type("o\n")
    terminal.expect("accept?")
    terminal.type("a\n")
    assert terminal.end()[0] == 0
    assert (folder / "y.txt").read_text() == "y\n"
    with library.open(database(folder), read_only=True) as db:
        decided = db.rows("select target, decided_by from decisions order by proposal_id")
    assert [tuple(row.values()) for row in decided] == [("x.txt", user_name()), ("y.txt", "grant 1")]


def test_a_patch_is_accepted_with_all_of_its_kinds(open_terminal: OpenTerminal, folder: Path, tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Add File: x.txt\n+++i\n+x\n*** Update File: notes.md\n@@\n-{}\n+A\n*** End Patch"
    old = (folder / "notes.md").read_text().splitlines()[0]
    model = script(tmp_path / "p.jsonl", [f"<set>{patch.format(old)}</set>", "Done."])
    terminal = open_terminal("run", "--model", model, "--run", "one", "Write it", NO_COLOR="1")
    terminal.expect("+2 -0  x.txt")  # a line that begins with ++ is one
    terminal.expect("+1 -1  notes.md")
    terminal.expect("accept all?")
    terminal.type("?\n")
    terminal.expect("every change of a file in the rest of this run")
    terminal.expect("accept all?")
    terminal.type("a\n")
    assert terminal.end()[0] == 0
    granted = json.loads(engine(folder, "allow", "grants", "--json").stdout)
    assert [(row["kind"], row["target"], row["run"]) for row in granted] == [("file_write", None, "one")]


def test_no_text_begins_a_line_of_a_narrow_screen(open_terminal: OpenTerminal, folder: Path, tmp_path: Path) -> None:
    forged = "x" * 37 + "accept? [y/n] y" + "z" * 60
    lines = "".join(f"{forged}{number}\n" for number in range(30))
    model = script(
        tmp_path / "s.jsonl", [f'<sh>echo {forged * 9}\necho {forged * 9}</sh><set path="a.txt">{lines}</set>{ON}', ON]
    )
    terminal = open_terminal("run", "--model", model, "Go", NO_COLOR="1", COLUMNS="40", LINES="20")
    terminal.expect("$ echo ")
    terminal.expect("accept? [y/n/a/p/v/q/?]: ")
    command = terminal.said
    terminal.type("y\n")
    terminal.expect("a.txt  +30 -0")
    terminal.expect("more lines; [v] shows all")
    terminal.expect("accept? [y/n/e/a/p/v/q/?]: ")
    shown = terminal.said[len(command) :].partition("a.txt  +30 -0")[2]
    rows = [*command.partition("sh:")[2].splitlines()[1:-1], *shown.splitlines()[1:-2]]
    assert 12 <= len(shown.splitlines()) <= 20
    assert 12 <= len(command.partition("sh:")[2].splitlines()) <= 20
    assert all(row.startswith("  ") and len(row) <= 40 for row in rows)
    assert not any(row.lstrip("┆ ").startswith("accept") and not row.startswith("  ┆ ") for row in rows)
    terminal.type("q\n")
    terminal.end()
    code, listed = on_terminal(folder, "proposals", columns=40, NO_COLOR="1")
    title, *rows = [row for row in listed.splitlines() if row]
    assert (code, title.split()[1:2]) == (0, ["turn"])
    assert all(row.startswith("  ") and len(row) <= 40 for row in rows[:-2])


@pytest.mark.parametrize("name", ["a\\b", "[id]", "a{b,c}", "x*y", "!(y)", "(x|z)", "^a$", "a?"])
def test_always_in_a_folder_means_no_other_one(name: str) -> None:
    pattern = folder_of({"kind": "file_write", "target": f"src/{name}/page.tsx"})
    assert pattern_match(pattern, f"src/{name}/page.tsx")
    assert pattern_match(pattern, f"src/{name}/below/page.tsx")
    for other in ("id", "ab", "y", "xzy", "a", "ac", "b", "", f"{name}x"):
        assert not pattern_match(pattern, f"src/{other}/page.tsx")


# --- of a tree


def test_a_childs_decision_goes_on_with_the_run_that_waits_for_it(folder: Path, editing: str, tmp_path: Path) -> None:
    leader = script(tmp_path / "leader.jsonl", ['<subtask model="editor">Change it</subtask>', "Both are done."])
    engine(folder, "models", "add", "editor", editing)
    first = engine(folder, "run", "--model", leader, "--run", "demo", "--max-depth", "1", "Have it changed")
    assert (first.returncode, "demo > demo-1" in first.stderr) == (6, True)
    alone = engine(folder, "accept", "demo-1")
    assert "to continue: engine resume demo" in alone.stderr
    engine(folder, "resume", "demo")
    last = engine(folder, "accept", "demo-1", "--continue")
    assert (last.returncode, last.stdout) == (0, "Both are done.\n")

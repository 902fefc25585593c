"""`engine init` and `engine rules` as a person uses them.

spec: @rule_files @rule_explanation @rule_domains @rule_brackets @completion
"""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_cli import database, engine, script
from fresh import stays_open
from test_cli_completion import offered

DONE = '<update status="200">Done.</update>'


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


def test_init_for_all_folders_and_from_a_folder_above(folder: Path) -> None:
    said(folder, "init", "--global")
    assert not (folder / "AGENTS.md").exists()
    (folder / ".opencarly" / "domains").mkdir(parents=True)
    (folder / ".opencarly" / "domains" / "style.md").write_text("- Ours\n")
    manifest = folder / ".opencarly" / "manifest.json"
    manifest.write_text('{"domains": {"style": {"alwaysOn": true, "file": "domains/style.md"}}}')
    below = folder / "below"
    below.mkdir()
    assert f"from {folder / '.opencarly'}" in said(below, "init")
    rows = json.loads(said(below, "rules", "list", "--json"))
    assert [(row["folder"], row["domain"]) for row in rows][:2] == [(str(below), "style"), (None, "global")]
    manifest.write_text('{"domains": {\n  "style": {"alwaysOn": "yes"}}}')
    told = said(below, "rules", "import", code=1)
    assert told.startswith(f'engine: {manifest}: domains: style: alwaysOn must be true or false, not "yes"')
    assert told.count("\n") == 1


def test_brackets_out_of_order_are_told_as_they_are_taken_over(folder: Path) -> None:
    rules = folder / ".opencarly"
    rules.mkdir()
    (rules / "manifest.json").write_text('{"version": 1, "domains": {}}', encoding="utf-8")
    thresholds = {"moderate": 50, "depleted": 35, "critical": 60}
    (rules / "context.json").write_text(json.dumps({"thresholds": thresholds}), encoding="utf-8")
    warning = "DEPLETED begins before MODERATE ends; the later one wins"
    assert f"warning: {warning}" in said(folder, "init")
    assert said(folder, "rules", "import", "--replace").count(warning) == 1
    assert json.loads(said(folder, "rules", "import", "--json"))["warnings"] == [warning]


def test_a_domain_is_made_changed_switched_and_removed(folder: Path) -> None:
    said(
        folder,
        "rules",
        "new",
        "api",
        "--recall",
        "route, endpoint",
        "--rule",
        "Every route has a test",
        "--rule",
        "No state",
    )
    assert "already exists" in said(folder, "rules", "new", "api", code=1, EDITOR="echo edited >&2; false")
    assert "an editor needs a terminal" in said(folder, "rules", "edit", "api", code=2)
    assert "use 'two-words'" in said(folder, "rules", "new", "two words", "--rule", "x", code=2)
    assert "is never loaded" in said(folder, "rules", "new", "quiet", "--rule", "x")
    assert "nothing was changed" in said(folder, "rules", "new", "blank", code=1, EDITOR="true")
    assert "blank" not in said(folder, "rules", "list")
    editor = folder.parent / "editor"
    editor.write_text('#!/bin/sh\ngrep -q "^- No state" "$1" && echo "- Third" >> "$1"\n')
    editor.chmod(stat.S_IRWXU)
    assert "3 rules; called up by route, endpoint" in said(folder, "rules", "edit", "api", EDITOR=str(editor))
    assert "called up by api; src/**; not by docs" in said(
        folder, "rules", "edit", "api", "--recall", "api", "--paths", "src/**", "--exclude", "docs", "--whole-words"
    )
    (row,) = json.loads(said(folder, "rules", "list", "--json"))[:1]
    assert (row["recall"], row["whole_words"], row["rules"]) == ("api", 1, 3)
    assert "Third" in said(folder, "rules", "list", "api")
    said(folder, "rules", "disable", "api", "quiet")
    assert "inactive" in said(folder, "rules", "list")
    said(folder, "rules", "enable", "api")
    assert "removed: domain quiet, 1 rule" in said(folder, "rules", "rm", "quiet")
    assert "not found" in said(folder, "rules", "edit", "quiet", "--rule", "x", code=2)
    assert "no rules were given" in said(folder, "rules", "edit", "api", EDITOR="false", code=1)
    assert offered(folder, "rules", "edit", "a") == ["api"]


def test_words_brackets_star_commands_and_devmode(folder: Path) -> None:
    assert "no database" in said(folder, "rules", "devmode", "on", "--run", "demo", code=2)
    assert not (folder / ".engine").exists()
    said(folder, "init")
    assert "no word excludes" in said(folder, "rules", "exclude")
    assert "small talk" in said(folder, "rules", "exclude", "just chatting, small talk")
    assert json.loads(said(folder, "rules", "exclude", "", "--json")) == []
    shown = said(
        folder, "rules", "brackets", "--moderate", "5", "--depleted", "4", "--of", "fresh", "--rule", "Be brisk"
    )
    assert "DEPLETED begins before MODERATE ends" in shown
    assert "Be brisk" in shown
    assert "context" in said(folder, "rules", "brackets", "--basis", "context", "--off")
    assert "--basis" in said(folder, "rules", "brackets", "--basis", "moon", code=2)
    assert "*haiku" in said(
        folder, "rules", "star-commands", "Haiku", "--rule", "Answer as a haiku", "--description", "verse"
    )
    assert "in verse" in said(folder, "rules", "star-commands", "haiku", "--description", "in verse")
    (row,) = json.loads(said(folder, "rules", "star-commands", "haiku", "--json"))
    assert (row["description"], row["rules"]) == ("in verse", "Answer as a haiku")
    assert offered(folder, "rules", "star-commands", "ha") == ["haiku"]
    assert "*haiku" not in said(folder, "rules", "star-commands", "haiku", "--rm")
    assert "not found" in said(folder, "rules", "star-commands", "haiku", code=2)
    assert "start with a letter" in said(folder, "rules", "star-commands", "a-b", "--rule", "x", code=2)
    assert said(folder, "rules", "devmode") == "devmode: off\n"
    assert said(folder, "rules", "devmode", "on") == "devmode: on\n"
    assert "add --run" in said(folder, "rules", "devmode", "inherit", code=2)
    assert "no such run" in said(folder, "rules", "devmode", "on", "--run", "nobody", code=2)


def test_what_is_switched_off_is_shown_and_one_bracket_is_switched_alone(folder: Path) -> None:
    said(folder, "rules", "brackets", "--of", "FRESH", "--rule", "Look first", "--rule", "Ask")
    assert bracket_states(folder) == {"FRESH": "on", "MODERATE": "on", "DEPLETED": "on", "CRITICAL": "on"}
    shown = said(folder, "rules", "brackets", "--of", "fresh", "--off")
    assert "on, without rules" in shown
    assert "Look first" in shown
    said(folder, "rules", "brackets", "--of", "depleted", "--off")
    off = "on, without rules"
    assert bracket_states(folder) == {"FRESH": off, "MODERATE": "on", "DEPLETED": off, "CRITICAL": off}
    assert "Look first" not in said(folder, "rules", "explain", "go", "--json")
    said(folder, "rules", "brackets", "--of", "fresh", "--rule", "Look twice")
    assert bracket_states(folder)["FRESH"] == off
    said(folder, "rules", "brackets", "--of", "fresh", "--on")
    assert "Look twice" in said(folder, "rules", "explain", "go", "--json")
    said(folder, "rules", "brackets", "--off")
    assert set(bracket_states(folder).values()) == {"off"}
    assert "--rule TEXT, --on or --off" in said(folder, "rules", "brackets", "--of", "fresh", code=2)
    assert "--of BRACKET" in said(folder, "rules", "brackets", "--rule", "Look", code=2)
    said(folder, "rules", "star-commands", "haiku", "--rule", "Answer as a haiku")
    columns = said(folder, "rules", "star-commands", "--off").splitlines()[1].split()
    assert columns[:2] == ["*haiku", "off"]


def bracket_states(folder: Path) -> dict[str, str]:
    """The brackets with their states, as `engine rules brackets` prints them."""
    lines = said(folder, "rules", "brackets").splitlines()
    start, end = lines[0].index("state"), lines[0].index("after_prompts")
    return {line.split()[0]: line[start:end].strip() for line in lines[1:] if line}


def test_a_prompt_is_explained_and_what_it_cost_is_told(folder: Path) -> None:
    assert "no database" in said(folder, "rules", "explain", "x", code=2)
    said(folder, "init")
    assert said(folder, "rules", "stats").strip() == "no prompt has used rules yet"
    told = said(folder, "rules", "explain", "print the TOKEN of src/a.py *brief")
    for line in (
        "global       loaded: always on, 4 rules",
        "development  loaded, 4 rules                               'src/a.py' matches 'src/**'",
        "security     loaded, 4 rules                               the prompt has 'token'",
        "testing      not loaded: the prompt has none of its words",
        "*brief       loaded                                        the prompt has '*brief'",
        "bracket FRESH, prompt 1, 100 % of the context left, devmode off;",
    ):
        assert line in told
    model = script(folder.parent / "m.jsonl", [DONE, DONE])
    said(folder, "run", "--run", "demo", "--model", model, "a token")
    said(folder, "rules", "disable", "security", "--run", "demo")
    said(folder, "rules", "devmode", "on", "--run", "demo")
    found = json.loads(said(folder, "rules", "explain", "a token", "--run", "demo", "--json"))
    assert (found["prompts"], found["devmode"], "security" in str(found["findings"])) == (2, 1, False)
    said(folder, "rules", "enable", "security", "--run", "demo", "--inherit")
    assert "security" in said(folder, "rules", "explain", "a token", "--run", "demo")
    stats = json.loads(said(folder, "rules", "stats", "demo", "--json"))
    assert stats["total"]["prompts"] == 1
    assert stats["loads"][0]["tokens"] > 0
    assert "1 prompt; over all turns" in said(folder, "rules", "stats")


def test_a_single_file_is_imported_with_its_words(folder: Path) -> None:
    (folder / "style.md").write_text("- Short sentences\n")
    assert "is never loaded" in said(folder, "rules", "import", "style.md")
    assert "there already: domain style" in said(folder, "rules", "import", "style.md", "--recall", "write")
    assert "replaced: domain style" in said(folder, "rules", "import", "style.md", "--recall", "write", "--replace")
    assert "style, from style.md" in said(folder, "rules", "explain", "write", "--json").replace(
        'matched: \\"write\\"', "style"
    )


def test_show_tells_the_rules_of_a_run_its_bracket_and_what_it_has_otherwise(folder: Path) -> None:
    said(folder, "init")
    model = script(folder.parent / "m.jsonl", [DONE, DONE])
    said(folder, "run", "--run", "demo", "--model", model, "write a test *brief")
    said(folder, "rules", "disable", "security", "--run", "demo")
    said(folder, "rules", "devmode", "on", "--run", "demo")
    said(folder, "run", "--run", "demo", "--model", model, "and again, test it")
    shown = said(folder, "show", "demo")
    assert "bracket  FRESH, 2 prompts" in shown
    assert "testing" in shown
    assert "devmode  on" in shown
    assert "override devmode on, domain security off" in shown
    found = json.loads(said(folder, "show", "demo", "--json"))
    assert found["rules"]["overrides"] == {"devmode": 1, "domain security": 0}
    assert (found["rules"]["prompts"], found["rules"]["bracket"]) == (2, "FRESH")
    assert found["label"] == "project"
    said(folder, "runs", "label", "demo", "draft")
    assert json.loads(said(folder, "show", "demo", "--json"))["label"] == "draft"

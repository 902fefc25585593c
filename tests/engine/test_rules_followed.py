"""Rule files are looked at again when a prompt begins: what they say otherwise counts, and is told.

spec: @rule_files
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from driving import script

import engine
from engine.rules import imports, sources, store

DONE = '<update status="200">Done.</update>'
MANIFEST: dict[str, Any] = {
    "version": 1,
    "domains": {
        "style": {"alwaysOn": True, "file": "style.md"},
        "tests": {"recall": ["test"], "file": "tests.md"},
    },
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    folder = made / ".opencarly"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(MANIFEST))
    (folder / "style.md").write_text("- British spelling\n")
    (folder / "tests.md").write_text("- Test first\n")
    return made


def take(db: engine.Database, root: Path) -> imports.Report:
    return imports.add(db, str(root), sources.read(root / ".opencarly", root))


def packet(db: engine.Database, root: Path, prompt: str = "Go") -> tuple[str, list[dict[str, Any]]]:
    """What the packet of a prompt says of rules, and the events of the kind."""
    events: list[Any] = []
    db.run(prompt, run="demo", model=script(root.parent, DONE, DONE, DONE, DONE), root=root, on_event=events.append)
    turn = db.value("select max(turn) from packet_texts where run = 'demo'")
    text = db.value(
        "select group_concat(body, '') from packet_texts where run = 'demo' and role = 'user' and turn = ?", (turn,)
    )
    return str(text), [each for each in events if each["type"] == "rules"]


def test_a_file_that_is_edited_counts_at_the_next_prompt_and_that_is_told(db: engine.Database, root: Path) -> None:
    take(db, root)
    text, told = packet(db, root)
    assert "British spelling" in text
    assert told == []
    (root / ".opencarly" / "style.md").write_text("- American spelling\n- Short sentences\n")
    text, told = packet(db, root, "Again")
    assert "American spelling" in text
    assert "British spelling" not in text
    assert [(each["status"], each["body"]) for each in told] == [(200, ".opencarly has changed: replaced domain style")]
    assert packet(db, root, "Once more")[1] == []


def test_domains_that_come_and_go_are_followed(db: engine.Database, root: Path) -> None:
    take(db, root)
    changed = {**MANIFEST, "domains": {"style": MANIFEST["domains"]["style"], "new": {"alwaysOn": True}}}
    (root / ".opencarly" / "manifest.json").write_text(json.dumps(changed))
    (root / ".opencarly" / "domains").mkdir()
    (root / ".opencarly" / "domains" / "new.md").write_text("- Brand new\n")
    text, told = packet(db, root, "test it")
    assert "Brand new" in text
    assert "Test first" not in text
    assert "added domain new; removed domain tests" in told[0]["body"]


def test_what_a_person_changed_stays_until_the_file_says_otherwise(db: engine.Database, root: Path) -> None:
    take(db, root)
    number = store.domain_of(db, str(root), "style")["domain_id"]
    with db.transaction():
        store.write_rules(db, number, ["My own rule"])
    (root / ".opencarly" / "tests.md").write_text("- Test last\n")
    text, _ = packet(db, root, "test")
    assert "My own rule" in text
    assert "Test last" in text
    (root / ".opencarly" / "style.md").write_text("- From the file\n")
    assert "From the file" in packet(db, root, "Again")[0]


def test_a_file_that_is_broken_leaves_the_rules_and_is_told_once(db: engine.Database, root: Path) -> None:
    take(db, root)
    manifest = root / ".opencarly" / "manifest.json"
    manifest.write_text("{")
    text, told = packet(db, root)
    assert "British spelling" in text
    assert told[0]["status"] == 500
    assert "is not JSON" in told[0]["body"]
    assert packet(db, root, "Again")[1] == []
    assert "is not JSON" in db.value("select group_concat(warning) from rule_warnings")
    manifest.write_text(json.dumps(MANIFEST))
    packet(db, root, "Mended")
    assert "is not JSON" not in str(db.value("select group_concat(warning) from rule_warnings"))
    manifest.unlink()
    text, told = packet(db, root, "Gone")
    assert "British spelling" in text
    assert told[0]["status"] == 500


def test_the_same_text_written_anew_changes_nothing(db: engine.Database, root: Path) -> None:
    take(db, root)
    file = root / ".opencarly" / "style.md"
    file.write_text(file.read_text())
    assert packet(db, root)[1] == []


def test_importing_again_takes_what_has_changed(db: engine.Database, root: Path) -> None:
    take(db, root)
    (root / ".opencarly" / "style.md").write_text("- Other\n")
    report = take(db, root)
    assert (report.replaced, report.kept) == (["domain style"], ["domain tests"])


def test_a_single_file_keeps_the_words_that_it_was_given(db: engine.Database, root: Path) -> None:
    file = root / "style.md"
    file.write_text("- One\n")
    found = sources.read(file, root)
    found.domains[0].recall = ["write"]
    imports.add(db, str(root), found)
    file.write_text("- Two\n")
    text, told = packet(db, root, "write it")
    assert "Two" in text
    assert told[0]["body"] == "style.md has changed: replaced domain style"


def test_a_link_in_the_place_of_a_rule_file_is_not_followed(db: engine.Database, root: Path) -> None:
    take(db, root)
    secret = root.parent / "secret.md"
    secret.write_text("- a secret\n")
    file = root / ".opencarly" / "style.md"
    file.unlink()
    file.symlink_to(secret)
    assert "a secret" not in packet(db, root)[0]

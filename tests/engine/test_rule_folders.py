"""Folders of rules, as the seeds and their repositories write them, and single files.

1. A folder .opencarly. 2. A folder .carl, of lines and of JSON. 3. A single file. 4. What is wrong is named with its place.
5. The nearest folder counts. 6. Nothing is overwritten.

spec: @rule_files
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.errors import Conflict, NotFound
from engine.rules import imports, sources, store
from engine.rules.folders import Found, kept_rules

MANIFEST: dict[str, Any] = {
    "version": 1,
    "devmode": True,
    "globalExclude": ["casual", "chat"],
    "domains": {
        "global": {"state": "active", "alwaysOn": True, "recall": [], "exclude": [], "file": "domains/global.md"},
        "Dev Work": {
            "state": "inactive",
            "recall": ["fix", "write code", "fix", " "],
            "exclude": ["docs only"],
            "paths": ["*.ts", "src/**/*"],
            "file": "domains/development.md",
        },
    },
    "commands": {"state": "active"},
    "context": {"state": "inactive"},
}
COMMANDS = {"Brief": {"description": "Concise", "rules": ["Five points", "No preamble"]}, "2x": {"rules": ["x"]}}
CONTEXT = {
    "thresholds": {"moderate": 10, "depleted": 20, "critical": 30},
    "brackets": {"fresh": {"enabled": True, "rules": ["Lean"]}, "depleted": {"enabled": False, "rules": []}},
    "trimming": {"enabled": True},
}
CARL = """\
# CARL Manifest
# =============

DOMAIN_ORDER=GLOBAL,DEVELOPMENT
DEVMODE=false
GLOBAL_EXCLUDE=casual, chat

TESTING_STATE=inactive
TESTING_RECALL=test, TDD
TESTING_EXCLUDE=
TESTING_ALWAYS_ON=false
DEVELOPMENT_STATE=active
DEVELOPMENT_RECALL=*dev, fix bug,implement
DEVELOPMENT_EXCLUDE=documentation only
DEVELOPMENT_ALWAYS_ON=false
GLOBAL_STATE=active
GLOBAL_RECALL=
GLOBAL_ALWAYS_ON=true
CONTEXT_STATE=active
CONTEXT_ALWAYS_ON=true
COMMANDS_STATE=active
"""
CARL_FILES = {
    "manifest": CARL,
    "global": "# GLOBAL\r\nGLOBAL_RULE_10=Last = least\r\nGLOBAL_RULE_0=First\r\nGLOBAL_RULE_2=Second\r\n",
    "development.env": "DEVELOPMENT_RULE_0=Code over explanation - show, don't tell\n",
    "commands": "BRIEF_RULE_0=*brief - Be short\nBRIEF_RULE_1=Points only\n\nDEEP_RULE_0=*deep - All of it\n",
    "context": "FRESH_ENABLED=true\nFRESH_RULE_0=Be thorough\nMODERATE_ENABLED=false\nMODERATE_RULE_0=Balance\n",
}


def write(folder: Path, files: dict[str, Any]) -> Path:
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes((text if isinstance(text, str) else json.dumps(text, indent=2)).encode())
    return folder


def opencarly(root: Path, **changes: Any) -> Path:
    files = {
        "manifest.json": MANIFEST,
        "commands.json": COMMANDS,
        "context.json": CONTEXT,
        "domains/global.md": "# Global\n\nFor all.\n\n- Absolute paths\r\n  - Batch calls\n* no rule\n",
        "domains/development.md": "- Show it\n",
        **{name.replace("__", "/").replace("_json", ".json"): text for name, text in changes.items()},
    }
    return write(root / ".opencarly", files)


def test_a_folder_opencarly_is_taken_over(tmp_path: Path) -> None:
    found = sources.read(opencarly(tmp_path), tmp_path)
    style, work = found.domains
    assert (style.name, style.always_on, style.rules) == ("global", True, ["Absolute paths", "Batch calls"])
    assert style.file == ".opencarly/domains/global.md"
    assert (work.name, work.is_active, work.recall) == ("dev-work", False, ["fix", "write code"])
    assert (work.exclude, work.paths, work.rules) == (["docs only"], ["*.ts", "src/**/*"], ["Show it"])
    assert (found.devmode, found.exclude, found.brackets_on, found.basis) == (
        True,
        ["casual", "chat"],
        False,
        "prompts",
    )
    assert [(command.name, command.rules) for command in found.star_commands] == [
        ("brief", ["Five points", "No preamble"])
    ]
    assert [(bracket.name, bracket.after_prompts, bracket.is_enabled, bracket.rules) for bracket in found.brackets] == [
        ("FRESH", None, True, ["Lean"]),
        ("MODERATE", 10, True, []),
        ("DEPLETED", 20, False, []),
        ("CRITICAL", 30, True, []),
    ]
    assert [warning for warning in found.warnings if "'2x'" in warning]


def test_a_folder_carl_of_lines_is_taken_over(tmp_path: Path) -> None:
    found = sources.read(write(tmp_path / ".carl", CARL_FILES), tmp_path)
    assert [domain.name for domain in found.domains] == ["global", "development", "testing"]
    everything, work, testing = found.domains
    assert (everything.always_on, everything.rules) == (True, ["First", "Second", "Last = least"])
    assert (work.recall, work.exclude) == (["*dev", "fix bug", "implement"], ["documentation only"])
    assert work.rules == ["Code over explanation - show, don't tell"]
    assert (testing.is_active, testing.rules) == (False, [])
    assert found.warnings == [".carl/testing: there is no such file; domain 'TESTING' has no rules"]
    assert (found.exclude, found.basis) == (["casual", "chat"], "context")
    assert [(command.name, len(command.rules)) for command in found.star_commands] == [("brief", 2), ("deep", 1)]
    assert [(each.name, each.is_enabled, each.rules) for each in found.brackets] == [
        ("FRESH", True, ["Be thorough"]),
        ("MODERATE", False, ["Balance"]),
    ]


def test_a_folder_carl_of_json_is_taken_over(tmp_path: Path) -> None:
    said = {
        "config": {
            "devmode": True,
            "global_exclude": ["chat"],
            "commands": {"BRIEF": ["Short"], "DEEP": {"rules": ["All"]}},
            "context_brackets": {"FRESH": {"rules": ["Lean"]}, "CRITICAL": {"enabled": True}},
        },
        "domains": {
            "GLOBAL": {"state": "active", "rules": [{"id": 0, "text": "Always"}]},
            "DEV": {
                "state": "active",
                "recall": ["fix"],
                "exclude": [],
                "rules": [{"text": "Show it"}],
                "decisions": [],
            },
        },
    }
    found = sources.read(write(tmp_path / ".carl", {"carl.json": said, "manifest": "nonsense"}), tmp_path)
    assert [(domain.name, domain.always_on, domain.rules) for domain in found.domains] == [
        ("global", True, ["Always"]),
        ("dev", False, ["Show it"]),
    ]
    assert [(command.name, command.rules) for command in found.star_commands] == [
        ("brief", ["Short"]),
        ("deep", ["All"]),
    ]
    assert (found.devmode, found.exclude, [bracket.name for bracket in found.brackets]) == (
        True,
        ["chat"],
        ["FRESH", "CRITICAL"],
    )


def test_a_single_file_is_a_domain(tmp_path: Path) -> None:
    write(
        tmp_path, {"Our Style.md": "# x\n- One\n- Two\n", "lines": "API_RULE_1=B\nAPI_RULE_0=A\n", "none.md": "text\n"}
    )
    (style,) = sources.read(tmp_path / "Our Style.md", tmp_path).domains
    assert (style.name, style.rules, style.file) == ("our-style", ["One", "Two"], "Our Style.md")
    (lines,) = sources.read(tmp_path / "lines", tmp_path).domains
    assert (lines.name, lines.rules) == ("api", ["A", "B"])
    with pytest.raises(Conflict, match=r"none\.md: has no rules; a rule is a line '- text'"):
        sources.read(tmp_path / "none.md", tmp_path)
    with pytest.raises(NotFound, match="no such file or folder"):
        sources.read(tmp_path / "nowhere", tmp_path)
    with pytest.raises(NotFound, match=r"has no manifest\.json"):
        sources.read(tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ('{\n  "version": 1,\n  x\n}', r"\.opencarly/manifest\.json:3:3: is not JSON"),
        ('{"version": 2}', "version is 1, not '2'"),
        ("[]", r"manifest\.json: must be an object, not \[\]"),
        ({"domains": {"a": {"recall": "fix"}}}, 'domains: a: recall must be a list of texts, not "fix"'),
        ({"domains": {"a": {"recall": ["fix", 7]}}}, "recall must be a list of texts; 7 is not a text"),
        ({"domains": {"a": {"state": "on"}}}, 'domains: a: state is active or inactive, not "on"'),
        ({"domains": {"a": {"alwaysOn": 1}}}, "alwaysOn must be true or false, not 1"),
        ({"domains": {"***": {}}}, r"'\*\*\*' is not a valid name for a domain"),
        ({"domains": {"a b": {}, "A-B": {}}}, "two domains have the name 'a-b'"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_wrong_manifest_is_refused_with_its_place(tmp_path: Path, manifest: Any, said: str) -> None:
    with pytest.raises(Conflict, match=said):
        sources.read(opencarly(tmp_path, manifest_json=manifest), tmp_path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", r"\.carl/manifest:23: a line is KEY=VALUE, not 'nonsense'"),
        ("X_STATE=on", "manifest:23: X_STATE is active or inactive, not 'on'"),
        ("X_ALWAYS_ON=maybe", "X_ALWAYS_ON is true or false, not 'maybe'"),
    ],
)
def test_a_wrong_line_of_a_manifest_is_refused_with_its_number(tmp_path: Path, line: str, said: str) -> None:
    folder = write(tmp_path / ".carl", {**CARL_FILES, "manifest": f"{CARL}\n{line}\n"})
    with pytest.raises(Conflict, match=said):
        sources.read(folder, tmp_path)


def test_all_faults_of_a_manifest_are_told_at_once(tmp_path: Path) -> None:
    manifest = {
        "version": 2,
        "devmode": "yes",
        "domains": {"a": {"recall": "fix", "state": "on"}, "***": {}, "b": 7, "c d": {}, "C-D": {}},
    }
    with pytest.raises(Conflict) as raised:
        sources.read(opencarly(tmp_path, manifest_json=manifest), tmp_path)
    for said in (
        "version is 1",
        "devmode must be true or false",
        "a: recall must be a list",
        "a: state is active",
        "'***' is not a valid name",
        "b must be an object",
        "two domains have the name 'c-d'",
    ):
        assert said in raised.value.message, raised.value.message
    lines = f"{CARL}\nnonsense\nX_STATE=on\nX_ALWAYS_ON=maybe\n"
    with pytest.raises(Conflict) as raised:
        sources.read(write(tmp_path / "two" / ".carl", {**CARL_FILES, "manifest": lines}), tmp_path)
    assert len(raised.value.message.splitlines()) == 3


def test_each_key_that_nobody_knows_is_named(tmp_path: Path) -> None:
    changed = {**MANIFEST, "theme": "dark", "domains": {"a": {"priority": 3, "file": "domains/global.md"}}}
    said = "\n".join(sources.read(opencarly(tmp_path, manifest_json=changed), tmp_path).warnings)
    assert "'theme' is ignored" in said
    assert "'priority' is ignored" in said
    carl = {"config": {"devmode": True, "brand": 1}, "domains": {"a": {"rules": [{"text": "x", "id": 1}]}}, "next": 2}
    said = "\n".join(sources.read(write(tmp_path / "j" / ".carl", {"carl.json": carl}), tmp_path).warnings)
    for name in ("'brand'", "'next'", "of its rules id"):
        assert f"{name} " in said


def test_a_bracket_of_carl_is_switched_off_by_either_name(tmp_path: Path) -> None:
    context = "FRESH_RULES=false\nFRESH_RULE_0=Be thorough\nMODERATE_ENABLED=false\nDEPLETED_RULE_0=Go\nODD=1\n"
    found = sources.read(write(tmp_path / ".carl", {**CARL_FILES, "context": context}), tmp_path)
    assert {each.name: each.is_enabled for each in found.brackets} == {
        "FRESH": False,
        "MODERATE": False,
        "DEPLETED": True,
    }
    assert any("'ODD' is ignored" in warning for warning in found.warnings)


def test_an_optional_file_that_is_wrong_is_a_warning_and_its_default(tmp_path: Path, db: engine.Database) -> None:
    folder = opencarly(tmp_path, commands_json='{"a": {"rules": ["x"]}, "b": 7}', context_json="{")
    (folder / "domains" / "global.md").write_bytes(b"- \xff\n")
    found = sources.read(folder, tmp_path)
    assert (found.star_commands, found.brackets, found.domains[0].rules) == ([], [], [])
    assert [warning.split(": ")[0] for warning in found.warnings] == [
        ".opencarly/domains/global.md",
        ".opencarly/commands.json",
        ".opencarly/context.json:1:2",
    ]
    assert "it is not UTF-8; domain 'global' has no rules" in found.warnings[0]
    imports.add(db, str(tmp_path), found)
    assert db.rows("select after_prompts from bracket_list where bracket = 'MODERATE'") == [{"after_prompts": 15}]


def test_what_is_too_long_is_left_out_and_said(tmp_path: Path) -> None:
    changed = {**MANIFEST, "domains": {"a": {"recall": ["w" * 201, "ok"], "file": "domains/a.md"}}}
    rules = "".join(f"- rule {number}\n" for number in range(210)) + f"- {'x' * 2_001}\n"
    found = sources.read(opencarly(tmp_path, manifest_json=changed, domains__a=""), tmp_path)
    (tmp_path / ".opencarly" / "domains" / "a.md").write_text(rules)
    found = sources.read(tmp_path / ".opencarly", tmp_path)
    assert (found.domains[0].recall, len(found.domains[0].rules)) == (["ok"], 200)
    assert len(found.warnings) == 5, found.warnings
    assert any("'trimming' is ignored" in warning for warning in found.warnings)


def test_the_nearest_folder_counts_and_the_home_is_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    assert sources.nearest(deep) is None
    own = write(tmp_path / "home" / ".config" / "opencarly", {"manifest.json": {}})
    assert sources.nearest(deep) == own
    above = write(tmp_path / "a" / ".carl", CARL_FILES)
    assert sources.nearest(deep) == above
    (tmp_path / "a" / "b" / ".opencarly").mkdir()
    assert sources.nearest(deep) == above, "a folder without a manifest is none"
    near = opencarly(tmp_path / "a" / "b")
    assert sources.nearest(deep) == near
    near.chmod(0o777)
    assert sources.nearest(deep) == above, "others can write it"
    assert sources.nearest(tmp_path.joinpath("a", *"123456789")) == above
    assert sources.nearest(tmp_path.joinpath("a", *"1234567890")) == own, "ten folders are looked into"


def test_nothing_is_overwritten_unless_asked(tmp_path: Path, db: engine.Database) -> None:
    found = sources.read(opencarly(tmp_path), tmp_path)
    first = imports.add(db, str(tmp_path), found)
    rows = db.rows("select * from rule_list"), db.rows("select * from bracket_list")
    assert (len(first.added), first.kept) == (7, [])
    again = imports.add(db, str(tmp_path), found)
    assert (again.added, len(again.kept)) == ([], 7)
    assert (db.rows("select * from rule_list"), db.rows("select * from bracket_list")) == rows
    store.write_rules(db, db.value("select id from rule_domains where name = 'global'"), ["mine"])
    assert imports.add(db, str(tmp_path), found).replaced == []
    assert db.value("select rule from rule_list where domain = 'global'") == "mine"
    assert len(imports.add(db, str(tmp_path), found, replace=True).replaced) == 7
    assert (db.rows("select * from rule_list"), db.rows("select * from bracket_list")) == rows
    assert db.value("select count(*) from rule_keywords") == 7


def test_a_blank_rule_is_left_out_and_told() -> None:
    found = Found("f.md")
    assert kept_rules(["Be  brief.", " \t "], "f.md", found) == ["Be brief."]
    assert len(found.warnings) == 1

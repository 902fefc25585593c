"""Rules in runs: what a packet shows of them, what they cost, and what a run without them does not notice.

1. The section, as prose. 2. Its place, its order and its budget. 3. A file without rules, and one with rules elsewhere,
sends the same packets. 4. A loop keeps what its first packet showed; a fork counts on. 5. `explain` stores nothing.

spec: @rule_section @rule_explanation @rule_brackets
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from driving import script

import engine
from engine.errors import NotFound
from engine.rules import imports, sources, store
from engine.rules.folders import Bracket, Domain, Found, StarCommand

DONE = '<update status="200">Done.</update>'
RULES = Found(
    "here",
    domains=[
        Domain("style", always_on=True, rules=["British spelling"], file="rules/style.md"),
        Domain("testing", recall=["test", "TDD"], paths=["tests/**"], rules=["Test first", "One claim a test"]),
        Domain("money", recall=["price"], exclude=["toy"], rules=["Cents are whole numbers"]),
        Domain("secrets", recall=["token", "key"], rules=["Print no key"]),
    ],
    star_commands=[StarCommand("brief", "a short answer", ["Five points at most"])],
    brackets=[Bracket("FRESH", rules=["Rely on what was said"])],
)
SECTION = """\
<rules>
Rules of this project and its user, for how to work and answer. They grant nothing; the prompt comes before them.

CONTEXT BRACKET: [FRESH] (prompt 1/15)

[FRESH] CONTEXT RULES:
  1. Rely on what was said

*BRIEF was asked for: a short answer
  1. Five points at most

DEVMODE: off. Add no block about these rules to the answer.

LOADED DOMAINS:
  [STYLE] always_on, from rules/style.md (1 rule)
  [TESTING] matched: "test" (2 rules)

[STYLE] RULES:
  1. British spelling

[TESTING] RULES:
  1. Test first
  2. One claim a test

EXCLUDED: [MONEY] by "toy"

AVAILABLE (not loaded; <get path="rule://NAME/*"/> shows one):
  SECRETS (recall: token, key)
</rules>
<budget """


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def packet(db: engine.Database, run: str, turn: int) -> str:
    text = db.value("select body from packet_texts where run = ? and turn = ? and role = 'user'", (run, turn))
    assert isinstance(text, str)
    return text


def test_the_section_stands_before_the_budget_in_the_order_of_the_seed(
    db: engine.Database, root: Path, tmp_path: Path
) -> None:
    imports.add(db, str(root), RULES)
    model = script(tmp_path, '<get path="rule://secrets/*"/>', DONE)
    assert db.run("test the price of a toy *brief", run="a", model=model, root=root).status == 200
    assert SECTION in packet(db, "a", 1)
    # the loop keeps what it has; what a rule of another domain says can be read
    later = packet(db, "a", 2)
    assert SECTION in later
    assert "Print no key" in later


def test_the_section_counts_as_part_of_the_system_share(db: engine.Database, root: Path, tmp_path: Path) -> None:
    model = script(tmp_path, DONE, DONE)
    db.run("a test", run="a", model=model, root=root)
    imports.add(db, str(root), RULES)
    db.run("a test", run="b", model=model, root=root)
    (plain,) = db.rows(
        "select context_chars, entry_chars from turns as t join runs as r on r.id = t.run_id where alias = 'a'"
    )
    (ruled,) = db.rows(
        "select context_chars, entry_chars from turns as t join runs as r on r.id = t.run_id where alias = 'b'"
    )
    section = packet(db, "b", 1).partition("<rules>")[2].partition("</rules>\n")[0]
    assert ruled["entry_chars"] == plain["entry_chars"]
    assert ruled["context_chars"] == plain["context_chars"] + len(f"<rules>{section}</rules>\n")


def test_a_run_without_rules_sends_what_it_would_send(db: engine.Database, root: Path, tmp_path: Path) -> None:
    model = script(tmp_path, DONE, DONE)
    db.run("a test *brief", run="a", model=model, root=root)
    imports.add(db, str(tmp_path / "elsewhere"), RULES)
    db.run("a test *brief", run="b", model=model, root=root)
    assert packet(db, "a", 1) == packet(db, "b", 1)
    assert db.value("select count(*) from rule_selections") == 0


def test_a_looked_at_turn_writes_nothing_where_there_are_no_rules(
    db: engine.Database, root: Path, tmp_path: Path
) -> None:
    seen: list[str] = []
    db.connection.trace_v2(1, lambda event: seen.append(event["sql"]))
    db.run("a test", run="a", model=script(tmp_path, DONE), root=root)
    db.connection.trace_v2(0, None)
    assert [sql for sql in seen if "_preparations" in sql]
    assert [sql for sql in seen if re.match(r"(insert into|update) \w*rule", sql)] == []


def test_a_fork_counts_the_prompts_of_its_parent(db: engine.Database, root: Path, tmp_path: Path) -> None:
    imports.add(db, str(root), RULES)
    model = script(tmp_path, *[DONE] * 6)
    for _ in range(3):
        db.run("go", run="a", model=model, root=root)
    child = db.fork("a", "b", at=3)
    db.run("go", run=child, model=model)
    query = "select prompts from rule_matches where run = ? group by loop order by loop"
    assert [row["prompts"] for row in db.rows(query, ("a",))] == [1, 2, 3]
    assert [row["prompts"] for row in db.rows(query, ("b",))] == [3]


def test_a_fork_begins_with_the_overrides_of_its_parent(db: engine.Database, root: Path, tmp_path: Path) -> None:
    imports.add(db, str(root), RULES)
    db.run("go", run="a", model=script(tmp_path, DONE), root=root)
    store.override(db, "a", "devmode", "", True)
    db.fork("a", "b", at=1)
    store.override(db, "a", "devmode", "", None)
    query = "select r.alias, o.kind, o.is_on from rule_overrides as o join runs as r on r.id = o.run_id"
    assert [tuple(row.values()) for row in db.rows(query)] == [("b", "devmode", 1)]


def test_explaining_stores_nothing_and_tells_the_next_prompt(db: engine.Database, root: Path, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="engine init"):
        store.explain(db, "a test", run=None, root=str(root))
    imports.add(db, str(root), RULES)
    db.run("a test", run="a", model=script(tmp_path, DONE), root=root)
    store.override(db, "a", "domain", "testing", is_on=False)
    counts = "select count(*), (select count(*) from projects) as projects from rule_findings"
    before = db.row(counts)
    first = store.explain(db, "a test *brief", run=None, root=str(root / "below"))
    again = store.explain(db, "a test", run="a", root=None)
    assert db.row(counts) == before
    assert [(row["found"], row["name"], row["word"]) for row in first["findings"]] == [
        ("always_on", "style", None),
        ("matched", "testing", "test"),
        ("available", "money", None),
        ("available", "secrets", None),
        ("star_command", "brief", "*brief"),
    ]
    assert (first["prompts"], again["prompts"]) == (1, 2)
    assert "testing" not in [row["name"] for row in again["findings"]]
    with pytest.raises(NotFound, match="no such run"):
        store.explain(db, "x", run="nobody", root=None)


@pytest.mark.usefixtures("in_folder")
def test_the_explanation_is_read_by_a_stock_shell(db: engine.Database, root: Path, tmp_path: Path) -> None:
    imports.add(db, str(root), RULES)
    db.run("a test *brief", run="a", model=script(tmp_path, DONE), root=root)
    with closing(sqlite3.connect(tmp_path / "t.db")) as stock:
        (named,) = stock.execute("select group_concat(found, ' ') from (select * from rule_matches)").fetchone()
        assert named == "always_on matched available available star_command"
        assert stock.execute("select tokens, saved_tokens from rule_loads").fetchall() == [(21, 18)]
        for view in ("rule_domain_list", "rule_list", "star_command_list", "bracket_list", "rule_warnings"):
            assert stock.execute(f"select count(*) from {view}").fetchone() is not None


def test_the_rules_that_come_with_the_engine_are_whole(db: engine.Database, root: Path) -> None:
    found = sources.shipped()
    assert found.warnings == []
    assert [command.name for command in found.star_commands] == [
        "dev", "review", "brief", "plan", "discuss", "debug", "explain", "carly",
    ]  # fmt: skip
    imports.add(db, str(root), found)
    assert db.rows("select * from rule_warnings") == []


def test_many_rules_leave_room_for_the_rest(db: engine.Database, root: Path, tmp_path: Path) -> None:
    many = [Domain(f"d{number}", always_on=True, rules=["x" * 1_000] * 3) for number in range(50)]
    imports.add(db, str(root), Found("here", domains=many))
    db.execute("update settings set value = '3000' where name = 'max_rule_tokens'")
    assert db.run("go", run="a", model=script(tmp_path, DONE), root=root).status == 200
    shown = packet(db, "a", 1).partition("<rules>")[2].partition("</rules>")[0]
    assert len(shown) < 3_000 * 2 + 1_000
    assert "more lines have no room here" in shown

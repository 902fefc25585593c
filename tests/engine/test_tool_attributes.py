"""The attributes of tools: what takes effect stands in their schema, and a number that is none is told.

1. Every attribute of a command that SQL reads stands in the schema of a tool, or is one of those that only an app gives.
2. A numeric attribute of any tool that is no number is a 400 that says what it may be, told or not. 3. Beyond its bounds a
number counts as the nearest within them. 4. Processes have from 1 to 600 seconds.

spec: @schemas @tool_sh @tool_search @limits
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, begin, script, turn

import engine
from engine.schema.build import installed

OF_APPS = {"state", "outcome", "append", "attributes", "pattern", "checks"}
"""Attributes that a model cannot give: what it writes under these names is ignored."""
OWN = (
    "get",
    "set",
    "think",
    "env",
    "sh",
    "rm",
    "cp",
    "mv",
    "search",
    "update",
    "ask_user",
    "subtask",
    "execute",
    "handoff",
)


def schemas(db: engine.Database) -> dict[str, dict[str, Any]]:
    rows = db.rows("select name, schema from tools")
    return {row["name"]: json.loads(row["schema"])["properties"] for row in rows if row["name"] in OWN}


def read_attributes() -> set[str]:
    """The keys that views and triggers read from the attributes of commands, told by the alias of the table."""
    found: set[str] = set()
    for _, text in installed().all_sources:
        for statement in re.split(r";\n\n", text):
            aliases = set(re.findall(r"(?:from|join) commands(?: as (\w+))?", statement))
            aliases |= {"new"} if re.search(r"\bon _run_\w+", statement) else set()
            names = "|".join(sorted(name for name in aliases if name))
            if not names:
                continue
            found |= set(re.findall(rf"json_extract\((?:{names})\.attributes, '\$\.(\w+)'", statement))
            found |= set(re.findall(rf"\b(?:{names})\.attributes ->>? '\$\.(\w+)'", statement))
    return found


# 1. schemas


def test_each_attribute_that_is_read_stands_in_a_schema(db: engine.Database) -> None:
    db.install("handoffs")
    told = {name for properties in schemas(db).values() for name in properties}
    read = read_attributes()
    assert {"timeout", "results", "line", "limit", "manifest", "background", "keep", "accept_model"} <= read
    assert read - told - OF_APPS == set()


@pytest.mark.parametrize(
    ("tool", "names"),
    [
        ("sh", {"timeout", "background", "keep"}),
        ("env", {"timeout"}),
        ("search", {"results"}),
        ("subtask", {"model", "accept", "accept_command", "accept_attempts", "accept_model"}),
        ("execute", {"accept", "accept_command", "accept_attempts", "accept_model"}),
    ],
)
def test_what_a_tool_takes_is_told_to_providers(db: engine.Database, tool: str, names: set[str]) -> None:
    assert names <= set(schemas(db)[tool])


def test_options_of_a_delegation_are_those_of_its_schema(db: engine.Database) -> None:
    options = {name for (name,) in db.tuples("select name from run_options where name glob 'accept*'")}
    options.remove("accept_edits")  # how a person decides on files, and no check of the answer
    for tool in ("subtask", "execute"):
        assert options == {name for name in schemas(db)[tool] if name.startswith("accept")}


# 2. numbers


def numeric(db: engine.Database) -> list[tuple[str, str]]:
    return [
        (tool, name)
        for tool, properties in schemas(db).items()
        for name, schema in properties.items()
        if schema.get("type") in ("integer", "number")
        and "enum" not in schema
        # what is given away is refused when it begins: hostile/test_trees.py
        and tool not in ("subtask", "execute")
    ]


def test_a_number_that_is_none_is_refused_whatever_the_tool(db: engine.Database) -> None:
    cases = numeric(db)
    assert {("search", "results"), ("sh", "timeout"), ("env", "timeout"), ("get", "line")} <= set(cases)
    begin(db, "demo", max_depth=1)
    db.execute("update tools set advertised = 1")
    for value in ("five", "1-2", "1e", "٣", "0x10"):
        for tool, name in cases:
            turn(db, "demo", f'<{tool} path="known://a" {name}="{value}">x</{tool}>{GO_ON}')
            outcome, message = db.tuples(
                "select outcome, message from commands where action = ? order by id desc limit 1", (tool,)
            )[0]
            assert outcome == "validation", (tool, name, value, message)
            assert message.startswith(f"Invalid {name}: it must be a "), message
            db.execute("update loops set streak = 0")


def test_search_says_how_many_results_it_may_be(db: engine.Database, tmp_path: Path) -> None:
    begin(db, "demo")
    db.execute("update tools set advertised = 1 where name = 'search'")
    turn(db, "demo", f'<search results="five">sqlite</search>{GO_ON}')
    assert db.row("select status, body from run_log where action = 'search'") == {
        "status": 400,
        "body": "Invalid results: it must be a whole number from 1 to 20, not 'five' (how many pages to list).",
    }


def test_an_app_gets_the_refusal_as_an_error(db: engine.Database) -> None:
    begin(db, "demo")
    with pytest.raises(engine.ValidationError, match="Invalid line: it must be a whole number, not 'x'"):
        db.insert("verb_get", run="demo", path="known://a", attributes='{"line":"x"}')


# 3, 4. bounds


@pytest.mark.parametrize(
    ("given", "seconds"),
    [("0", 1), ("-3", 1), ("0.2", 1), ("2.5", 2.5), ("600", 600), ("9999", 600), ("", 45), (" 30 ", 30)],
)
@pytest.mark.parametrize("tool", ["sh", "env"])
def test_a_process_has_from_1_to_600_seconds(db: engine.Database, tool: str, given: str, seconds: float) -> None:
    begin(db, "demo", yolo=1)
    turn(db, "demo", f'<{tool} timeout="{given}">ls</{tool}>{GO_ON}')
    assert db.value("select timeout_s from _effect_timeouts") == seconds


@pytest.mark.parametrize("value", ["0", "0.5", "601", "soon"])
def test_the_setting_has_the_same_bounds(db: engine.Database, value: str) -> None:
    with pytest.raises(engine.ValidationError, match="setting process_timeout: must be a number from 1 to 600"):
        db.execute("update settings set value = ? where name = 'process_timeout'", (value,))


def test_models_are_told_of_the_bounds(db: engine.Database, tmp_path: Path) -> None:
    db.run("Go", run="demo", model=script(tmp_path, DONE), root=tmp_path)
    assert "timeout: 1 to 600 seconds" in db.value("select body from packet_texts where role = 'system'")
    schema = schemas(db)["sh"]["timeout"]
    assert (schema["minimum"], schema["maximum"]) == (1, 600)

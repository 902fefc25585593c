"""All that a person may name in a query or a prompt stands in the contract. What begins with an underscore is internal.

spec: @functions
"""

from __future__ import annotations

import re

import pytest
from people import PEOPLES_VIEWS, names, views_for_people
from rooms import contract

import engine
from engine.schema.registration import pure_functions

IMPURE = ("fail", "now", "last_error", "is_confirmed", "is_beside", "holds_keys")


@pytest.fixture(scope="module")
def named() -> set[str]:
    """All words that the contract sets in code."""
    spans = re.findall(r"`([^`\n]+)`", contract())
    return {word for span in spans for word in re.findall(r"[a-z_0-9]+|\*", span)}


@pytest.mark.parametrize("kind", ["table", "view"])
def test_tables_and_views_are_documented(db: engine.Database, named: set[str], kind: str) -> None:
    public = [name for name in names(db.connection, kind) if not name.startswith("_")]
    assert [name for name in public if name not in named] == []


@pytest.mark.parametrize("table", ["schemes", "tools", "settings", "outcomes", "packet_sections"])
def test_what_is_seeded_is_documented(db: engine.Database, named: set[str], table: str) -> None:
    assert [row["name"] for row in db.rows(f"select name from {table}") if row["name"] not in named] == []


def test_functions_are_documented(named: set[str]) -> None:
    functions = [*(function.name for function in pure_functions()), *IMPURE]
    assert [name for name in functions if name not in named] == []


def test_columns_that_people_read_are_documented(named: set[str]) -> None:
    columns = {column for listed in PEOPLES_VIEWS.values() for column in listed.split()}
    assert sorted(columns - named) == []


def test_columns_that_the_text_names_are_there(db: engine.Database) -> None:
    text = contract()
    tables = {*names(db.connection, "table"), *names(db.connection, "view")}
    told = [(name, listed) for name, listed in re.findall(r"`(\w+)`\s\(((?:`[^`]+`[^`)]*)+)\)", text) if name in tables]
    assert len(told) > 50
    wrong = []
    for name, listed in told:
        columns = {row["name"] for row in db.rows("select name from pragma_table_info(?)", (name,))}
        wrong += [(name, column) for column in re.findall(r"`(\w+)`", listed) if column not in columns]
    assert wrong == []


def test_public_views_say_what_they_promise(db: engine.Database) -> None:
    public = {name for name in names(db.connection, "view") if not name.startswith("_")}
    assert public - set(views_for_people(db.connection)) == set()

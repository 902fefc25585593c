"""What CONTRIBUTING.md says of the code is so: its table of concepts, and the way of a prompt through Python.

spec: @rooms
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from rooms import ROOT

from engine.cli.tree import GROUPS, Place

PLACES = {
    "sql/": "sql/{}",
    "engine/": "engine/{}",
    "functions/": "functions/{}",
    "templates/": "templates/{}",
    "engine/commands/": "engine/commands/{}.py",
    "tests/engine/test_…": "tests/engine/test_{}.py",
}
"""What the columns of the table name."""


def concepts() -> dict[str, list[Path]]:
    """The files and folders of each concept, as the table has them."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    head, _, *rows = text[text.index("| concept |") :].partition("\n\n")[0].splitlines()
    places = [PLACES[title] for title in cells(head)[1:]]
    return {
        name: [ROOT / place.format(each) for place, cell in zip(places, rest, strict=True) for each in named(cell)]
        for name, *rest in map(cells, rows)
    }


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split("|")]


def named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_table_is_that_of_all_concepts() -> None:
    assert len(concepts()) > 30


@pytest.mark.parametrize("concept", concepts())
def test_what_a_concept_names_is_there(concept: str) -> None:
    found = concepts()[concept]
    assert found
    assert [str(path.relative_to(ROOT)) for path in found if not path.exists()] == []


@pytest.mark.parametrize("folder", ["sql", "engine", "functions", "templates"])
def test_every_folder_belongs_to_a_concept(folder: str) -> None:
    listed = {path for paths in concepts().values() for path in paths}
    there = {path.parent for path in (ROOT / folder).glob("*/*") if path.is_file() and path.suffix != ".pyc"}
    assert there
    assert sorted(str(path.relative_to(ROOT)) for path in there - listed) == []


@pytest.mark.parametrize("group", [*GROUPS])
def test_a_command_lies_in_the_folder_of_its_group(group: str) -> None:
    folder = group.partition(" and ")[0].lower().replace(" ", "_")
    commands = GROUPS[group]
    places = [each for command in commands.values() for each in (command, *command.below.values())]
    assert places
    assert {folder_of(each) for each in places} == {folder}


def folder_of(place: Place) -> str:
    return place.module.partition(".")[0]


WAY = re.findall(
    r"^\| `([\w.]+)` \| (`[^|]+`) \| `([\w/]+\.py)` \|", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE
)


def called_in(file: str, function: str) -> set[str]:
    """The names of what a function, or a method `Class.name`, calls."""
    node: ast.AST = ast.parse((ROOT / "engine" / file).read_text("utf-8"))
    for name in function.split("."):
        node = next(each for each in ast.walk(node) if getattr(each, "name", None) == name)
    calls = [each.func for each in ast.walk(node) if isinstance(each, ast.Call)]
    return {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}


def test_the_way_has_its_steps() -> None:
    assert len(WAY) > 8


@pytest.mark.parametrize(("function", "calls", "file"), WAY)
def test_the_way_of_a_prompt_through_python_is_that_of_the_code(function: str, calls: str, file: str) -> None:
    assert {*named(calls)} <= called_in(file, function)

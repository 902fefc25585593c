"""The text of a workflow: JSON with comments and YAML say the same, and all that is wrong is told at once with its line.

1. What a text says. 2. What is wrong with it, and where. 3. Hostile texts. 4. The graph of steps.

spec: @workflow_texts @functions
"""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from campaign import examples
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ValidationError
from engine.functions.workflows.step_graph import cycles_of, layers_of
from engine.functions.workflows.texts import workflow_read

YAML = """\
name: release
description: Release it
version: 2
model: fast
vars:
  version: {description: which one, required: true}
  notes: {default: ""}
steps:
  - id: build
    title: Build
    instruction: |
      Build it.
    tools: [sh, get]
  - id: check
    needs: [build]
    instruction: Check it
    model: slow
    acceptance:
      criteria: [it runs, it says 1.10]
      command: make test
      max_attempts: 3
      model: judge
"""
JSONC = """\
{
    // a comment
    "name": "release", "description": "Release it", "version": 2, /* another
    one */ "model": "fast",
    "vars": {"version": {"description": "which one", "required": true}, "notes": {"default": ""},},
    "steps": [
        {"id": "build", "title": "Build", "instruction": "Build it.\\n", "tools": ["sh", "get"]},
        {"id": "check", "needs": ["build"], "instruction": "Check it", "model": "slow", "acceptance": {
            "criteria": ["it runs", "it says 1.10"], "command": "make test", "max_attempts": 3, "model": "judge"}},
    ],
}
"""


def read(text: str, syntax: str = "yaml", tools: list[str] | None = None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(workflow_read(text, syntax, None if tools is None else json.dumps(tools)) or "")
    return found


def problems(text: str, syntax: str = "yaml", tools: list[str] | None = None) -> list[tuple[int, str]]:
    return [(each["line"], each["message"]) for each in read(text, syntax, tools)["problems"]]


def of_steps(*steps: str) -> str:
    """A workflow with these steps, one a line from line 4 on."""
    return "name: w\ndescription: d\nsteps:\n" + "".join(f"  - {{{step}}}\n" for step in steps)


def test_yaml_and_json_with_comments_say_the_same() -> None:
    yaml, jsonc = read(YAML), read(JSONC, "jsonc")
    assert yaml["problems"] == jsonc["problems"] == []
    for step in (*yaml["workflow"]["steps"], *jsonc["workflow"]["steps"]):
        step.pop("line")
    assert yaml["workflow"] == jsonc["workflow"]
    build, check = yaml["workflow"]["steps"]
    assert (build["layer"], check["layer"], check["needs"], build["tools"]) == (1, 2, ["build"], ["sh", "get"])
    assert check["accept"] == "- it runs\n- it says 1.10"
    assert [check[f"accept_{each}"] for each in ("command", "attempts", "model")] == ["make test", 3, "judge"]
    assert yaml["workflow"]["variables"][1] == {"name": "notes", "description": "", "required": 0, "default": ""}


def test_a_scalar_keeps_the_text_that_it_is_written_as() -> None:
    text = "name: w\ndescription: d\nsteps: [{id: a, instruction: i}]\nvars:\n"
    for written in ("yes", "on", "1.10", "010", "1e3", "true", "2026-11-22"):
        assert read(f"{text}  x: {{default: {written}}}")["workflow"]["variables"][0]["default"] == written
    assert read(f"{text}  x: {{default: null}}")["workflow"]["variables"][0]["default"] is None


def test_a_default_of_what_is_required_is_noted() -> None:
    text = (
        "name: w\ndescription: d\nvars:\n  x:\n    required: true\n    default: y\nsteps: [{id: a, instruction: i}]\n"
    )
    found = read(text)
    assert found["notes"] == [{"line": 6, "message": "variable 'x': is required, so its default is not used"}]
    assert found["workflow"]["variables"][0]["required"] == 1


def test_all_problems_are_told_at_once_with_their_lines() -> None:
    text = """\
name: Bad Name
vars:
  1st: {}
  x: {required: yes, default: [1]}
steps:
  - id: a
    instruction: " "
    needs: [a, b, b]
  - instruction: i
    colour: red
  - id: a
    instruction: i
    tools: [get, nosuch]
    acceptance: {max_attempts: 0}
  - text
"""
    assert problems(text, tools=["get"]) == [
        (1, "name is 1 to 64 small letters, digits, '-', '_' and '.'"),
        (1, "a workflow: description is missing"),
        (3, "variable '1st': a name must be 1 to 64 letters, digits, '_' and '-'; the first must not be a digit"),
        (4, "variable 'x': required is true or false, not 'yes'"),
        (4, "variable 'x': default must be a text, not a list"),
        (7, "step 'a': instruction is missing"),
        (8, "step 'a': needs has 'b' twice"),
        (8, "step 'a' needs itself"),
        (8, "step 'a' needs 'b', and there is no such step"),
        (9, "step 2: id is missing"),
        (
            10,
            "step 2 has no field 'colour'; the fields are id, title, instruction, needs, tools, model, acceptance, output",
        ),
        (11, "step 'a' stands here and in line 6"),
        (13, "step 'a': there is no tool 'nosuch'; the tools are get"),
        (14, "step 'a': acceptance has neither criteria nor a command"),
        (14, "step 'a': acceptance: max_attempts must be a whole number from 1 to 100, not '0'"),
        (15, "step 4 must be an object, not 'text'"),
    ]


def test_each_circle_is_named() -> None:
    steps = [f"id: {name}, instruction: i, needs: [{needs}]" for name, needs in ("ab", "bc", "ca", "da", "ef", "fe")]
    assert [line for line, _ in problems(of_steps(*steps))] == [4, 8]
    assert problems(of_steps(*steps))[0][1] == "steps need each other in a circle: a → b → c → a"
    assert problems(of_steps(*steps))[1][1] == "steps need each other in a circle: e → f → e"


@pytest.mark.parametrize(
    ("syntax", "text", "line", "message"),
    [
        ("yaml", "", 1, "it is empty"),
        ("yaml", "a: 1\na: 2", 2, "'a' stands here and in line 1; keep one"),
        ("yaml", "a: &x [1]\nb: *x", 1, "anchors and aliases (& and *) are not read"),
        ("yaml", "a: 1\nb: *x", 2, "anchors and aliases (& and *) are not read"),
        (
            "yaml",
            "a: !!python/object/apply:os.system [x]",
            1,
            "the tag 'tag:yaml.org,2002:python/object/apply:os.system'",
        ),
        ("yaml", "a: !x 1", 1, "the tag '!x' is not read"),
        ("yaml", "a: 1\n---\nb: 1", 2, "a second document begins"),
        ("yaml", "[" * 50_000, 1, "it is nested deeper than 20"),
        ("yaml", "a:\n\t- b", 2, "it is not YAML: "),
        ("yaml", "a: \x01", 1, "a character is not allowed in YAML"),
        ("yaml", 'a: "\\0"', 1, "the character '\\x00' is not allowed in a text"),
        ("yaml", "? [a]\n: b", 1, "a name must be a text, not a list"),
        ("yaml", "<<: {a: b}", 1, "a workflow has no field '<<'"),
        ("yaml", "- a", 1, "a workflow must be an object, not a list"),
        ("jsonc", "", 1, "the text ends early"),
        ("jsonc", '{"a": 1,\n"a": 2}', 2, "'a' stands here and in line 1; keep one"),
        ("jsonc", "[" * 50_000, 1, "it is nested deeper than 20"),
        ("jsonc", "{\n/* x", 2, "a comment /* has no end"),
        ("jsonc", "{} {}", 1, "'{' stands behind the end"),
        ("jsonc", "{a: 1}", 1, "a name in double quotes is missing"),
        ("jsonc", '{"a": 1 "b": 2}', 1, "',' or '}' is missing"),
        ("jsonc", '{"a": 01}', 1, "is not a value"),
        ("jsonc", '{"a": "x\ny"}', 1, "invalid control character"),
        ("jsonc", '{"a": "\\ud800"}', 1, "is not allowed in a text"),
        ("jsonc", '{"a": NaN}', 1, "is not a value"),
        ("jsonc", "\0", 1, "is not allowed"),
        ("jsonc", '{"type": "simple", "name": "x"}', 1, "it is a skill of one instruction"),
        ("jsonc", "// " + "x" * 1_000_000, 1, "at most 1,000,000 are read"),
    ],
)
def test_a_hostile_text_is_a_problem_with_a_line(syntax: str, text: str, line: int, message: str) -> None:
    found = problems(text, syntax)
    assert any(at == line and message in said for at, said in found), found
    assert read(text, syntax)["workflow"] is None


def test_tools_are_a_list() -> None:
    with pytest.raises(ValidationError, match="tools must be a JSON array"):
        workflow_read("", "yaml", "{")


def test_thousands_of_wrong_names_do_not_repeat_thousands_of_right_ones() -> None:
    text = of_steps("id: a, instruction: i, tools: [" + ", ".join(f"t{each}" for each in range(2_000)) + "]")
    found = problems(text, tools=[f"tool{each}" for each in range(2_000)])
    assert len(found) == 100
    assert sum(len(message) for _, message in found) < 200_000


@given(st.text(max_size=200), st.sampled_from(["yaml", "jsonc"]))
@examples(100)
def test_any_text_is_read_or_has_a_problem(text: str, syntax: str) -> None:
    found = read(text, syntax)
    assert (found["workflow"] is None) == bool(found["problems"])


GRAPHS = st.integers(1, 12).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, size - 1), max_size=4, unique=True), min_size=size, max_size=size)
)


@given(GRAPHS)
@examples(100)
def test_layers_and_circles_are_those_of_the_graph(graph: list[list[int]]) -> None:
    needs = {str(step): [str(each) for each in wanted] for step, wanted in enumerate(graph)}
    layers = layers_of(needs)
    for step, layer in layers.items():
        assert layer == 1 + max((layers[each] for each in needs[step]), default=0)
    left = [step for step in needs if step not in layers]
    for step in left:
        assert any(each in left for each in needs[step])
    cycles = cycles_of(needs, left)
    assert bool(cycles) == bool(left)
    for cycle in cycles:
        assert cycle[0] == cycle[-1]
        assert len(set(cycle)) == len(cycle) - 1
        assert all(after in needs[step] for step, after in itertools.pairwise(cycle))

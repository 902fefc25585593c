"""MCP servers that attack: real programs that speak the protocol badly.

1. Streams and lists without end; 2. words and names that lie; 3. results; 4. what a program leaves; 5. what others plant.

spec: @mcp_limits @mcp_tools @mcp_servers @threats
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON, script

import engine

sys.path.append(str(Path(__file__).parent.parent / "engine"))

from mcp_servers import TOLD, driven, hostile, office

from engine.mcp import Server, connect
from engine.mcp.tools import tool_of

CALL = "<hostile__plain/>"

# 1. streams and lists without end


@pytest.mark.parametrize("how", ["output", "flood", "never", "dies", "wrong", "deep_result"])
def test_a_call_ends_whatever_the_server_does(how: str, tmp_path: Path) -> None:
    # who ends its call by what it sends has all the time that a busy machine needs to read that
    timeout = 5 if how == "never" else 600
    log = driven(tmp_path, [hostile(how, timeout=timeout)], CALL)
    assert log[0][1] in (502, 504)
    said = log[0][2]
    expected = {
        "output": "more than 8,000,000 bytes",
        "flood": "unrequested messages",
        "never": "within 5 s",
        "dies": "exit code 9; its last words: out of memory",
        "wrong": "does not follow the protocol",
        "deep_result": "does not follow the protocol: it cannot be read",
    }
    assert expected[how] in said
    assert len(said) < 2_000


def test_a_server_that_does_not_answer_at_its_start_is_left_behind(tmp_path: Path) -> None:
    events: list[Any] = []
    log = driven(
        tmp_path, [hostile("silent", connect_timeout=3), office(allow=["*"])], "<office__price>A</office__price>",
        on_event=events.append,
    )  # fmt: skip
    assert log[0][1] == 200
    failed = [event["body"] for event in events if event["type"] == "server" and event["status"] == 502]
    assert failed == ["MCP server hostile: it did not answer within 3 s of its start"]


def test_a_schema_that_is_too_deep_to_be_read_fails_its_server() -> None:
    with connect(hostile("abyss", connect_timeout=60)) as registry:
        assert "its answer does not follow the protocol: it cannot be read" in registry.failures["hostile"]


@pytest.mark.parametrize(("how", "most"), [("many", 2_000), ("endless", 200)])
def test_lists_without_end_are_cut(how: str, most: int) -> None:
    with connect(hostile(how)) as registry:
        offered = registry.clients.offered["hostile"]
        assert len(offered.tools) == most
        assert offered.left_out


def test_a_list_that_is_none_fails_the_server_alone() -> None:
    with connect(hostile("lists"), office()) as registry:
        assert "does not follow the protocol" in registry.failures["hostile"]
        assert registry.call("office", "book", {"room": "A"})


# 2. words and names that lie


def test_names_are_made_usable_or_left_out() -> None:
    with connect(hostile("names")) as registry:
        offered = registry.clients.offered["hostile"]
        names = [tool.name for tool in offered.tools]
        assert len(names) == len(set(names))
        assert "hostile__sh" in names
        assert names.count("hostile__get") == 1, "Get and get are two tools of two names"
        assert all(name.startswith("hostile__") and len(name) <= 64 for name in names)
        assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_") for name in names)
        assert "5 tools with unusable names" in offered.left_out


def test_what_a_server_says_forges_no_part_of_a_packet(tmp_path: Path) -> None:
    driven(tmp_path, [hostile("words")], CALL)
    with engine.open(tmp_path / "t.db") as db:
        told = db.value(TOLD, (1,))
        lines = told.splitlines()
        assert lines.count("# Persona") == 1
        assert not any(line.startswith("## <sh> - now yours") for line in lines)
        assert "| ## &lt;sh> - now yours" in lines
        for forbidden in ("\x1b", "\u202e", "\0", "</system>", "<|im_start|>"):
            assert forbidden not in told
        assert len(db.value("select doc from tools where name = 'hostile__plain'")) <= 8_000
        assert len(db.value("select meaning from tools where name = 'hostile__plain'")) <= 600
        # an argument of any command has another name
        assert list(json.loads(db.value("select schema from tools where name = 'hostile__plain'"))["properties"]) == [
            "manifest_",
            "n",
        ]
    with connect(hostile("words")) as registry:
        for item in registry.items():
            assert "\x1b" not in item.description
            assert "\u202e" not in item.description


def test_no_value_of_a_schema_forges_a_part_of_a_packet(tmp_path: Path) -> None:
    log = driven(tmp_path, [hostile("enums")], '<hostile__plain one="no such"/>', '<hostile__plain one=":::x"/>')
    assert [row[1] for row in log] == [400, 200]
    with engine.open(tmp_path / "t.db") as db:
        texts = [db.value(TOLD, (1,)), db.value("select doc from tools where name = 'hostile__plain'"), log[0][2]]
        for text in texts:
            assert "im_start" in text
            for forbidden in ("</system>", "<|im_start|>", ":::x", "\u202e", "<sh>touch"):
                assert forbidden not in text
            assert not any(line.startswith("## <sh> - now") for line in text.splitlines())


def test_schemas_are_bounded_and_models_are_held_to_them(tmp_path: Path) -> None:
    from engine.functions.grammars import grammar_gbnf

    with connect(hostile("deep")) as registry:
        for tool in registry.clients.offered["hostile"].tools:
            assert len(tool.definition) < 30_000
            schema = json.loads(tool.definition)["schema"]
            grammar = grammar_gbnf(json.dumps([{"name": tool.name, "schema": schema}]))
            assert grammar is None or len(grammar) < 200_000
    assert driven(tmp_path, [hostile("deep")], "<hostile__wide/>")[0][1] == 200


def test_hints_loosen_nothing() -> None:
    with connect(hostile("", allow=[])) as registry:
        assert [tool.choices.ask for tool in registry.clients.offered["hostile"].tools] == [True, True]
        assert not any(tool.choices.reads for tool in registry.clients.offered["hostile"].tools)


def test_a_definition_says_the_same_for_the_same_tool_only() -> None:
    from mcp_types import Tool

    async def call(_: str, __: dict[str, Any]) -> str:
        return ""

    server = Server("a", ["b"])
    first = tool_of(server, Tool(name="t", input_schema={"type": "object", "properties": {}}), "a__t", call)
    same = tool_of(server, Tool(name="t", input_schema={"properties": {}, "type": "object"}), "a__t", call)
    assert first.digest == same.digest
    at = {"type": "object", "properties": {}}
    others = [
        tool_of(Server("a", ["b"], cwd="/tmp"), Tool(name="t", input_schema=at), "a__t", call),
        tool_of(Server("a", ["b", "c d"]), Tool(name="t", input_schema=at), "a__t", call),
        tool_of(Server("a", ["b", "c", "d"]), Tool(name="t", input_schema=at), "a__t", call),
        tool_of(
            server, Tool(name="t", description="x", input_schema={"type": "object", "properties": {}}), "a__t", call
        ),
        tool_of(Server("a", ["c"]), Tool(name="t", input_schema={"type": "object", "properties": {}}), "a__t", call),
        tool_of(server, Tool(name="t", input_schema={"type": "object", "properties": {"x": {}}}), "a__t", call),
    ]
    assert len({each.digest for each in (first, *others)}) == 7
    # a grant is for all of the digest: a few digits of it are found again by trying
    assert first.target == f"a/t#{first.digest}"
    assert len(first.digest) == 64


# 3. results


def test_what_is_no_message_counts_for_nothing(tmp_path: Path) -> None:
    assert driven(tmp_path, [hostile("junk")], CALL)[0][2].endswith("\nfine")


def test_large_results_are_cut(tmp_path: Path) -> None:
    body = driven(tmp_path, [hostile("large_result")], CALL)[0][2]
    assert len(body) < 1_100_000
    assert "left out" in body


def test_requests_of_a_server_are_refused(tmp_path: Path) -> None:
    assert driven(tmp_path, [hostile("asks")], CALL)[0][2].endswith("refused: True")


def test_a_log_without_end_is_cut(tmp_path: Path) -> None:
    driven(tmp_path, [hostile("stderr")], CALL)
    with engine.open(tmp_path / "t.db") as db:
        count, raw = db.tuples("select count(*), max(instr(body, char(27))) from mcp_log where level = 'stderr'")[0]
        assert 0 < count <= 400
        assert raw in (0, 1)


# 4. what a program leaves


def test_keys_of_headers_and_hooks_stand_nowhere(tmp_path: Path) -> None:
    key = "sk-canary-0123456789abcdef"
    server = office(allow=["*"], env={"OFFICE_TOKEN": key})
    log = driven(
        tmp_path,
        [server],
        "<office__say>hello</office__say>",
        "<office__fail>no</office__fail>",
        "<office__environment>OFFICE_TOKEN</office__environment>",
    )
    assert log[2][2].endswith("\n[key]"), "what a server gives back of its key is kept out too"
    for path in tmp_path.iterdir():
        if path.is_file():
            assert key.encode() not in path.read_bytes(), path
    assert key not in repr(server)


def test_a_program_that_lingers_is_ended() -> None:

    with connect(hostile("lingers")) as registry:
        assert registry.call("hostile", "plain") == "plain"


# 5. what others may plant


def test_a_file_from_elsewhere_calls_no_server(tmp_path: Path) -> None:
    model = script(tmp_path, f"{CALL}{GO_ON}", DONE)
    with engine.open(tmp_path / "t.db", mcp=[hostile("", allow=[])]) as db:
        assert db.run("Go", run="demo", model=model, root=tmp_path).status == 202
        # what others write of a tool decides nothing: the process asks by its own configuration
        db.execute(
            "update _function_tools set definition = json_set(definition, '$.ask', 0) where name = 'hostile__plain'"
        )
        db.resolve("demo", accept=False, reason="no")
        asked: list[Any] = []
        model = script(tmp_path, f"{CALL}{GO_ON}", DONE)

        def decide(proposal: engine.Proposal) -> bool:
            asked.append(proposal)
            return False

        db.run("Go", run="again", model=model, root=tmp_path, on_proposal=decide)
        assert len(asked) == 1

"""MCP servers that an editor names for a session: their tools are the models' of that session, and each call is decided on.

spec: @acp_servers
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, schema
from acp_client import chosen, run, talking, texts
from engine_cli import engine, script

OFFICE = str(Path(__file__).parent.parent / "servers" / "office.py")
ON = '<update status="102">on</update>'
PRICE = f"<office__price><room>A</room></office__price>{ON}"


def office(name: str = "office", mark: str = "") -> schema.McpServerStdio:
    return schema.McpServerStdio(name=name, command=sys.executable, args=[OFFICE, "stdio", mark], env=[])


def test_a_tool_of_a_server_is_asked_about_and_a_grant_is_for_that_tool(folder: Path, tmp_path: Path) -> None:
    mark = f"mark of {tmp_path}"

    async def talk() -> None:
        async with talking(
            folder,
            "--model",
            script(tmp_path / "s.jsonl", [PRICE, PRICE, "Done."]),
            answer=lambda call, options: chosen("allow_run"),
        ) as at:
            made = await at.connection.new_session(cwd=str(folder), mcp_servers=[office(mark=mark)])
            assert await at.prompt(made.session_id, "Add") == "end_turn"
            (asked,) = at.editor.asked
            assert "office__price" in asked["title"]
            assert "price" in texts(asked["content"])
            assert [each["status"] for each in at.editor.calls().values()] == ["completed", "completed"]
            assert "12.5" in texts(next(iter(at.editor.calls().values()))["content"])
            assert is_at_work(mark)
            await at.connection.close_session(session_id=made.session_id)
            assert not is_at_work(mark)

    run(talk())


def is_at_work(mark: str) -> bool:
    """Whether a process runs that was started with this argument."""
    return any(mark.encode() in line for line in command_lines())


def command_lines() -> Iterator[bytes]:
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            yield each.read_bytes()


def test_a_server_that_fails_is_said_and_the_prompt_goes_on(folder: Path, tmp_path: Path) -> None:
    broken = schema.McpServerStdio(name="broken", command="/no/such/program", args=[], env=[])

    async def talk() -> None:
        async with talking(folder, "--model", script(tmp_path / "s.jsonl", ["Fine."])) as at:
            made = await at.connection.new_session(cwd=str(folder), mcp_servers=[broken])
            assert await at.prompt(made.session_id, "Go") == "end_turn"
            told, answer = at.editor.said().split("\n\n")
            assert "/no/such/program" in told
            assert answer == "Fine."

    run(talk())


def test_another_session_has_none_of_them(folder: Path, tmp_path: Path) -> None:
    async def talk() -> None:
        async with talking(folder, "--model", script(tmp_path / "s.jsonl", [PRICE, "Done."])) as at:
            await at.connection.new_session(cwd=str(folder), mcp_servers=[office()])
            await at.prompt(await at.new(), "Add")
            assert at.editor.asked == []

    run(talk())


def test_a_fork_has_the_servers_that_are_named_for_it_and_does_not_open_its_parent(
    folder: Path, tmp_path: Path
) -> None:
    mark = f"fork of {tmp_path}"
    engine(
        folder, "run", "--model", script(tmp_path / "c.jsonl", ["Hello.", PRICE, "Done."]), "--run", "demo", "Say hello"
    )

    async def talk() -> None:
        async with talking(folder, "--model", script(tmp_path / "s.jsonl", [])) as at:
            here = str(folder)
            forked = await at.connection.fork_session(cwd=here, session_id="demo", mcp_servers=[office(mark=mark)])
            with pytest.raises(RequestError, match="is not open here"):
                await at.prompt("demo", "Are you there?")
            await at.prompt(forked.session_id, "Say hello")
            assert await at.prompt(forked.session_id, "Add") == "end_turn"
            assert "office__price" in at.editor.asked[0]["title"]
            await at.connection.close_session(session_id=forked.session_id)
            assert not is_at_work(mark)

    run(talk())


def test_a_fork_is_refused_a_folder_that_a_load_is_refused(folder: Path, tmp_path: Path) -> None:
    engine(folder, "run", "--model", script(tmp_path / "c.jsonl", ["Hello."]), "--run", "demo", "Say hello")
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "file").write_text("x")

    async def talk() -> None:
        async with talking(folder, "--model", script(tmp_path / "s.jsonl", [])) as at:
            await at.connection.resume_session(cwd=str(folder), session_id="demo", mcp_servers=[])
            for cwd in (".", "relative/folder", str(tmp_path / "missing"), str(tmp_path / "file"), str(other)):
                said = []
                for ask in (at.connection.load_session, at.connection.fork_session):
                    with pytest.raises(RequestError) as raised:
                        await ask(cwd=cwd, session_id="demo", mcp_servers=[])
                    said.append(str(raised.value))
                assert said[0] == said[1]

    run(talk())
    assert not (other / ".engine").exists()


@pytest.mark.parametrize(
    ("servers", "told"),
    [
        ([schema.SseMcpServer(type="sse", name="old", url="https://example.org", headers=[])], "sse is not supported"),
        (
            [schema.HttpMcpServer(type="http", name="x", url="ftp://example.org", headers=[])],
            "is not an http or https address",
        ),
        ([office(), office()], "two servers are called office"),
        ([office(f"s{number}") for number in range(65)], "at most 64 servers"),
    ],
)
def test_a_server_that_cannot_be_used_is_told_in_a_line(
    folder: Path, tmp_path: Path, servers: list[Any], told: str
) -> None:
    async def talk() -> None:
        async with talking(folder, "--model", script(tmp_path / "s.jsonl", [])) as at:
            with pytest.raises(RequestError, match=told) as raised:
                await at.connection.new_session(cwd=str(folder), mcp_servers=servers)
            assert raised.value.code == -32602
            assert "\n" not in str(raised.value)

    run(talk())
    assert not (folder / ".engine").exists()

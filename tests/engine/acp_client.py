"""What tests of `engine serve acp` share: its library's client over a real process, and a wire for what no client sends."""

from __future__ import annotations

import asyncio
import json
import os
import select
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

from acp import schema
from acp.client.connection import ClientSideConnection
from engine_cli import ENGINE, SECONDS, environment

Answer = Callable[[schema.ToolCallUpdate, list[schema.PermissionOption]], Any]


def chosen(option: str, **meta: Any) -> schema.RequestPermissionResponse:
    """The answer that chooses an option."""
    outcome = schema.AllowedOutcome(outcome="selected", option_id=option)
    return schema.RequestPermissionResponse(outcome=outcome, field_meta=meta or None)


def dismissed() -> schema.RequestPermissionResponse:
    """The answer of a client that has cancelled the prompt."""
    return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))


class Editor:
    """A client: it keeps what it is told, and answers questions by `answer`."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.asked: list[dict[str, Any]] = []
        self.offered: list[list[str]] = []
        self.buffers: dict[str, str] = {}
        self.news = asyncio.Event()

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **_: Any
    ) -> schema.RequestPermissionResponse:
        self.asked.append({"session": session_id, **tool_call.model_dump(exclude_none=True)})
        self.offered.append([each.option_id for each in options])
        self.news.set()
        answer = self.answer(tool_call, options)
        return await answer if asyncio.iscoroutine(answer) else answer

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.told.append((session_id, update.model_dump(exclude_none=True, by_alias=True)))
        self.news.set()

    async def read_text_file(self, session_id: str, path: str, **_: Any) -> schema.ReadTextFileResponse:
        return schema.ReadTextFileResponse(content=self.buffers[path])

    def on_connect(self, conn: Any) -> None:
        """The library asks for it."""

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The updates of one kind."""
        return [update for _, update in self.told if update["sessionUpdate"] == kind]

    def said(self, kind: str = "agent_message_chunk") -> str:
        """All pieces of a kind as one text."""
        return "".join(update["content"]["text"] for update in self.of(kind))

    def calls(self) -> dict[str, dict[str, Any]]:
        """The tool calls as they stand in the end, by their ids."""
        found: dict[str, dict[str, Any]] = {}
        for _, update in self.told:
            if update["sessionUpdate"].startswith("tool_call"):
                found.setdefault(update["toolCallId"], {}).update(update)
        return found

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait until something has been told or asked."""
        async with asyncio.timeout(SECONDS):
            while not happened():
                self.news.clear()
                await self.news.wait()


class Talk:
    """A connection of an editor to the process, with sessions in `folder`."""

    def __init__(self, editor: Editor, connection: ClientSideConnection, process: Any, folder: Path) -> None:
        self.editor = editor
        self.connection = connection
        self.process = process
        self.folder = folder

    async def new(self, folder: Path | None = None, **more: Any) -> str:
        made = await self.connection.new_session(cwd=str(folder or self.folder), mcp_servers=[], **more)
        return str(made.session_id)

    async def prompt(self, session: str, *blocks: str | Any) -> str:
        """Give a prompt; the stop reason."""
        given = [schema.TextContentBlock(type="text", text=each) if isinstance(each, str) else each for each in blocks]
        return str((await self.connection.prompt(session_id=session, prompt=given)).stop_reason)


@asynccontextmanager
async def talking(
    folder: Path,
    *arguments: str,
    answer: Answer = lambda call, options: chosen("allow_once"),
    reads_files: bool = False,
    env: dict[str, str] | None = None,
    command: Sequence[str] = ("serve", "acp"),
) -> AsyncIterator[Talk]:
    """The process of `engine serve acp` with an editor at its other end, which has said hello; it has to exit with 0."""
    editor = Editor(answer)
    process = await asyncio.create_subprocess_exec(
        *ENGINE,
        *command,
        *arguments,
        cwd=folder,
        env=environment(folder.parent, **(env or {})),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        limit=50_000_000,
    )
    connection = ClientSideConnection(editor, process.stdin, process.stdout, use_unstable_protocol=True)
    files = schema.FileSystemCapabilities(read_text_file=reads_files)
    try:
        await connection.initialize(1, client_capabilities=schema.ClientCapabilities(fs=files))
        yield Talk(editor, connection, process, folder)
    finally:
        await connection.close()
        if process.returncode is None:
            process.stdin.close()  # type: ignore[union-attr]
        await asyncio.wait_for(process.wait(), SECONDS)
        process._transport.close()  # type: ignore[attr-defined]
    assert process.returncode in (0, -9)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """The result of a coroutine."""
    return asyncio.run(work)


class Wire:
    """The two pipes of a process of `engine serve acp`, for lines that no client would send."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._rest = b""

    def send(self, *messages: Any) -> None:
        """Write messages, or bytes as they are, each as a line."""
        assert self.process.stdin is not None
        for each in messages:
            self.process.stdin.write((each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """The next message."""
        assert self.process.stdout is not None
        end = time.monotonic() + SECONDS
        while b"\n" not in self._rest:
            assert select.select([self.process.stdout], [], [], max(end - time.monotonic(), 0))[0], "nothing came"
            piece = os.read(self.process.stdout.fileno(), 65_536)
            assert piece, "the process has ended"
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def answer(self, number: Any) -> dict[str, Any]:
        """The answer to a request; what comes before it is passed over."""
        while (message := self.read()).get("id", "none") != number or "method" in message:
            pass
        return message

    def call(self, number: Any, method: str, **params: Any) -> dict[str, Any]:
        """Send a request, and read its answer."""
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return self.answer(number)

    def hang_up(self) -> int:
        """Close the wire; the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(SECONDS)


@contextmanager
def wired(folder: Path, *arguments: str, stderr: int | None = None) -> Iterator[Wire]:
    """A process of `engine serve acp` in `folder`; it is ended in the end."""
    process = subprocess.Popen(
        [*ENGINE, "serve", "acp", *arguments],
        cwd=folder,
        env=environment(folder.parent),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
    )
    try:
        yield Wire(process)
    finally:
        process.kill()
        process.wait(SECONDS)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


def texts(content: Sequence[dict[str, Any]]) -> str:
    """The texts of the content of a call."""
    return "\n".join(each["content"]["text"] for each in content if each["type"] == "content")


__all__ = ["Answer", "Editor", "Talk", "Wire", "chosen", "dismissed", "run", "talking", "texts", "wired"]

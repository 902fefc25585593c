"""What providers say of a packet that is too long, and a stream that is stuck, over the wire and through `engine run`.

1. Whatever a provider calls it, the packet is demoted once and sent again; refused again, the prompt ends as too large.
2. What is said of the length of an answer is no word about the packet.
3. A stream that repeats itself is cut while it arrives, and the prompt goes on.

spec: @budget_enforcement @model_failures @stuck_responses
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest
from audit import audit
from engine_cli import database, engine
from fresh import stays_open
from loopback import Answer, Handler, Server, refusing, repeating, saying, serving
from test_prefix import in_anthropics_form

import engine as library

pytest.importorskip("httpx2")

READING = '<get path="notes.md"/><update status="102">reading</update>'
DONE = '<update status="200">Port 8080.</update>'
END = "The end of the notes."
CALL: tuple[dict[str, Any], ...] = (
    {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "tool_use", "id": "t", "name": "get", "input": {}},
    },
    {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "input_json_delta", "partial_json": '{"path":"notes.md"}'},
    },
    {"type": "content_block_stop", "index": 0},
)


def openai(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None, **more}}


def anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


TOO_LONG = {
    "openai": (
        400,
        openai(
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
            code="context_length_exceeded",
        ),
    ),
    "openai-input": (400, openai("Input tokens exceed the configured limit of 272000 tokens.")),
    "llama": (400, openai("the request exceeds the available context size, try increasing it")),
    "xai": (400, openai("This model's maximum prompt length is 131072 but the request contains 537812 tokens.")),
    "cohere": (400, openai("too many tokens: size limit exceeded by 213 tokens.")),
    "gemini": (400, openai("The input token count (1100000) exceeds the maximum number of tokens allowed (1048575).")),
    "proxy": (413, openai("Payload refused")),
    "anthropic": (400, anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")),
    "anthropic-size": (413, anthropic("request_too_large", "Request exceeds the maximum allowed number of bytes.")),
}


@pytest.fixture
def folder(workspace_dir: Path) -> Iterator[Path]:
    """A folder with a long file; its database is audited."""
    (workspace_dir / "notes.md").write_text("The port is 8080.\n" + "a line\n" * 100 + END + "\n", encoding="utf-8")
    with stays_open(database(workspace_dir)):
        yield workspace_dir
    audit(database(workspace_dir))


def ask(folder: Path, server: Server, provider: str, *options: str) -> subprocess.CompletedProcess[str]:
    name = "anthropic" if provider.startswith("anthropic") else "openai"
    url = server.url.removesuffix("/v1") if name == "anthropic" else server.url
    keys = {f"{name.upper()}_API_KEY": "sk-secret-0123456789", f"{name.upper()}_BASE_URL": url}
    done = engine(folder, "run", "--model", f"{name}/tiny", "--run", "demo", *options, "Which port?", env=keys)
    assert "Traceback" not in done.stderr
    return done


def says(provider: str, text: str) -> Answer:
    return in_anthropics_form(text) if provider.startswith("anthropic") else saying(text)


def packets_of(server: Server) -> list[str]:
    contents = [body["messages"][-1]["content"] for body in server.asked]
    return [text if isinstance(text, str) else "".join(block["text"] for block in text) for text in contents]


@pytest.mark.parametrize("provider", TOO_LONG)
def test_a_packet_that_is_refused_is_sent_once_more_and_shorter(folder: Path, provider: str) -> None:
    status, body = TOO_LONG[provider]
    answers = (says(provider, READING), refusing(status, body), says(provider, DONE))
    with serving(*answers) as server:
        done = ask(folder, server, provider)
    assert (done.returncode, done.stdout) == (0, "Port 8080.\n"), done.stderr
    assert [END in packet for packet in packets_of(server)] == [False, True, False]
    assert "was rejected by the model as too long. Demoted 1 entry, " in packets_of(server)[-1], (
        "told in this very packet"
    )
    assert "too large  error - Context overflow" in done.stderr


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_one_that_is_refused_again_ends_the_prompt_as_too_large(folder: Path, provider: str) -> None:
    refusal = refusing(*TOO_LONG[provider])
    with serving(says(provider, READING), refusal, refusal, says(provider, DONE)) as server:
        done = ask(folder, server, provider)
        assert len(server.asked) == 3, "not a third time"
        assert (done.returncode, done.stdout) == (5, "")
        assert "demo: too large: Context full" in done.stderr.splitlines()[-1]
        assert "Choose a model with a larger window" in done.stderr.splitlines()[-1]
        assert "The model said: the packet is too long for model " in done.stderr.splitlines()[-1]
        again = ask(folder, server, provider)
    assert (again.returncode, again.stdout) == (0, "Port 8080.\n"), "the next prompt goes on"


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 29491. This model supports at most 16384 completion tokens, whereas you provided 29491.",
        "max_tokens must be less than or equal to 8192",
    ],
)
def test_a_word_about_the_answers_length_does_not_demote(folder: Path, message: str) -> None:
    with serving(refusing(400, openai(message))) as server:
        done = ask(folder, server, "openai")
    assert (done.returncode, len(server.asked)) == (1, 1)
    assert message in done.stderr
    with library.open(database(folder)) as db:
        assert db.value("select count(*) from demotions") == 0


def test_a_stream_that_is_stuck_is_cut_and_the_prompt_goes_on(folder: Path) -> None:
    with serving(repeating("I should look at the file again. "), saying(DONE)) as server:
        done = ask(folder, server, "openai")
        assert server.pieces < 50_000, "the connection was closed"
    assert (done.returncode, done.stdout) == (0, "Port 8080.\n")
    assert "cannot be done  error - The response was stuck" in done.stderr
    assert "[1]      strike 1 of 3\n" in done.stderr
    with library.open(database(folder)) as db:
        kept = db.value("select response from turns where sequence = 1")
    assert 2000 <= len(kept) < 100_000


def test_thoughts_that_are_stuck_behind_a_call_are_no_answer(folder: Path) -> None:
    with serving(repeating_in_anthropics_form("thinking", after=CALL), in_anthropics_form(DONE)) as server:
        done = ask(folder, server, "anthropic")
    assert (done.returncode, done.stdout) == (0, "Port 8080.\n"), done.stderr
    assert "[1] cannot be done  error - Your thoughts were stuck: after " in done.stderr
    with library.open(database(folder)) as db:
        assert db.value("select response from turns where sequence = 1") == ""


@pytest.mark.parametrize("what", ["thinking", "arguments"])
def test_what_is_stuck_out_of_sight_is_cut_too(folder: Path, what: str) -> None:
    with serving(repeating_in_anthropics_form(what), in_anthropics_form(DONE)) as server:
        done = ask(folder, server, "anthropic")
        assert server.pieces < 50_000, "the connection was closed"
    assert (done.returncode, done.stdout) == (0, "Port 8080.\n"), done.stderr
    who = "Your thoughts were stuck" if what == "thinking" else "The response was stuck"
    assert f"[1] cannot be done  error - {who}: after " in done.stderr
    assert who in packets_of(server)[1]
    with library.open(database(folder)) as db:
        assert db.value("select count(*) from commands where turn_id = 1") == 0
        kept = db.row("select response, reasoning from turns where sequence = 1")
    assert kept is not None
    assert len(kept["reasoning"] if what == "thinking" else kept["response"]) >= 2000


def repeating_in_anthropics_form(what: str, after: tuple[dict[str, Any], ...] = ()) -> Answer:
    """Stream a thought, or the arguments of a call, over and over until the client goes away; `after` comes first."""
    message: dict[str, Any] = {"id": "m", "type": "message", "role": "assistant", "model": "claude-x", "content": []}
    message |= {"stop_reason": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    piece = "Wait, I should look at it again. "
    if what == "thinking":
        block: dict[str, Any] = {"type": "thinking", "thinking": "", "signature": ""}
        delta = {"type": "thinking_delta", "thinking": piece}
    else:
        block = {"type": "tool_use", "id": "t", "name": "get", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": piece}
    start: dict[str, Any] = {"type": "message_start", "message": message}

    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        index = 1 if after else 0
        events = [start, *after, {"type": "content_block_start", "index": index, "content_block": block}]
        for event in chain(events, repeat({"type": "content_block_delta", "index": index, "delta": delta}, 100_000)):
            handler.server.pieces += 1
            handler.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    return answer


def test_a_model_that_is_always_stuck_is_given_up(folder: Path) -> None:
    with serving(repeating("Once more. ")) as server:
        done = ask(folder, server, "openai")
    assert (done.returncode, len(server.asked)) == (4, 3)
    assert "stopped after 3 turns with errors in a row" in done.stderr.splitlines()[-2]

"""Native tool calling through whole runs, against real servers on loopback that stream calls of tools.

1. OpenAI's and Anthropic's calls become commands; 2. a turn with calls goes on without an update; 3. what a model calls in a
wrong way is told; 4. the aliases say who calls natively; 5. pictures go to each in its own form.

spec: @native_tools @models_protocol @models_table @healing @pictures
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from driving import script

pytest.importorskip("httpx2")

import engine
from engine.driving.model_choice import sync_environment_models
from engine.keys.providers import PROVIDERS
from engine.models.chat_request import chat_request
from engine.models.messages_request import messages_request
from engine.models.protocol import Message, Request, ToolSpec
from engine.models.providers import Endpoint
from engine.models.thinking import thinking_of

Call = tuple[str, str]
GET: Call = ("get", '{"path": "notes.md", "manifest": false, "line": null}')
DONE: Call = ("update", '{"status": 200, "body": "The port is 8080."}')


class Handler(BaseHTTPRequestHandler):
    """Streams the next answer of the server, a text and calls, in the form of the path that is asked for."""

    server: Server

    def do_POST(self) -> None:
        self.server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        text, calls = self.server.answers.pop(0)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        events = anthropic_events if self.path.endswith("/messages") else openai_events
        for event in events(text, calls):
            named = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{named}data: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()

    def log_message(self, *args: Any) -> None:
        """Nothing: the tests read `asked`."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []
        self.answers: list[tuple[str, list[Call]]] = []


def pieces(text: str) -> list[str]:
    """`text` in pieces of seven characters, as arguments arrive."""
    return [text[start : start + 7] for start in range(0, len(text), 7)]


def openai_events(text: str, calls: list[Call]) -> Iterator[dict[str, Any]]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "tiny", "choices": [choice]}

    yield chunk({"role": "assistant", "content": text or None})
    for index, (name, arguments) in enumerate(calls):
        head = {"index": index, "id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": ""}}
        yield chunk({"tool_calls": [head]})
        for piece in pieces(arguments):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, "tool_calls" if calls else "stop")
    usage = {"prompt_tokens": 12, "completion_tokens": 5, "total_tokens": 17}
    yield {**chunk({}), "choices": [], "usage": usage}


def anthropic_events(text: str, calls: list[Call]) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 10, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "claude-x", "content": []}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}}
    blocks: list[tuple[dict[str, Any], str, str, str]] = []
    if text:
        blocks.append(({"type": "text", "text": ""}, "text_delta", "text", text))
    for index, (name, arguments) in enumerate(calls):
        block = {"type": "tool_use", "id": f"toolu_{index}", "name": name, "input": {}}
        blocks.append((block, "input_json_delta", "partial_json", arguments))
    for index, (block, kind, key, content) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for piece in pieces(content):
            yield {"type": "content_block_delta", "index": index, "delta": {"type": kind, key: piece}}
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if calls else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 6}}
    yield {"type": "message_stop"}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
        monkeypatch.setenv("XAI_BASE_URL", f"{address}/v1")
        for provider in ("OPENAI", "ANTHROPIC", "XAI"):
            monkeypatch.setenv(f"{provider}_API_KEY", "sk-none")
        yield server
        server.shutdown()


def alias(db: engine.Database, actual: str, tool_calling: str = "native") -> str:
    db.insert("models", alias="m", actual=actual, tool_calling=tool_calling, created_at=0)
    return "m"


def responses(db: engine.Database) -> list[str]:
    return [row["response"] for row in db.rows("select response from turns order by id")]


def actions(db: engine.Database) -> list[tuple[str, str | None, str]]:
    rows = db.rows("select action, path, state from commands where writer = 'model' order by id")
    return [(row["action"], row["path"], row["state"]) for row in rows]


@pytest.mark.parametrize("actual", ["openai/tiny", "anthropic/claude-x", "xai/tiny"])
def test_streamed_calls_are_commands_like_any_other(
    db: engine.Database, server: Server, workspace_dir: Path, actual: str
) -> None:
    server.answers = [("I look.", [GET]), ("", [DONE])]
    result = db.run("Which port?", model=alias(db, actual), root=workspace_dir)
    assert (result.status, result.answer, result.turns) == (200, "The port is 8080.", 2)
    assert actions(db) == [("get", "notes.md", "resolved"), ("update", None, "resolved")]
    assert responses(db) == ['I look.\n\n<get path="notes.md"/>', '<update status="200">The port is 8080.</update>']
    assert "The owner is Ada." in json.dumps(server.asked[1]["messages"])


@pytest.mark.parametrize("actual", ["openai/tiny", "anthropic/claude-x"])
def test_calls_are_told_while_the_model_writes_them(
    db: engine.Database, server: Server, workspace_dir: Path, actual: str
) -> None:
    server.answers = [("I look.", [GET, ("think", '{"body": "hm \U0001f600"}')]), ("", [DONE])]
    *events, _ = db.stream("Which port?", model=alias(db, actual), root=workspace_dir)
    told: dict[tuple[int, int, str], list[str]] = {}
    for event in events:
        if isinstance(event, engine.stream_events.CallEvent):
            told.setdefault((event.turn, event.call, event.tool), []).append(event.text)
    assert list(told) == [(1, 0, "get"), (1, 1, "think"), (2, 0, "update")]
    assert all(len(each) > 1 for each in told.values()), "piece by piece"
    assert ["".join(each) for each in told.values()] == [GET[1], '{"body": "hm \U0001f600"}', DONE[1]]


@pytest.mark.parametrize("actual", ["openai/tiny", "anthropic/claude-x"])
def test_a_partial_object_is_told_from_a_native_update(db: engine.Database, server: Server, actual: str) -> None:
    form = {"type": "object", "properties": {"city": {"type": "string"}, "lines": {"type": "array"}}}
    body = '{"city": "Bonn am Rhein", "lines": [1, 2, 3]}'
    first: Call = ("update", '{"status": 102, "body": {"city": "Trier"}}')
    server.answers = [("", [first, ("update", f'{{"status": 200, "body": {body}}}')])]
    *events, end = db.stream("Read it", model=alias(db, actual), output=engine.json_schema(form))
    told = [event.output for event in events if isinstance(event, engine.stream_events.PartialEvent)]
    assert isinstance(end, engine.stream_events.EndEvent)
    assert end.result.output == told[-1] == json.loads(body)
    assert any(each.get("city", "").startswith("Bonn") and "lines" not in each for each in told), told


def test_openai_gets_the_tools_that_are_open_strictly(db: engine.Database, server: Server, workspace_dir: Path) -> None:
    server.answers = [("", [DONE])]
    db.run("Which port?", model=alias(db, "openai/tiny"), root=workspace_dir, mode="ask", yolo=True)
    functions = {tool["function"]["name"]: tool["function"] for tool in server.asked[0]["tools"]}
    assert list(functions) == ["get", "set", "think", "env", "rm", "cp", "mv", "update"]
    get = functions["get"]
    assert get["strict"] is True
    assert get["description"] == "read: make entries visible"
    assert get["parameters"]["additionalProperties"] is False
    assert get["parameters"]["required"] == list(get["parameters"]["properties"])
    assert get["parameters"]["properties"]["line"]["type"] == ["integer", "null"]
    assert get["parameters"]["properties"]["path"]["type"] == "string"
    assert "Each is a function too" in server.asked[0]["messages"][0]["content"]


def test_anthropic_gets_the_schemas_as_they_are(db: engine.Database, server: Server, workspace_dir: Path) -> None:
    server.answers = [("", [DONE])]
    db.run("Which port?", model=alias(db, "anthropic/claude-x"), root=workspace_dir)
    tools = {tool["name"]: tool for tool in server.asked[0]["tools"]}
    stored = json.loads(db.value("select schema from tools where name = 'get'"))
    assert tools["get"]["input_schema"] == stored


def test_an_answer_of_a_form_is_asked_for_in_the_tool_and_as_the_form_of_the_text(
    db: engine.Database, server: Server
) -> None:
    form = {"type": "object", "properties": {"port": {"type": "integer"}}, "required": ["port"]}
    wrong: Call = ("update", '{"status": 200, "body": {"port": "many"}}')
    server.answers = [("", [wrong]), ('{"port": 8080}', [])]
    result = db.run("Which port?", model=alias(db, "openai/tiny"), output=engine.json_schema(form))
    assert (result.status, result.output, result.turns) == (200, {"port": 8080}, 2)
    assert db.tuples("select place, fault from refused_answers") == [("$.port", 'must be a whole number, not "many"')]
    asked = server.asked[0]
    (update,) = (each["function"] for each in asked["tools"] if each["function"]["name"] == "update")
    body = update["parameters"]["properties"]["body"]["anyOf"][0]
    assert (update["strict"], body["properties"]["port"]["type"]) == (True, "integer")
    assert "response_format" not in asked  # a server at another address may not know it


@pytest.mark.parametrize(
    ("form", "is_asked"),
    [
        ({"type": "object", "properties": {"port": {"type": "integer"}}, "required": ["port"]}, True),
        ({"type": "object", "properties": {"any": {"type": "object", "additionalProperties": True}}}, False),
        ({"type": "object", "properties": {"a": {"type": "integer"}}, "not": {"required": ["a"]}}, False),
        ({"type": "array", "items": {"type": "integer"}}, False),
    ],
)
def test_the_own_api_of_openai_gets_the_form_of_a_text_that_it_can_keep(form: dict[str, Any], is_asked: bool) -> None:
    at = Endpoint(PROVIDERS["openai"], "https://example.org", True, "key")
    tools = (ToolSpec("update", "", '{"type": "object", "properties": {"body": {"type": "string"}}}'),)
    request = Request((Message("user", "Hi"),), None, None, None, 1, 0, "run", tools=tools, output=json.dumps(form))
    body = chat_request(request, at, "tiny", thinking_of(at, "tiny"))
    told = body.get("response_format", {}).get("json_schema", {})
    assert told == (
        {"name": "answer", "strict": True, "schema": {**form, "additionalProperties": False}} if is_asked else {}
    )


@pytest.mark.parametrize(
    ("model", "form", "sent"),
    [
        (
            "claude-sonnet-5-5",
            {
                "type": "object",
                "properties": {
                    "port": {"type": "integer", "minimum": 1},
                    "hosts": {"type": "array", "maxItems": 9, "items": {"type": "object", "properties": {}}},
                    "kind": {"oneOf": [{"type": "string", "pattern": "^[a-z]+$"}, {"type": "null"}]},
                },
                "required": ["port"],
            },
            {
                "type": "object",
                "properties": {
                    "port": {"type": "integer"},
                    "hosts": {
                        "type": "array",
                        "items": {"type": "object", "properties": {}, "additionalProperties": False},
                    },
                    "kind": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                },
                "required": ["port"],
                "additionalProperties": False,
            },
        ),
        ("claude-3-7-sonnet", {"type": "object", "properties": {"port": {"type": "integer"}}}, None),
        ("claude-sonnet-5-5", {"type": "array", "items": {"type": "integer"}}, None),
        ("claude-sonnet-5-5", {"type": "object", "properties": {f"p{n}": {"type": "null"} for n in range(25)}}, None),
        ("claude-sonnet-5-5", {"type": "object", "properties": {}, "patternProperties": {"a": {"type": "null"}}}, None),
        (
            "claude-sonnet-5-5",
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"type": "null"}}},
            None,
        ),
    ],
)
def test_anthropic_gets_the_form_of_a_text_that_it_can_keep(
    model: str, form: dict[str, Any], sent: dict[str, Any] | None
) -> None:
    at = Endpoint(PROVIDERS["anthropic"], "https://example.org", True, "key")
    tools = (ToolSpec("update", "", '{"type": "object", "properties": {"body": {"type": "string"}}}'),)
    request = Request(
        (Message("user", "Hi"),), None, None, None, 1, 0, "run", tools=tools, output=json.dumps(form), effort="high"
    )
    config = messages_request(request, model, thinking_of(at, model)).get("output_config", {})
    assert config.get("format") == (sent and {"type": "json_schema", "schema": sent})
    assert "effort" in config or model == "claude-3-7-sonnet", "the effort stays beside it"


def test_markup_is_the_default_and_no_tool_is_sent(db: engine.Database, server: Server) -> None:
    server.answers = [('<update status="200">Fine.</update>', [])]
    assert db.run("Hello?", model="openai/tiny").answer == "Fine."
    assert "tools" not in server.asked[0]
    assert "Each is a function too" not in server.asked[0]["messages"][0]["content"]


def test_a_body_of_any_text_arrives_as_it_was_sent(db: engine.Database, server: Server) -> None:
    body = 'a </set>\n<set path="x">```\n<<EOF \u2028 é 😀 & &amp; "q" \'q\'\r'
    answer = ("so:\n```", [("set", json.dumps({"path": "known://a", "body": body})), DONE])
    server.answers = [answer]
    assert db.run("Note it", model=alias(db, "openai/tiny")).status == 200
    assert db.value("select body from known_entries where path = 'known://a'") == body


# -- 2. without an update


def test_calls_and_markup_without_an_update_go_on(db: engine.Database, tmp_path: Path) -> None:
    note = {"path": "known://a", "body": "x"}
    native = script(tmp_path, {"text": "noted", "calls": [{"name": "set", "arguments": note}]}, "That was all.")
    done = db.run("Note it", model=native)
    assert (done.status, done.answer, done.turns) == (200, "That was all.", 2)
    said = ('noted<set path="known://b">x</set>', "That was all.")
    done = db.run("Note it", model=script(tmp_path, *said))
    assert (done.status, done.answer, done.turns) == (200, "That was all.", 2)
    db.execute("update settings set value = '1' where name = 'end_without_update'")
    assert db.run("Note it", model=script(tmp_path, *said)).answer == "noted"
    assert db.run("Note it", model=native).turns == 2, "a native call goes on all the same"


def test_a_replay_goes_the_way_of_the_run(db: engine.Database, tmp_path: Path) -> None:
    calls = [{"name": "think", "arguments": {"body": "hm"}}]
    db.run("Go", run="first", model=script(tmp_path, {"calls": calls}, "Over."))
    again = db.run("Go", run="second", model=f"replay:{db.path}#first")
    assert (again.answer, again.turns) == ("Over.", 2)


def test_native_text_alone_is_the_answer(db: engine.Database, server: Server) -> None:
    server.answers = [("It is 8080.", [])]
    result = db.run("Which port?", model=alias(db, "openai/tiny"))
    assert (result.status, result.answer, result.turns) == (200, "It is 8080.", 1)


# -- 3. calls that cannot be made


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("frob", '{"x": 1}'), "Unknown tool 'frob'"),
        (("sh", '{"body": "touch cut_o'), "Malformed tool call"),
    ],
)
def test_a_call_that_cannot_be_made_is_told_and_the_loop_goes_on(
    db: engine.Database, server: Server, call: Call, told: str
) -> None:
    server.answers = [("", [call]), ("", [DONE])]
    result = db.run("Go", model=alias(db, "openai/tiny"), yolo=True)
    assert (result.status, result.turns) == (200, 2)
    assert told in json.dumps(server.asked[1]["messages"])
    assert actions(db) == [("update", None, "resolved")]


def test_a_tool_that_is_not_open_is_refused_with_its_reason(db: engine.Database, server: Server) -> None:
    server.answers = [("", [("sh", '{"body": "ls"}')]), ("", [DONE])]
    db.run("Go", model=alias(db, "openai/tiny"), mode="ask")
    assert actions(db)[0] == ("sh", None, "failed")


def test_a_script_with_a_broken_call_says_so(db: engine.Database, tmp_path: Path) -> None:
    result = db.run("Go", model=script(tmp_path, {"calls": [{"name": "get"}]}))
    assert (result.status, "'calls' must be a list" in (result.reason or "")) == (500, True)


# -- 4. aliases


def test_the_environment_says_which_models_call_natively(db: engine.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_MODEL_fast", "openai/tiny")
    monkeypatch.setenv("ENGINE_TOOLS_fast", "native")
    sync_environment_models(db)
    assert db.value("select tool_calling from models where alias = 'fast'") == "native"
    monkeypatch.setenv("ENGINE_TOOLS_fast", "json")
    with pytest.raises(engine.ValidationError, match="ENGINE_TOOLS_fast: 'json' is neither xml nor native"):
        sync_environment_models(db)
    monkeypatch.delenv("ENGINE_TOOLS_fast")
    sync_environment_models(db)
    assert db.value("select tool_calling from models where alias = 'fast'") == "xml"


def test_commands_come_as_markup_or_natively_and_in_no_other_way(db: engine.Database) -> None:
    with pytest.raises(Exception, match="models_tool_calling"):
        alias(db, "openai/tiny", "json")


def test_openai_gets_a_picture_as_an_address_of_its_data(db: engine.Database, server: Server, tmp_path: Path) -> None:
    body, text, parts = asked_with_a_picture(db, server, tmp_path, "openai/gpt-4o")
    url = f"data:image/gif;base64,{base64.b64encode(body).decode()}"
    assert [part["type"] for part in parts] == ["text", "text", "image_url"]
    assert (parts[0]["text"], parts[1]["text"]) == (text, "Picture 1:")
    assert parts[2]["image_url"]["url"] == url


def test_anthropic_gets_a_picture_as_a_block(db: engine.Database, server: Server, tmp_path: Path) -> None:
    body, text, parts = asked_with_a_picture(db, server, tmp_path, "anthropic/claude-x")
    source = {"type": "base64", "media_type": "image/gif", "data": base64.b64encode(body).decode()}
    assert (parts[-1]["type"], parts[-1]["source"]) == ("image", source)
    assert "".join(part["text"] for part in parts[:-2]) == text
    assert parts[-2]["text"] == "Picture 1:"


def asked_with_a_picture(
    db: engine.Database, server: Server, folder: Path, actual: str
) -> tuple[bytes, str, list[dict[str, Any]]]:
    """A picture, the text of the packet that carries it, and the parts of its message as they were sent."""
    root = folder / "root"
    root.mkdir()
    body = b"GIF89a\x03\x00\x02\x00\x00\x00\x00\x3b"
    (root / "dot").write_bytes(body)
    server.answers = [('<get path="dot"/>', []), ('<update status="200">done</update>', [])]
    result = db.run("Look", model=alias(db, actual, "xml"), root=root)
    assert result.status == 200
    text = db.value("select body from packet_texts where turn = 2 and role = 'user'")
    return body, text, server.asked[1]["messages"][-1]["content"]

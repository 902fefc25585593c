"""Remote models, against a real HTTP server on loopback that speaks OpenAI's chat completions.

1. An answer streams, with reasoning and figures.
2. What the request sends.
3. Every failure has its category, and none shows the key.
4. Time limits and cancelling hold whatever the server does.
5. Configuration: keys, addresses, libraries.
6. Effort: what is sent to whom.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from timing import check_delay, delay_of_cancelling
from web_server import web

pytest.importorskip("httpx2")

from engine.keys.keys import Keys
from engine.keys.providers import PROVIDERS
from engine.models import resolve_model
from engine.models.protocol import Message, ModelError, Request, Thought, Usage
from engine.models.providers import endpoint
from engine.models.retry import complete_with_retry
from engine.system.installing import how_to_install

KEY = "sk-very-secret-0123456789"
MESSAGES = (
    Message("system", "be short"),
    Message("user", "one?"),
    Message("assistant", "1"),
    Message("user", "two?"),
)
Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Records what it is asked and answers as the test says."""

    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, dict(self.headers), body))
        self.server.answers.pop(0)(self)

    def log_message(self, *args: Any) -> None:
        """Nothing: the tests read `asked`."""

    def status(self, status: int, message: str, **headers: str) -> None:
        body = json.dumps({"error": {"message": message, "type": "error", "code": None}}).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()

    def send(self, delta: dict[str, Any] | None = None, **fields: Any) -> None:
        choice = {"index": 0, "delta": delta or {}, "finish_reason": fields.pop("finish_reason", None)}
        chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "tiny"}
        chunk |= {"choices": [] if "usage" in fields else [choice], **fields}
        self.raw(f"data: {json.dumps(chunk)}\n\n")

    def raw(self, text: str) -> None:
        self.wfile.write(text.encode())
        self.wfile.flush()


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.answers: list[Answer] = []
        self.closing = threading.Event()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: clients that go away are what some tests are about."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_address[1]}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield server
        server.closing.set()
        server.shutdown()


def request(timeout_s: float = 300.0, **options: Any) -> Request:
    fields = {"temperature": None, "max_tokens": None, "grammar": None, "position": 0, "run": "demo"}
    return Request(messages=MESSAGES, timeout_s=timeout_s, **(fields | options))


def two_words(handler: Handler) -> None:
    handler.begin_stream()
    handler.send({"role": "assistant", "reasoning_content": "thinking"})
    handler.send({"content": "Hello"})
    handler.send({"content": " world"})
    handler.send({}, finish_reason="stop")
    handler.send(
        usage={
            "prompt_tokens": 12,
            "completion_tokens": 5,
            "total_tokens": 17,
            "prompt_tokens_details": {"cached_tokens": 8},
            "completion_tokens_details": {"reasoning_tokens": 3},
        }
    )
    handler.raw("data: [DONE]\n\n")


def failing(status: int, message: str, **headers: str) -> Answer:
    return lambda handler: handler.status(status, message, **headers)


NEVER_S = 600.0


def never(handler: Handler) -> None:
    handler.server.closing.wait(NEVER_S)


def drip(handler: Handler) -> None:
    handler.begin_stream()
    until = time.monotonic() + NEVER_S
    while not handler.server.closing.wait(0.05) and time.monotonic() < until:
        handler.send({"content": "x"})


def test_an_answer_streams_with_reasoning_and_figures(server: Server) -> None:
    server.answers = [two_words]
    heard: list[str] = []
    answer = resolve_model("openai/tiny").complete(request(), heard.append)
    assert (answer.text, answer.reasoning, answer.finish_reason) == ("Hello world", "thinking", "stop")
    assert [(type(piece), str(piece)) for piece in heard] == [(Thought, "thinking"), (str, "Hello"), (str, " world")]
    assert answer.usage == Usage(12, 8, 5, 3, 0.0, cost_from="local")


def test_deltas_arrive_in_the_callers_thread(server: Server) -> None:
    server.answers = [two_words]
    threads = []
    resolve_model("openai/tiny").complete(request(), lambda _: threads.append(threading.current_thread()))
    assert set(threads) == {threading.current_thread()}


def test_the_request_is_sent_as_it_is(server: Server) -> None:
    server.answers = [two_words]
    wanted = request(temperature=0.5, max_tokens=77, grammar='root ::= "a"')
    resolve_model("openai/pub/tiny").complete(wanted)
    [(path, headers, body)] = server.asked
    assert path == "/v1/chat/completions"
    assert headers["authorization" if "authorization" in headers else "Authorization"] == f"Bearer {KEY}"
    assert [(each["role"], each["content"]) for each in body["messages"]] == [
        (each.role, each.content) for each in MESSAGES
    ]
    assert body["model"] == "pub/tiny"
    assert (body["temperature"], body["grammar"]) == (0.5, 'root ::= "a"')
    assert 77 in (body.get("max_tokens"), body.get("max_completion_tokens"))
    assert body["stream_options"] == {"include_usage": True}


def test_no_length_is_asked_for_where_none_is_known(server: Server) -> None:
    server.answers = [two_words]
    resolve_model("openai/tiny").complete(request())
    [(_, _, body)] = server.asked
    assert {"max_tokens", "max_completion_tokens"}.isdisjoint(body), "a provider refuses more than it gives"


@pytest.mark.parametrize(
    ("answer", "category", "status"),
    [
        (failing(401, f"Incorrect API key provided: {KEY}"), "auth", 401),
        (failing(403, "not for you"), "auth", 401),
        (failing(402, "no credit"), "auth", 401),
        (failing(404, "no such model"), "not_found", 404),
        (failing(429, "token limit per minute exceeded"), "rate_limit", 429),
        (failing(500, f"boom, with {KEY}"), "server", 500),
        (failing(502, "bad gateway"), "gateway", 502),
        (failing(503, "Loading model"), "warmup", 502),
        (failing(503, "overloaded"), "server", 500),
        (failing(400, "maximum context length is 10 tokens"), "context_exceeded", 413),
        (failing(400, "the request exceeds the available context size"), "context_exceeded", 413),
        (failing(413, "request too large"), "context_exceeded", 413),
        (failing(400, "temperature must be a number"), "invalid", 400),
    ],
)
def test_a_failure_has_its_category_and_hides_the_key(
    server: Server, answer: Answer, category: str, status: int
) -> None:
    server.answers = [answer]
    with pytest.raises(ModelError) as caught:
        resolve_model("openai/tiny").complete(request())
    assert (caught.value.category, caught.value.status) == (category, status)
    assert "secret" not in str(caught.value)
    assert len(server.asked) == 1


def test_a_page_of_a_gateway_is_told_by_its_title(server: Server) -> None:
    server.answers = [
        failing(502, "<!DOCTYPE html><html><head>\n<title>502 Bad &amp; late</title></head><body>x</body>")
    ]
    with pytest.raises(ModelError, match="a page titled '502 Bad & late'; check the server") as caught:
        resolve_model("openai/tiny").complete(request())
    assert "<" not in str(caught.value)


def test_retry_after_is_passed_on(server: Server) -> None:
    server.answers = [failing(429, "slow down", Retry_After="7")]
    with pytest.raises(ModelError) as caught:
        resolve_model("openai/tiny").complete(request())
    assert caught.value.retry_after_s == 7.0


def test_a_server_that_recovers_is_asked_again(server: Server) -> None:
    server.answers = [failing(429, "slow down", Retry_After="0"), two_words]
    assert complete_with_retry(resolve_model("openai/tiny"), request()).text == "Hello world"
    assert len(server.asked) == 2


def test_an_error_inside_the_stream_is_a_failure(server: Server) -> None:
    def breaks(handler: Handler) -> None:
        handler.begin_stream()
        handler.send({"content": "Hel"})
        handler.raw('data: {"error": {"message": "boom", "type": "server_error", "code": 500}}\n\n')

    server.answers = [breaks]
    with pytest.raises(ModelError) as caught:
        resolve_model("openai/tiny").complete(request())
    assert caught.value.category == "server"


def test_a_connection_that_breaks_off_is_a_gateway_failure(server: Server) -> None:
    def breaks(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        handler.send({"content": "Hel"})
        handler.connection.shutdown(socket.SHUT_RDWR)

    server.answers = [breaks]
    with pytest.raises(ModelError) as caught:
        resolve_model("openai/tiny").complete(request())
    assert caught.value.category == "gateway"


def test_a_refused_connection_names_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        with pytest.raises(ModelError, match=r"cannot be reached at http://127\.0\.0\.1.*OPENAI_BASE_URL") as caught:
            resolve_model("openai/tiny").complete(request())
    assert (caught.value.category, caught.value.status) == ("unreachable", 502)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://no-such-host.invalid/v1")
    with pytest.raises(ModelError, match=r"cannot be reached at http://no-such-host\.invalid") as caught:
        resolve_model("openai/tiny").complete(request())
    assert caught.value.category == "unreachable"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made by openssl")
def test_a_certificate_that_is_not_accepted_is_named_and_not_tried_again(tmp_path: Path) -> None:
    """It was called a server that cannot be reached."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9", "-subj", "/CN=test"]
    subprocess.run([*made, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with (
        web(context) as site,
        pytest.raises(ModelError, match=r"TLS.*self-signed certificate.*SSL_CERT_FILE") as caught,
    ):
        complete_with_retry(resolve_model(f"https://127.0.0.1:{site.port}/v1#tiny"), request(), on_retry=_never_again)
    assert (caught.value.category, caught.value.status) == ("certificate", 502)


def test_a_server_without_tls_is_named(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"https://127.0.0.1:{server.server_address[1]}/v1")
    with pytest.raises(ModelError, match="speaks no TLS, so its address begins with http://") as caught:
        resolve_model("openai/tiny").complete(request())
    assert caught.value.category == "certificate"


def _never_again(error: ModelError, failures: int, wait_s: float) -> None:
    raise AssertionError(f"tried again after {failures}: {error}")


@pytest.mark.parametrize("answer", [never, drip])
def test_the_time_limit_holds_whatever_the_server_does(server: Server, answer: Answer) -> None:
    server.answers = [answer]
    model = resolve_model("openai/tiny")
    started = time.monotonic()
    with pytest.raises(ModelError, match="did not finish within 1 s") as caught:
        model.complete(request(timeout_s=1.0))
    assert (caught.value.category, caught.value.status) == ("timeout", 504)
    assert time.monotonic() - started < NEVER_S / 2


@pytest.mark.parametrize("answer", [never, drip])
def test_cancelling_is_seen_at_once(server: Server, answer: Answer) -> None:
    def complete(cancelled: threading.Event) -> None:
        server.answers = [answer]
        with pytest.raises(ModelError) as caught:
            resolve_model("openai/tiny").complete(request(), None, cancelled)
        assert (caught.value.category, caught.value.status) == ("aborted", 499)

    check_delay(2, lambda: delay_of_cancelling(complete, 0.5))


def test_a_listener_that_raises_ends_the_call(server: Server) -> None:
    server.answers = [drip]

    def listen(text: str) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        resolve_model("openai/tiny").complete(request(), listen)


@pytest.mark.parametrize("name", sorted(set(PROVIDERS) - {"ollama"}))
def test_a_missing_key_names_its_variable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (*PROVIDERS[name].keys, PROVIDERS[name].url_variable):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ModelError, match=PROVIDERS[name].keys[0]) as caught:
        resolve_model(f"{name}/some")
    assert (caught.value.category, caught.value.status) == ("auth", 401)


@pytest.mark.parametrize("name", sorted(set(PROVIDERS) - {"anthropic"}))
def test_every_compatible_provider_answers(name: str, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROVIDERS[name].url_variable, f"http://127.0.0.1:{server.server_address[1]}/v1")
    monkeypatch.setenv(PROVIDERS[name].keys[0], KEY)
    server.answers = [two_words]
    answer = resolve_model(f"{name}/pub/tiny").complete(request())
    assert (answer.text, answer.usage.prompt_tokens) == ("Hello world", 12)


def test_a_name_that_a_provider_cannot_have_is_invalid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    with pytest.raises(ModelError, match="upstream provider") as caught:
        resolve_model("openrouter/tiny").complete(request())
    assert (caught.value.category, caught.value.status) == ("invalid", 400)


def test_anthropic_answers_in_its_own_form(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(handler: Handler) -> None:
        usage = {"input_tokens": 10, "cache_read_input_tokens": 4, "output_tokens": 1}
        message = {"id": "m", "type": "message", "role": "assistant", "model": "claude-x", "content": []}
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 6}},
            {"type": "message_stop"},
        ]
        handler.begin_stream()
        for event in events:
            handler.raw(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n")

    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    server.answers = [answer, failing(401, f"invalid x-api-key {KEY}")]
    model = resolve_model("anthropic/claude-x")
    completion = model.complete(request())
    assert (completion.text, completion.finish_reason) == ("Hi", "stop")
    assert completion.usage == Usage(14, 4, 6, 0, 0.0, cost_from="local")
    assert "cache_control" in json.dumps(server.asked[0][2]["system"])
    assert server.asked[0][2]["max_tokens"] == 8192, "its API wants to be told"
    with pytest.raises(ModelError) as caught:
        model.complete(request())
    assert caught.value.category == "auth"
    assert "secret" not in str(caught.value)


def test_known_models_have_a_price() -> None:
    from genai_prices import Usage as Priced
    from genai_prices import calc_price

    at = endpoint(PROVIDERS["openai"], Keys(environment={"OPENAI_API_KEY": KEY}))
    price = calc_price(Priced(input_tokens=1000, output_tokens=100), "gpt-4o", provider_api_url=at.url)
    assert 0 < float(price.total_price) < 1


def test_addresses_come_from_the_environment() -> None:
    ollama = PROVIDERS["ollama"]
    assert endpoint(ollama, Keys(environment={})).url.endswith(":11434/v1")
    assert endpoint(ollama, Keys(environment={"OLLAMA_BASE_URL": "http://box:1/"})).url == "http://box:1/v1"
    assert endpoint(ollama, Keys(environment={"OLLAMA_BASE_URL": "http://box:1/v1"})).url == "http://box:1/v1"
    own = endpoint(PROVIDERS["openai"], Keys(environment={"OPENAI_BASE_URL": "http://box:8080/v1/"}))
    assert (own.url, own.is_own, own.key) == ("http://box:8080/v1", False, "")
    assert KEY not in repr(endpoint(PROVIDERS["openai"], Keys(environment={"OPENAI_API_KEY": KEY})))


def test_a_missing_library_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['httpx2'] = None\n"
        "from engine.errors import EngineError\n"
        "from engine.models import resolve_model\n"
        "try: resolve_model('openai/tiny')\n"
        "except EngineError as error: print(error)"
    )
    environment = {**os.environ, "OPENAI_API_KEY": KEY}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert how_to_install("models") in result.stdout


def asked_to_think(server: Server, name: str, effort: str | None) -> dict[str, Any]:
    """What a server is sent for an effort; it answers with a failure."""
    server.answers = [failing(400, "enough")]
    server.asked.clear()
    with pytest.raises(ModelError, match="enough"):
        resolve_model(name).complete(request(temperature=0.5, effort=effort))
    return server.asked[0][2]


@pytest.mark.parametrize(
    ("effort", "sent"), [("none", "none"), ("low", "low"), ("high", "high"), ("max", "max"), (None, None)]
)
def test_a_server_of_ones_own_is_told_any_effort(server: Server, effort: str | None, sent: str | None) -> None:
    """spec: @effort"""
    body = asked_to_think(server, "openai/tiny", effort)
    assert body.get("reasoning_effort") == sent
    assert ("temperature" in body) is (effort in (None, "none"))


@pytest.mark.filterwarnings("ignore:The model:DeprecationWarning")
@pytest.mark.parametrize(
    ("name", "effort", "sent"),
    [
        ("anthropic/claude-sonnet-4-5", "high", {"type": "enabled", "budget_tokens": 16384}),
        ("anthropic/claude-sonnet-4-5", "none", None),
        ("anthropic/claude-sonnet-4-5", None, None),
    ],
)
def test_anthropic_gets_a_budget_for_thoughts_beside_the_answer(
    server: Server, monkeypatch: pytest.MonkeyPatch, name: str, effort: str | None, sent: Any
) -> None:
    """spec: @effort"""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    body = asked_to_think(server, name, effort)
    assert body.get("thinking") == sent
    assert body["max_tokens"] - 8192 > 16384 if sent else body["max_tokens"] == 8192
    assert ("temperature" in body) is (sent is None)


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        ("openai/gpt-5", True),
        ("openai/gpt-4o", False),
        ("anthropic/claude-opus-4-1", True),
        ("cerebras/llama3", False),
        ("ollama/llama3", True),
        ("google/gemini-2.5-pro", True),
        ("local", False),
    ],
)
def test_which_models_take_an_effort(monkeypatch: pytest.MonkeyPatch, name: str, takes: bool) -> None:
    """spec: @effort"""
    for provider in PROVIDERS.values():
        monkeypatch.setenv(provider.keys[0], KEY)
        monkeypatch.delenv(provider.url_variable, raising=False)
    assert resolve_model(name).takes_effort is takes  # type: ignore[attr-defined]

"""Answers that no provider should give, from real servers on loopback.

1. Figures that are none are unknown; the answer, which was paid for, is kept.
2. Whatever else is wrong is one clear line and a failure of the call: no error of a library, no key.
3. An answer without end, a compressed one, and a redirect are given up; a redirect is not followed.

spec: @models_protocol @model_failures
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from driving import script
from loopback import Answer, Handler, serving

import engine
from engine.keys.keys import Keys
from engine.keys.providers import PROVIDERS
from engine.models import protocol, served, wire
from engine.models.protocol import Completion, Message, ModelError, Request, Usage
from engine.models.providers import endpoint

pytest.importorskip("httpx2")

from engine.models.remote import RemoteModel

KEY = "sk-canary-0123456789"
END = "data: [DONE]\n\n"


def chunk(**fields: Any) -> str:
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "tiny"}
    return f"data: {json.dumps({**head, **fields})}\n\n"


def said(text: str, ended: Any = None) -> str:
    return chunk(choices=[{"index": 0, "delta": {"content": text}, "finish_reason": ended}])


def figures(usage: str) -> str:
    """A last chunk with this usage, as text: it may be no JSON."""
    return chunk(choices=[], usage="USAGE").replace('"USAGE"', usage)


def sending(
    *parts: str | bytes,
    status: int = 200,
    kind: str | None = "text/event-stream",
    headers: Sequence[tuple[str, str]] = (),
) -> Answer:
    def answer(handler: Handler) -> None:
        handler.send_response(status)
        for name, value in [("Content-Type", kind), *headers]:
            if value is not None:
                handler.send_header(name, value)
        handler.send_header("Connection", "close")
        handler.end_headers()
        for part in parts:
            handler.wfile.write(part.encode() if isinstance(part, str) else part)

    return answer


def ask(answer: Answer, monkeypatch: pytest.MonkeyPatch, provider: str = "openai") -> Completion:
    with serving(answer) as server:
        monkeypatch.setenv(f"{provider.upper()}_API_KEY", KEY)
        monkeypatch.setenv(f"{provider.upper()}_BASE_URL", server.url)
        request = Request((Message("user", "Hi"),), None, None, None, 60.0, 0, "demo")
        return RemoteModel(provider, "tiny").complete(request)


@pytest.mark.parametrize(
    ("usage", "known"),
    [
        ('{"prompt_tokens":12,"completion_tokens":7,"total_tokens":19}', Usage(12, 0, 7, 0)),
        ('{"prompt_tokens":12.0,"completion_tokens":7,"total_tokens":19}', Usage()),
        ('{"prompt_tokens":1e30,"completion_tokens":7,"total_tokens":1}', Usage()),
        (f'{{"prompt_tokens":{10**30},"completion_tokens":7,"total_tokens":1}}', Usage()),
        (f'{{"prompt_tokens":1{"0" * 5000},"completion_tokens":7,"total_tokens":1}}', Usage()),
        ('{"prompt_tokens":-5,"completion_tokens":7,"total_tokens":1}', Usage()),
        ('{"prompt_tokens":1.5,"completion_tokens":7,"total_tokens":1}', Usage()),
        ('{"prompt_tokens":"12","completion_tokens":"seven","total_tokens":1}', Usage()),
        ('{"prompt_tokens":NaN,"completion_tokens":Infinity,"total_tokens":1}', Usage()),
        ('{"prompt_tokens":true,"completion_tokens":7,"total_tokens":1}', Usage()),
        ('{"prompt_tokens":null,"completion_tokens":null,"total_tokens":null}', Usage()),
        ('{"prompt_tokens":{"a":1},"completion_tokens":[],"total_tokens":1}', Usage()),
        ("{}", Usage()),
        ("[1,2]", Usage()),
        ("7", Usage()),
        ('"x"', Usage()),
        (
            '{"prompt_tokens":12,"completion_tokens":7,"total_tokens":19,"cost":"much",'
            '"prompt_tokens_details":{"cached_tokens":1e30},"completion_tokens_details":{"reasoning_tokens":"x"}}',
            Usage(12, 0, 7, 0),
        ),
        (
            '{"prompt_tokens":12,"completion_tokens":7,"total_tokens":19,"cost":-1,'
            '"prompt_tokens_details":[1],"completion_tokens_details":"x"}',
            Usage(12, 0, 7, 0),
        ),
    ],
)
def test_figures_that_are_none_are_unknown_and_the_answer_is_kept(
    monkeypatch: pytest.MonkeyPatch, usage: str, known: Usage
) -> None:
    completion = ask(sending(said("Hello"), said("", "stop"), figures(usage), END), monkeypatch)
    assert (completion.text, completion.finish_reason) == ("Hello", "stop")
    assert protocol.known(completion.usage) == replace(known, cost=0.0, cost_from="local"), (
        "a loopback address costs nothing"
    )


@pytest.mark.parametrize(
    ("usage", "known"),
    [
        (Usage(10**30, -1, 7, 3, float("nan")), Usage(None, None, 7, 3)),
        (Usage(1.5, "x", True, None, -1.0), Usage()),  # type: ignore[arg-type]
        (Usage(1, 2, 3, 4, 0.5), Usage(1, 2, 3, 4, 0.5)),
        (Usage(cost=float("inf")), Usage()),
    ],
)
def test_only_figures_that_can_be_are_known(usage: Usage, known: Usage) -> None:
    assert protocol.known(usage) == known


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": 10**30},
        {"prompt_tokens": 1.5},
        {"completion_tokens": 1e300},
        {"cost": 1e300},
        {"cost": 10**40},
    ],
)
def test_a_run_keeps_the_answer_whose_figures_are_none(
    db: engine.Database, tmp_path: Any, usage: dict[str, Any]
) -> None:
    answer = {"text": '<update status="200">Hello</update>', "usage": usage}
    result = db.run("Hi", model=script(tmp_path, answer))
    assert (result.status, result.answer) == (200, "Hello")


BROKEN: dict[str, str | bytes] = {
    "choices are a text": chunk(choices="x"),
    "choices are numbers": chunk(choices=[1]),
    "choices are an object": chunk(choices={"a": 1}),
    "a delta is a text": chunk(choices=[{"index": 0, "delta": "x"}]),
    "a delta is a list": chunk(choices=[{"index": 0, "delta": [1]}]),
    "calls are a number": chunk(choices=[{"index": 0, "delta": {"tool_calls": 7}}]),
    "calls are numbers": chunk(choices=[{"index": 0, "delta": {"tool_calls": [7]}}]),
    "the end is a list": said("x", [1]),
    "cut off": 'data: {"id":"1","choi',
    "no JSON": "data: {oops}\n\n",
    "an error": 'data: {"error":{"message":"boom"}}\n\n',
    "deep": f"data: {'[' * 100_000}\n\n",
    "no text": b"data: \xff\xfe\n\n",
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("before", ["", said("Hello")], ids=["alone", "behind a text"])
def test_a_broken_chunk_is_a_failure_of_the_call(monkeypatch: pytest.MonkeyPatch, name: str, before: str) -> None:
    with pytest.raises(ModelError, match=r"^500 model 'openai/tiny' (failed|sent)") as caught:
        ask(sending(before, BROKEN[name], END), monkeypatch)
    assert "\n" not in caught.value.message


HARMLESS: dict[str, str] = {
    "a list": "data: [1,2]\n\n",
    "a number": "data: 7\n\n",
    "a text": 'data: "x"\n\n',
    "null": "data: null\n\n",
    "an empty object": "data: {}\n\n",
    "no choices": chunk(choices=[]),
    "choices are null": chunk(choices=None),
    "a delta is null": chunk(choices=[{"index": 0, "delta": None}]),
    "a text is a number": chunk(choices=[{"index": 0, "delta": {"content": 7}}]),
    "the end is a number": said("", 7),
    "the date is none": 'data: {"id":null,"created":"x","model":5,"choices":[{"index":"a","delta":{}}]}\n\n',
    "the date is far": 'data: {"id":"1","created":1e400,"model":"m","choices":[{"index":0,"delta":{}}]}\n\n',
    "a comment": ": still there\n\n",
    "an event of another kind": "event: ping\ndata: {}\n\n",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_a_chunk_without_meaning_is_passed_over(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    completion = ask(sending(HARMLESS[name], said("Hello"), HARMLESS[name], said("", "stop"), END), monkeypatch)
    assert (completion.text, completion.finish_reason) == ("Hello", "stop")


def garbage(handler: Handler) -> None:
    handler.wfile.write(b"\x00\x01garbage\r\n\r\n")


def hang_up(handler: Handler) -> None:
    handler.connection.close()


BOMB = gzip.compress(b"data: " + bytes(30_000_000))


@pytest.mark.parametrize(
    ("answer", "clear"),
    [
        (sending('{"a":1}', kind="application/json"), "instead of a stream of events"),
        (sending("<html>", kind="text/html"), "'text/html' instead of a stream of events"),
        (sending("hi", kind=None), "without content"),
        (sending(""), "without content"),
        (sending(END), "without content"),
        (sending(BOMB, headers=[("Content-Encoding", "gzip")]), "a compressed answer"),
        (sending(BOMB, status=400, headers=[("Content-Encoding", "gzip")]), "a compressed answer"),
        (sending("no gzip", headers=[("Content-Encoding", "gzip")]), "a compressed answer"),
        (sending(said("Hello"), headers=[("Content-Length", "100000")]), "cannot be reached"),
        (sending("zz\r\nno", headers=[("Transfer-Encoding", "chunked")]), "cannot be reached"),
        (sending(said("Hello"), headers=[("X-Big", "a" * 200_000)]), "cannot be reached"),
        (sending(said("Hello"), headers=[(f"X-{i}", "a" * 50) for i in range(5000)]), "cannot be reached"),
        (garbage, "cannot be reached"),
        (hang_up, "cannot be reached"),
        (sending('[{"error":{"code":400,"message":"so not"}}]', status=400, kind="application/json"), "failed: so not"),
        (sending("[1,2]", status=400, kind="application/json"), "[1, 2]"),
        (sending('{"error":{"message":{"a":[1]}}}', status=400, kind="application/json"), "{'a': [1]}"),
        (sending('{"error":{"message":"', "x" * 5_000_000, '"}}', status=400, kind="application/json"), "xxx"),
        (sending("{}", status=429, headers=[("Retry-After", "nan")]), "429"),
        (sending("{}", status=429, headers=[("Retry-After", "-5")]), "429"),
        (sending("{}", status=429, headers=[("Retry-After", "1e400")]), "429"),
        (sending("x", status=999), "failed"),
        (sending(KEY, status=400, kind="text/plain"), "[key]"),
    ],
)
def test_what_is_no_answer_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, answer: Answer, clear: str) -> None:
    with pytest.raises(ModelError) as caught:
        ask(answer, monkeypatch)
    assert clear in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 500
    assert KEY not in caught.value.message
    assert caught.value.retry_after_s is None


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_redirect_is_not_followed(monkeypatch: pytest.MonkeyPatch, provider: str, status: int) -> None:
    with serving(sending(said("Stolen"), END)) as elsewhere:
        place = f"http://ada:word@{elsewhere.url.removeprefix('http://')}/chat?key=word"
        with pytest.raises(ModelError, match=r"400 .*is sent on to .*no key is sent") as caught:
            ask(sending("", status=status, headers=[("Location", place)]), monkeypatch, provider)
        assert elsewhere.asked == []
    assert "word" not in caught.value.message


def without_end(piece: bytes) -> Answer:
    def answer(handler: Handler) -> None:
        sending()(handler)
        while not handler.server.closing.is_set():
            handler.wfile.write(piece)

    return answer


@pytest.mark.parametrize(
    "piece", [b"x" * 10_000, b"data: " + b"y" * 10_000, b": still there\n\n" * 100, b"data: {}\n\n" * 100, b"\n" * 1000]
)
def test_an_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch, piece: bytes) -> None:
    monkeypatch.setattr(wire, "LONGEST", 50_000)
    with pytest.raises(ModelError, match="more than 50,000 bytes"):
        ask(without_end(piece), monkeypatch)


@pytest.mark.parametrize(
    "usage", ['{"input_tokens":1e30,"output_tokens":1}', '{"input_tokens":-1,"output_tokens":1}', "7", "[]", '"x"']
)
def test_figures_of_anthropic_that_are_none_are_unknown(monkeypatch: pytest.MonkeyPatch, usage: str) -> None:
    def event(kind: str, rest: str) -> str:
        return f'event: {kind}\ndata: {{"type":"{kind}",{rest}}}\n\n'

    message = (
        '"message":{"id":"m","type":"message","role":"assistant","model":"tiny","content":[],"stop_reason":null,'
        f'"stop_sequence":null,"usage":{usage}}}'
    )
    answer = sending(
        event("message_start", message),
        event("content_block_start", '"index":0,"content_block":{"type":"text","text":""}'),
        event("content_block_delta", '"index":0,"delta":{"type":"text_delta","text":"Hello"}'),
        event("content_block_stop", '"index":0'),
        event("message_delta", f'"delta":{{"stop_reason":"end_turn","stop_sequence":null}},"usage":{usage}'),
        event("message_stop", '"x":1'),
    )
    completion = ask(answer, monkeypatch, "anthropic")
    assert (completion.text, protocol.known(completion.usage)) == ("Hello", Usage(cost=0.0, cost_from="local"))


@pytest.mark.parametrize("line", ["[" * 100_000, '{"text": "x", "delay_s": 1e400}', '{"text": "x", "delay_s": NaN}'])
def test_a_script_that_is_none_is_one_clear_line(db: engine.Database, tmp_path: Any, line: str) -> None:
    (tmp_path / "s.jsonl").write_text(line + "\n")
    result = db.run("Hi", model=f"scripted:{tmp_path / 's.jsonl'}")
    assert result.status == 500
    assert "s.jsonl, line 1" in str(result.reason)


def dripping(handler: Handler) -> None:
    sending(kind="application/json")(handler)
    while not handler.server.closing.wait(0.02):
        handler.wfile.write(b" ")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (dripping, "takes longer than"),
        (sending('{"data":', "[" * 200_000, kind="application/json"), "not a list of models"),
        (sending('{"data":[', '{"id":"x"},' * 1_000_000, kind="application/json"), "not a list of models"),
        (sending('{"data":[null]}', kind="application/json"), "not a list of models"),
        (sending('{"data":{"id":"x"}}', kind="application/json"), "not a list of models"),
        (sending(f'{{"data":{"1" * 5000}}}', kind="application/json"), "not a list of models"),
        (sending(KEY, status=500, kind="text/plain"), "it answers with status 500"),
        (garbage, "cannot be asked"),
        (hang_up, "cannot be asked"),
    ],
    ids=["drip", "deep", "long", "null", "object", "digits", "status", "garbage", "hang up"],
)
def test_a_list_of_models_that_is_none_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, answer: Answer, said: str
) -> None:
    """spec: @model_names"""
    monkeypatch.setattr(served, "_ALL_SECONDS", 1.0)
    with serving(answer) as server:
        keys = Keys(environment={"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY})
        with pytest.raises(ModelError, match=said) as caught:
            served.offered_models(endpoint(PROVIDERS["openai"], keys))
    assert "\n" not in caught.value.message
    assert KEY not in caught.value.message


def test_names_of_offered_models_are_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """spec: @model_names"""
    names = ["tiny", "$(rm -rf /)", "\x1b[31mred", "a b", "x" * 101, "", "\u202eevil", "ok:7b"]
    body = json.dumps(
        {"data": [{"id": name, "context_length": 10**30, "pricing": {"prompt": "nan"}} for name in names]}
    )
    with serving(sending(body, kind="application/json")) as server:
        keys = Keys(environment={"OPENAI_BASE_URL": server.url})
        found = served.offered_models(endpoint(PROVIDERS["openai"], keys))
    assert [row["model"] for row in found] == ["openai/ok:7b", "openai/tiny"]
    assert {(row["context_length"], row["price"]) for row in found} == {(None, None)}

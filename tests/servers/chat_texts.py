"""Quirks of servers with OpenAI's chat completions: texts, lines and errors.

A row is a quirk: its name with a server that was seen with it, the frames as they are sent, and the turn that they mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from servers.chat_quirks import DONE, FIGURES, HELLO, STOP, TWO, chunk, row, text, used
from servers.turns import PLAIN, UPDATE, A, B, Quirk, Turn


def _text_rows() -> Iterable[Quirk]:
    halves = [text(UPDATE[:17]), text(UPDATE[17:27]), text(UPDATE[27:])]
    yield row("markup in pieces", *halves, STOP, FIGURES, DONE, turn=Turn(UPDATE, usage=(10, 0, 4, 0)))
    smile = [
        'data: {"choices":[{"index":0,"delta":{"content":"\\ud83d"}}]}\n\n',
        'data: {"choices":[{"index":0,"delta":{"content":"\\ude00"}}]}\n\n',
    ]
    yield row("a character in two chunks", *smile, STOP, DONE, turn=Turn("😀"))
    yield row("half a character", smile[0], STOP, DONE, turn=Turn("\ufffd"))
    nothing = [
        "data: null\n\n",
        "data: {}\n\n",
        chunk(choices=[]),
        chunk(choices=None),
        chunk(choices=[None]),
        "data: []\n\n",
    ]
    yield row("null and empty chunks", *nothing, HELLO[0], *nothing, HELLO[1], STOP, *nothing, DONE, turn=Turn("Hello"))
    filtered = chunk(choices=[], prompt_filter_results=[{"prompt_index": 0}])
    yield row(
        "a filter's report first (Azure)",
        filtered,
        chunk({"role": "assistant"}),
        *HELLO,
        STOP,
        DONE,
        turn=Turn("Hello"),
    )
    null = chunk(choices=[{"index": 0, "delta": None, "finish_reason": "stop"}])
    yield row("a delta that is null", *HELLO, null, DONE, turn=Turn("Hello"))
    yield row(
        "content null", chunk({"content": None}), *HELLO, chunk({"content": None}, "stop"), DONE, turn=Turn("Hello")
    )
    yield row(
        "stop in each chunk (older Gemini)", text("Hel", finish="stop"), text("lo", finish="stop"), turn=Turn("Hello")
    )
    yield row("an empty finish reason", text("Hello", finish=""), STOP, DONE, turn=Turn("Hello"))
    yield row("no finish reason", *HELLO, DONE, turn=Turn("Hello"))
    yield row("no [DONE]", *HELLO, STOP, turn=Turn("Hello"))
    yield row("it breaks off", *HELLO, turn=Turn("Hello", ended="incomplete"))
    yield row("it breaks off in a chunk", *HELLO, 'data: {"choices":[{"del', turn=Turn("Hello", ended="incomplete"))
    yield row("text behind [DONE]", *HELLO, STOP, DONE, text("more"), turn=Turn("Hello"))
    for word, means in (
        ("MAX_TOKENS", "length"),
        ("eos", "stop"),
        ("SAFETY", "content_filter"),
        ("abort", "incomplete"),
    ):
        yield row(f"ended by {word}", *HELLO, chunk({}, word), DONE, turn=Turn("Hello", ended=means))
    for name in ("reasoning_content", "reasoning", "thinking"):
        thought = [chunk({name: "Hm, "}), chunk({name: "so."})]
        yield row(f"thoughts as {name}", *thought, *HELLO, STOP, DONE, turn=Turn("Hello", "Hm, so."))
    twice = chunk(
        {
            "reasoning": "Hm.",
            "reasoning_content": "Hm.",
            "reasoning_details": [{"type": "reasoning.text", "text": "Hm."}],
        }
    )
    yield row("thoughts under three names", twice, *HELLO, STOP, DONE, turn=Turn("Hello", "Hm."))
    inner = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    parts = [chunk({"content": [inner]}), chunk({"content": [{"type": "text", "text": "Hello"}]})]
    yield row("content in parts (Mistral)", *parts, STOP, DONE, turn=Turn("Hello", "Hm."))
    other = {"index": 1, "delta": {"content": "Bye"}, "finish_reason": None}
    yield row("another choice", chunk(choices=[other]), *HELLO, STOP, DONE, turn=Turn("Hello"))
    yield row("a refusal", chunk({"refusal": "I cannot."}), STOP, DONE, turn=Turn("I cannot.", ended="content_filter"))
    message = chunk(
        choices=[{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]
    )
    yield row("the message once more at the end", *HELLO, message, DONE, turn=Turn("Hello"))
    whole = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"content": "Hello"}, "finish_reason": "stop"}],
    }
    body = json.dumps({**whole, "usage": used(10, 4)}, indent=2)
    yield row("a whole completion, not streamed", body, turn=PLAIN, kind="application/json")
    calling = {
        "content": None,
        "tool_calls": [{"id": c, "function": {"name": "get", "arguments": a}} for c, a in (("x", A), ("y", B))],
    }
    body = json.dumps({"choices": [{"index": 0, "message": calling, "finish_reason": "tool_calls"}]})
    yield row("whole calls, not streamed", body, turn=TWO, kind="application/json")


def _line_rows() -> Iterable[Quirk]:
    said = "".join((*HELLO, STOP, FIGURES, DONE))
    turn = PLAIN
    yield row(
        "comments (OpenRouter)",
        ": OPENROUTER PROCESSING\n\n",
        *HELLO,
        ":\n\n:\n",
        STOP,
        FIGURES,
        DONE,
        turn=turn,
        is_bytes=True,
    )
    yield row("pings", "event: ping\ndata: {}\n\n", said, turn=turn, is_bytes=True)
    wrapped = ("data: : OPENROUTER PROCESSING\n\n", "data: ping\n\n")
    yield row("comments that a proxy wraps", *wrapped, said, turn=turn, is_bytes=True)
    yield row("CR LF", said.replace("\n", "\r\n"), turn=turn, is_bytes=True)
    yield row("CR", said.replace("\n", "\r"), turn=turn, is_bytes=True)
    yield row("a byte order mark", b"\xef\xbb\xbf", said, turn=turn, is_bytes=True)
    yield row("no blank lines", said.replace("\n\n", "\n"), turn=turn, is_bytes=True)
    yield row("no blank behind the colon", said.replace("data: ", "data:"), turn=turn, is_bytes=True)
    yield row("empty data", "data:\n\ndata: \n\n", said, turn=turn, is_bytes=True)
    yield row("no line end at last", said.rstrip(), turn=turn, is_bytes=True)
    yield row("ids and retries", "id: 7\nretry: 3000\n", said, turn=turn, is_bytes=True)
    yield row("text/plain", said, turn=turn, kind="text/plain; charset=utf-8")
    yield row("no media type", said, turn=turn, kind=None)
    lines = json.dumps(json.loads(HELLO[0][6:]), indent=1).splitlines()
    yield row(
        "JSON over several lines",
        *(f"data: {line}\n" for line in lines),
        "\n",
        HELLO[1],
        STOP,
        FIGURES,
        DONE,
        turn=turn,
        is_bytes=True,
    )
    yield row("lines of JSON without data:", *(each[6:] for each in (*HELLO, STOP, FIGURES)), turn=turn, is_bytes=True)


def _error_rows() -> Iterable[Quirk]:
    def failed(name: str, *frames: str, error: str, category: str = "server", kind: str = "application/json") -> Quirk:
        return row(name, *frames, turn=Turn(error=error, category=category), kind=kind)

    limited = {"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}}
    yield failed("200 with an error", json.dumps(limited), error="slow down", category="rate_limit")
    yield failed("200 with an error in lines", json.dumps(limited, indent=2), error="slow down", category="rate_limit")
    yield failed(
        "200 with an error as a stream",
        json.dumps(limited),
        error="slow down",
        category="rate_limit",
        kind="text/event-stream",
    )
    yield failed("200 with a text", '{"error": "model is overloaded"}', error="model is overloaded")
    yield failed(
        "200 with a detail", '{"detail": "Not authenticated", "code": 401}', error="refused the key", category="auth"
    )
    yield failed(
        "200 with an object error",
        '{"object":"error","message":"no such","code":404}',
        error="no such",
        category="not_found",
    )
    yield failed("200 with a list (Google)", json.dumps([limited]), error="slow down", category="rate_limit")
    yield failed("200 with errors", '{"success":false,"errors":[{"code":7003,"message":"no route"}]}', error="no route")
    yield failed(
        "200 with a status of its own (MiniMax)",
        '{"choices":null,"base_resp":{"status_code":1004,"status_msg":"login"}}',
        error="login",
    )
    named = {"success": False, "error": {"code": "INTERNAL_SERVER_ERROR", "status": 503, "message": "later"}}
    yield failed("200 with a code in words", json.dumps(named), error="later", category="server")
    long = {"error": {"message": "maximum context length is 10 tokens", "code": 400}}
    yield failed("200 with a packet too long", json.dumps(long), error="too long", category="context_exceeded")
    boom = f"data: {json.dumps({'error': {'message': 'boom', 'code': 502}})}\n\n"
    stream = "text/event-stream"
    yield failed("an error first (OpenRouter)", boom, DONE, error="boom", category="gateway", kind=stream)
    yield failed("an error in mid-stream", *HELLO, boom, DONE, error="boom", category="gateway", kind=stream)
    wrong = chunk({}, "error", error={"message": "boom", "code": "server_error"})
    yield failed("an error in a chunk (OpenRouter)", *HELLO, wrong, error="boom", kind=stream)
    yield failed("an event error", *HELLO, 'event: error\ndata: {"message": "boom"}\n\n', error="boom", kind=stream)
    yield failed(
        "a field error (older llama.cpp)",
        *HELLO,
        'error: {"code": 500, "message": "boom"}\n\n',
        error="boom",
        kind=stream,
    )
    yield failed("an error without data:", *HELLO, '{"error": {"message": "boom"}}\n', error="boom", kind=stream)
    late = row("an error behind the end", *HELLO, STOP, FIGURES, boom, turn=PLAIN)
    yield late
    yield failed("a page", "<html><title>502</title></html>", error="instead of a stream", kind="text/html")
    yield failed("nothing", "", error="without content", kind=stream)
    yield failed("comments alone", ": ping\n\n" * 3, error="without content", kind=stream)


CHAT_TEXTS = (*_text_rows(), *_line_rows(), *_error_rows())

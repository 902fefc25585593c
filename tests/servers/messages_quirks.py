"""Quirks of servers with Anthropic's messages.

A row is a quirk: its name with a server that was seen with it, the frames as they are sent, and the turn that they mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from servers.chat_quirks import DONE
from servers.turns import CUT_CALL, CUTS, GET_A, GET_B, PLAIN, UPDATE, A, B, Quirk, Turn


def event(kind: str, **fields: Any) -> str:
    """An event of Anthropic's API."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


def started(**usage: Any) -> str:
    """The event that begins a message."""
    message = {"id": "m", "type": "message", "role": "assistant", "model": "tiny", "content": [], "stop_reason": None}
    return event("message_start", message={**message, "usage": usage} if usage else message)


def block(index: int | None, **content: Any) -> str:
    """The beginning of a block."""
    return event("content_block_start", **({} if index is None else {"index": index}), content_block=content)


def delta(index: int | None, kind: str, **content: Any) -> str:
    """A piece of a block."""
    place = {} if index is None else {"index": index}
    return event("content_block_delta", **place, delta={"type": kind, **content})


def ends(index: int) -> str:
    """The end of a block."""
    return event("content_block_stop", index=index)


def over(reason: str | None = "end_turn", **usage: Any) -> str:
    """The events that end a message."""
    return event("message_delta", delta={"stop_reason": reason}, **({"usage": usage} if usage else {})) + event(
        "message_stop"
    )


SAID = (block(0, type="text", text=""), delta(0, "text_delta", text="Hel"), delta(0, "text_delta", text="lo"), ends(0))
BEGIN, END = started(input_tokens=10, output_tokens=1), over(output_tokens=4)


def _use(index: int | None, call_id: str, **given: Any) -> str:
    return block(index, type="tool_use", id=call_id, name="get", input=given)


def _json(index: int | None, part: str) -> str:
    return delta(index, "input_json_delta", partial_json=part)


def _message(name: str, *frames: str | bytes, turn: Turn, **more: Any) -> Quirk:
    return Quirk(name, frames, turn, format="messages", **more)


def _message_rows() -> Iterable[Quirk]:
    yield _message("usage in two events (Anthropic)", BEGIN, *SAID, END, turn=PLAIN)
    yield _message("usage nowhere", started(), *SAID, over(), turn=Turn("Hello"))
    yield _message("usage at the end alone", started(), *SAID, over(input_tokens=10, output_tokens=4), turn=PLAIN)
    zero = started(input_tokens=0, output_tokens=0)
    yield _message("usage zero at first (proxies)", zero, *SAID, over(input_tokens=10, output_tokens=4), turn=PLAIN)
    last = over(input_tokens=0, output_tokens=4)
    yield _message("usage zero at last (SGLang)", BEGIN, *SAID, last, turn=PLAIN)
    yield _message("usage zero everywhere", zero, *SAID, over(input_tokens=0, output_tokens=0), turn=Turn("Hello"))
    bare_start = event("message_start", message={"id": "m", "usage": {"input_tokens": 10, "output_tokens": 1}})
    yield _message("a beginning without content (proxies)", bare_start, *SAID, END, turn=PLAIN)
    nulls = over(input_tokens=None, cache_read_input_tokens=None, output_tokens=4)
    yield _message("usage null at last", BEGIN, *SAID, nulls, turn=PLAIN)
    each = [event("message_delta", delta={}, usage={"output_tokens": n}) for n in (1, 2, 3)]
    yield _message("usage so far, again and again", BEGIN, *SAID, *each, END, turn=PLAIN)
    cached = started(input_tokens=4, cache_read_input_tokens=5, cache_creation_input_tokens=1, output_tokens=1)
    yield _message("cached tokens beside the others", cached, *SAID, END, turn=Turn("Hello", usage=(10, 5, 4, 0)))
    used_tool = over("tool_use", output_tokens=4)
    calls = Turn(calls=(GET_A, GET_B), usage=(10, 0, 4, 0), ended="tool_call")
    call = Turn(calls=(GET_A,), usage=(10, 0, 4, 0), ended="tool_call")
    pieces = [_use(0, "x"), _json(0, ""), _json(0, A[:5]), _json(0, A[5:]), ends(0)]
    more = [_use(1, "y"), _json(1, B[:5]), _json(1, B[5:]), ends(1)]
    yield _message("calls in pieces (Anthropic)", BEGIN, *pieces, *more, used_tool, turn=calls)
    yield _message("calls with one index", BEGIN, *pieces, _use(0, "y"), _json(0, B), ends(0), used_tool, turn=calls)
    yield _message(
        "calls without an index",
        BEGIN,
        _use(None, "x"),
        _json(None, A),
        _use(None, "y"),
        _json(None, B),
        used_tool,
        turn=calls,
    )
    yield _message(
        "calls without an id", BEGIN, _use(0, ""), _json(0, A), _use(1, ""), _json(1, B), used_tool, turn=calls
    )
    yield _message(
        "whole calls (Bedrock's proxies)",
        BEGIN,
        _use(0, "x", **GET_A[1]),
        _use(1, "y", **GET_B[1]),
        used_tool,
        turn=calls,
    )
    yield _message("a whole call and its pieces", BEGIN, _use(0, "x", **GET_A[1]), _json(0, A), used_tool, turn=call)
    yield _message("a block said twice", BEGIN, _use(0, "x"), _use(0, "x"), _json(0, A), used_tool, turn=call)
    split = [_use(0, "x"), *(_json(0, part) for part in CUTS)]
    yield _message(
        "a call cut in an escape",
        BEGIN,
        *split,
        used_tool,
        turn=Turn(calls=CUT_CALL, usage=(10, 0, 4, 0), ended="tool_call"),
    )
    off = Turn(calls=(("get", A[:7]),), usage=(10, 0, 4, 0), ended="length")
    yield _message(
        "a call cut off", BEGIN, _use(0, "x"), _json(0, A[:7]), over("max_tokens", output_tokens=4), turn=off
    )
    none = Turn(calls=(("get", {}),), usage=(10, 0, 4, 0), ended="tool_call")
    yield _message("a call without input", BEGIN, _use(0, "x"), ends(0), used_tool, turn=none)
    text_and_call = Turn("Hello", calls=(GET_A,), usage=(10, 0, 4, 0), ended="tool_call")
    yield _message("text and call", BEGIN, *SAID, _use(1, "x"), _json(1, A), ends(1), used_tool, turn=text_and_call)
    markup = [block(0, type="text", text=UPDATE[:17]), delta(0, "text_delta", text=UPDATE[17:])]
    yield _message("text in the block's beginning", BEGIN, *markup, END, turn=Turn(UPDATE, usage=(10, 0, 4, 0)))
    thought = [block(0, type="thinking", thinking="", signature=""), delta(0, "thinking_delta", thinking="Hm.")]
    signed = [
        delta(0, "signature_delta", signature="abc"),
        ends(0),
        block(1, type="redacted_thinking", data="x"),
        ends(1),
    ]
    spoken = [block(2, type="text", text=""), delta(2, "text_delta", text="Hello"), ends(2)]
    yield _message("thoughts", BEGIN, *thought, *signed, *spoken, END, turn=Turn("Hello", "Hm.", usage=(10, 0, 4, 0)))
    yield _message("pings and unknown events", BEGIN, event("ping"), *SAID, event("weather", sun=True), END, turn=PLAIN)
    yield _message("null events", "data: null\n\n", BEGIN, "data: []\n\n", *SAID, "data: {}\n\n", END, turn=PLAIN)
    bare = [each.partition("\n")[2] for each in (BEGIN, *SAID, over(output_tokens=4))]
    yield _message("no names of events", *bare[:-1], END, turn=PLAIN)
    untyped = [each.replace('"type": "content_block_delta", ', "") for each in SAID]
    yield _message("no types of events", BEGIN, *untyped, END, turn=PLAIN)
    yield _message("no beginning", *SAID, over(input_tokens=10, output_tokens=4), turn=PLAIN)
    yield _message("no end of a block", BEGIN, *SAID[:-1], END, turn=PLAIN)
    yield _message("no beginning of a block", BEGIN, *SAID[1:], END, turn=PLAIN)
    yield _message("no stop reason", BEGIN, *SAID, over(None, output_tokens=4), turn=PLAIN)
    yield _message(
        "[DONE] at last (proxies)",
        BEGIN,
        *SAID,
        event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 4}),
        DONE,
        turn=PLAIN,
    )
    yield _message("it breaks off", BEGIN, *SAID, turn=Turn("Hello", usage=(10, 0, 1, 0), ended="incomplete"))
    yield _message("CR LF", *(each.replace("\n", "\r\n") for each in (BEGIN, *SAID, END)), turn=PLAIN, is_bytes=True)
    yield _message(
        "a byte order mark and comments", b"\xef\xbb\xbf: hi\n\n", BEGIN, ":\n", *SAID, END, turn=PLAIN, is_bytes=True
    )
    for word, means in (
        ("stop_sequence", "stop"),
        ("refusal", "content_filter"),
        ("model_context_window_exceeded", "length"),
    ):
        yield _message(
            f"ended by {word}",
            BEGIN,
            *SAID,
            over(word, output_tokens=4),
            turn=Turn("Hello", usage=(10, 0, 4, 0), ended=means),
        )
    body = {"type": "message", "content": [{"type": "text", "text": "Hello"}], "stop_reason": "end_turn"}
    whole = json.dumps({**body, "usage": {"input_tokens": 10, "output_tokens": 4}})
    yield _message("a whole message, not streamed", whole, turn=PLAIN, kind="application/json")
    yield from _message_errors()


def _message_errors() -> Iterable[Quirk]:
    busy = {"type": "overloaded_error", "message": "Overloaded"}
    turn = Turn(error="Overloaded", category="server")
    yield _message("an error in mid-stream (Anthropic)", BEGIN, *SAID, event("error", error=busy), turn=turn)
    yield _message("an error first", event("error", error=busy), turn=turn)
    yield _message("an error without its name", f"data: {json.dumps({'type': 'error', 'error': busy})}\n\n", turn=turn)
    yield _message(
        "200 with an error", json.dumps({"type": "error", "error": busy}), turn=turn, kind="application/json"
    )
    limited = {"type": "rate_limit_error", "message": "slow down"}
    yield _message(
        "a limit in mid-stream",
        BEGIN,
        event("error", error=limited),
        turn=Turn(error="slow down", category="rate_limit"),
    )
    yield _message("an error behind the end", BEGIN, *SAID, END, event("error", error=busy), turn=PLAIN)
    yield _message("nothing", "", turn=Turn(error="without content", category="server"))


MESSAGES_QUIRKS = tuple(_message_rows())

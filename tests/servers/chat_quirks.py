"""Quirks of servers with OpenAI's chat completions: figures and calls.

A row is a quirk: its name with a server that was seen with it, the frames as they are sent, and the turn that they mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from servers.turns import CUT_CALL, CUTS, GET_A, GET_B, PLAIN, UPDATE, A, B, Quirk, Turn

DONE = "data: [DONE]\n\n"


def chunk(delta: Any = None, finish: str | None = None, **fields: Any) -> str:
    """A chunk with one choice."""
    choice = {"index": 0, "delta": {} if delta is None else delta, "finish_reason": finish}
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "tiny"}
    return f"data: {json.dumps({**head, 'choices': [choice], **fields})}\n\n"


def text(words: str, **fields: Any) -> str:
    """A chunk with a piece of the text."""
    return chunk({"content": words}, **fields)


def piece(index: Any = None, call_id: Any = None, name: Any = None, arguments: Any = None, **more: Any) -> str:
    """A chunk with a piece of a call; what is None is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    call = {key: value for key, value in (("index", index), ("id", call_id)) if value is not None}
    return chunk({"tool_calls": [{**call, "type": "function", "function": function, **more}]})


def used(prompt: int, completion: int, **more: Any) -> dict[str, Any]:
    """A usage."""
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion, **more}


def counted(usage: dict[str, Any]) -> str:
    """The last chunk of OpenAI, which has the usage and no choice."""
    return chunk(choices=[], usage=usage)


HELLO = (text("Hel"), text("lo"))
STOP, CALLED = chunk({}, "stop"), chunk({}, "tool_calls")
TWO = Turn(calls=(GET_A, GET_B), ended="tool_call")
ONE = Turn(calls=(GET_A,), ended="tool_call")
FIGURES = counted(used(10, 4))


def row(name: str, *frames: str | bytes, turn: Turn, **more: Any) -> Quirk:
    return Quirk(name, frames, turn, **more)


def _usage_rows() -> Iterable[Quirk]:
    yield row("usage at the end (OpenAI)", *HELLO, STOP, FIGURES, DONE, turn=PLAIN)
    yield row("usage nowhere (old proxies)", *HELLO, STOP, DONE, turn=Turn("Hello"))
    yield row(
        "usage null in each (OpenAI)",
        text("Hello", usage=None),
        chunk({}, "stop", usage=None),
        FIGURES,
        DONE,
        turn=PLAIN,
    )
    each = [text(part, usage=used(10, n)) for part, n in (("He", 1), ("ll", 2), ("o", 3))]
    yield row("usage so far in each (vLLM)", *each, chunk({}, "stop", usage=used(10, 4)), DONE, turn=PLAIN)
    yield row("usage so far, then once more", *each, chunk({}, "stop", usage=used(10, 4)), FIGURES, DONE, turn=PLAIN)
    yield row("usage with the end (Mistral)", *HELLO, chunk({}, "stop", usage=used(10, 4)), DONE, turn=PLAIN)
    yield row("usage zero at last", *HELLO, chunk({}, "stop", usage=used(10, 4)), counted(used(0, 0)), DONE, turn=PLAIN)
    yield row(
        "usage before the text", counted(used(10, 0)), *HELLO, chunk({}, "stop", usage=used(10, 4)), DONE, turn=PLAIN
    )
    groq = chunk({}, "stop", x_groq={"id": "r", "usage": used(10, 4)})
    yield row("usage below a name of the host (Groq)", *HELLO, groq, DONE, turn=PLAIN)
    choice = {"index": 0, "delta": {}, "finish_reason": "stop", "usage": used(10, 4)}
    yield row("usage in the choice (Moonshot)", *HELLO, chunk(choices=[choice]), DONE, turn=PLAIN)
    yield row(
        "other names of figures",
        *HELLO,
        STOP,
        chunk(choices=[], usage={"input_tokens": 10, "output_tokens": 4}),
        DONE,
        turn=PLAIN,
    )
    hits = used(10, 4, prompt_cache_hit_tokens=6, prompt_cache_miss_tokens=4)
    yield row("cache hits (DeepSeek)", *HELLO, STOP, counted(hits), DONE, turn=Turn("Hello", usage=(10, 6, 4, 0)))
    details = used(10, 9, prompt_tokens_details={"cached_tokens": 6}, completion_tokens_details={"reasoning_tokens": 5})
    yield row("details (OpenAI)", *HELLO, STOP, counted(details), DONE, turn=Turn("Hello", usage=(10, 6, 9, 5)))
    beside = {**used(10, 4), "total_tokens": 19, "completion_tokens_details": {"reasoning_tokens": 5}}
    yield row(
        "thoughts beside the answer (xAI)", *HELLO, STOP, counted(beside), DONE, turn=Turn("Hello", usage=(10, 0, 9, 5))
    )
    untold = {**used(10, 4), "total_tokens": 19}
    yield row(
        "thoughts in the total alone (Gemini)",
        *HELLO,
        STOP,
        counted(untold),
        DONE,
        turn=Turn("Hello", usage=(10, 0, 9, 5)),
    )
    open_end = Turn("Hello", usage=(10, 0, 4, 0), ended="incomplete")
    yield row("usage behind an answer without an end", *HELLO, counted(used(10, 4)), turn=open_end)
    update = Turn(UPDATE, usage=(10, 0, 4, 0), ended="incomplete")
    yield row("markup without an end (gateways)", text(UPDATE), counted(used(10, 4)), turn=update)
    paid = Turn("Hello", usage=(10, 0, 4, 0), cost=0.5)
    yield row("a cost behind the usage, as text", *HELLO, STOP, FIGURES, chunk(choices=[], cost="0.5"), turn=paid)
    priced = Turn("Hello", usage=(10, 0, 4, 0), cost=0.25)
    yield row("a cost (OpenRouter)", *HELLO, STOP, counted(used(10, 4, cost=0.25)), DONE, turn=priced)
    parts = {"input_tokens_cost": 0.05, "output_tokens_cost": 0.2, "total_cost": 0.25}
    yield row("a cost in parts (Perplexity)", *HELLO, STOP, counted(used(10, 4, cost=parts)), DONE, turn=priced)


def _call_rows() -> Iterable[Quirk]:
    begun = chunk({"role": "assistant", "content": None})
    pieces = [piece(0, "x", "get", ""), piece(0, arguments=A[:5]), piece(0, arguments=A[5:])]
    second = [piece(1, "y", "get", ""), piece(1, arguments=B[:9]), piece(1, arguments=B[9:])]
    yield row("calls in pieces (OpenAI)", begun, *pieces, *second, CALLED, DONE, turn=TWO)
    mixed = [pieces[0], second[0], pieces[1], second[1], second[2], pieces[2]]
    yield row("pieces of two calls in turn", begun, *mixed, CALLED, DONE, turn=TWO)
    yield row("one index, own ids (Ollama)", piece(0, "x", "get", A), piece(0, "y", "get", B), CALLED, DONE, turn=TWO)
    yield row("one index, no ids", piece(0, None, "get", A), piece(0, None, "get", B), CALLED, DONE, turn=TWO)
    yield row(
        "one index, empty ids (Gemini)", piece(0, "", "get", A), piece(0, "", "get", B), STOP, DONE, turn=_stop(TWO)
    )
    yield row("one index, in pieces", *pieces, *[_with_index(each, 0) for each in second], CALLED, DONE, turn=TWO)
    yield row("no index", piece(None, "x", "get", A), piece(None, "y", "get", B), CALLED, DONE, turn=TWO)
    yield row("no index, no id", piece(None, None, "get", A), piece(None, None, "get", B), CALLED, DONE, turn=TWO)
    bare = [piece(None, "x", "get", ""), piece(arguments=A[:3]), piece(arguments=A[3:])]
    yield row("pieces without index and id", *bare, piece(None, "y", "get", B), CALLED, DONE, turn=TWO)
    yield row("an index as text", piece("0", "x", "get", A), piece("1", "y", "get", B), CALLED, DONE, turn=TWO)
    yield row("one id for all", piece(0, "x", "get", A), piece(1, "x", "get", B), CALLED, DONE, turn=TWO)
    yield row("one id and one index for all", piece(0, "x", "get", A), piece(0, "x", "get", B), CALLED, DONE, turn=TWO)
    yield row("the id comes later", piece(0, None, "get", A[:4]), piece(0, "x", None, A[4:]), CALLED, DONE, turn=ONE)
    named = [piece(0, "x", "get", A[:4]), piece(0, "x", "get", A[4:9]), piece(0, "x", "get", A[9:])]
    yield row("the name in each piece", *named, CALLED, DONE, turn=ONE)
    unnamed = [piece(0, None, "get", A[:4]), piece(0, None, "get", A[4:9]), piece(0, None, "get", A[9:])]
    yield row("the name in each piece, no id", *unnamed, CALLED, DONE, turn=ONE)
    fresh = [piece(0, "x", "get", A[:4]), piece(0, "y", "get", A[4:9]), piece(0, "z", None, A[9:])]
    yield row("a new id in each piece", *fresh, CALLED, DONE, turn=ONE)
    yield row(
        "a name in pieces",
        piece(0, "x", "g", ""),
        piece(0, None, "et", ""),
        piece(0, None, None, A),
        CALLED,
        DONE,
        turn=ONE,
    )
    strayed = [piece(0, "x", "get", ""), piece(0, None, None, A), piece(0, "y", "get", ""), piece(1, None, None, B)]
    yield row("the head of a call with the index of another (DeepSeek)", *strayed, CALLED, DONE, turn=TWO)
    late = [piece(0, "x", None, A[:6]), piece(0, None, "get", A[6:])]
    yield row("the name comes later", *late, CALLED, DONE, turn=ONE)
    tail = [piece(0, "x", "get", A[:-1]), piece(0, None, "get", A[-1:])]
    yield row("the last piece with a name and no id", *tail, CALLED, DONE, turn=ONE)
    random = [piece(0, "a", "get", ""), *(piece(0, f"b{at}", None, part) for at, part in enumerate((A[:4], "", A[4:])))]
    yield row("an id of its own for each piece (LMDeploy, vLLM)", *random, CALLED, DONE, turn=ONE)
    yield row(
        "two chunks that end (OpenRouter)",
        *pieces,
        CALLED,
        CALLED,
        FIGURES,
        DONE,
        turn=replace(ONE, usage=(10, 0, 4, 0)),
    )
    yield row("the call once more at the end", *pieces, piece(0, "x", "get", A), CALLED, DONE, turn=ONE)
    yield row("nulls in pieces (Azure)", *[_with_nulls(each) for each in pieces], CALLED, DONE, turn=ONE)
    yield row("arguments as an object", piece(0, "x", "get", GET_A[1]), CALLED, DONE, turn=ONE)
    none = Turn(calls=(("list", {}), ("list", {})), ended="tool_call")
    yield row("no arguments", piece(0, "x", "list", ""), piece(1, "y", "list"), CALLED, DONE, turn=none)
    split = [piece(0, "x", "get", ""), *(piece(0, arguments=part) for part in CUTS)]
    yield row("arguments cut in an escape", *split, CALLED, DONE, turn=Turn(calls=CUT_CALL, ended="tool_call"))
    cut = Turn(calls=(("get", A[:7]),), ended="length")
    yield row("arguments cut off", piece(0, "x", "get", A[:7]), chunk({}, "length"), DONE, turn=cut)
    yield row(
        "arguments that break off", piece(0, "x", "get", A[:7]), turn=Turn(calls=(("get", A[:7]),), ended="incomplete")
    )
    both = {"content": "I look.", "tool_calls": [{"index": 0, "id": "x", "function": {"name": "get", "arguments": A}}]}
    yield row(
        "text and call in one chunk",
        chunk(both, "tool_calls"),
        DONE,
        turn=Turn("I look.", calls=(GET_A,), ended="tool_call"),
    )
    old = [chunk({"function_call": {"name": "get", "arguments": ""}}), chunk({"function_call": {"arguments": A}})]
    yield row("the call of before tools", *old, chunk({}, "function_call"), DONE, turn=ONE)
    yield row("calls end with stop (older llama.cpp)", *pieces, STOP, DONE, turn=_stop(ONE))


def _stop(turn: Turn) -> Turn:
    return Turn(turn.text, turn.thoughts, turn.calls, turn.usage, turn.cost, "stop")


def _with_index(frame: str, index: int) -> str:
    return frame.replace('"index": 1', f'"index": {index}')


def _with_nulls(frame: str) -> str:
    """The same chunk, with null for what a piece of a call lacks."""
    found = json.loads(frame[6:])
    for call in found["choices"][0]["delta"]["tool_calls"]:
        call.setdefault("id", None)
        call["function"].setdefault("name", None)
    return f"data: {json.dumps(found)}\n\n"


CHAT_QUIRKS = (*_usage_rows(), *_call_rows())

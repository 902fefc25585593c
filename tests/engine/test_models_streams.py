"""What providers stream, with the quirks of real ones, for OpenAI's chat completions and Anthropic's messages.

1. Each quirk is the turn that it means, from a real server through the adapter.
2. It is the same turn in other line ends, with comments between, and however its bytes are cut.
3. Any answer is read as it was meant, in whatever dialect it is written.
4. A run does what a quirky answer says, natively and as markup, and counts what it took once.
5. Hostile streams take bounded time.

spec: @provider_streams @native_tools @models_protocol
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from campaign import examples
from hypothesis import given
from hypothesis import strategies as st
from loopback import Answer, Handler, serving
from servers import chat_quirks
from servers.quirks import QUIRKS
from servers.turns import GET_A, GET_B, Quirk, Turn, raw

pytest.importorskip("httpx2")

import engine
from engine.keys.keys import Keys
from engine.keys.providers import PROVIDERS
from engine.models.protocol import CallPiece, Completion, Message, ModelError, Request, Thought
from engine.models.providers import endpoint
from engine.models.remote import RemoteModel
from engine.models.wire import Wire

PROVIDER = {"chat": "openai", "messages": "anthropic"}
KEYS = Keys(environment={"OPENAI_API_KEY": "sk-none", "ANTHROPIC_API_KEY": "sk-none"})
ANSWERS = [quirk for quirk in QUIRKS if not quirk.turn.error]


def named(quirks: list[Quirk]) -> Any:
    return pytest.mark.parametrize("quirk", quirks, ids=[f"{each.format}: {each.name}" for each in quirks])


def playing(quirk: Quirk) -> Answer:
    """A server's answer with this quirk, frame by frame."""

    def answer(handler: Handler) -> None:
        handler.send_response(200)
        if quirk.kind is not None:
            handler.send_header("Content-Type", quirk.kind)
        handler.send_header("Connection", "close")
        handler.end_headers()
        for frame in quirk.frames:
            handler.wfile.write(frame.encode() if isinstance(frame, str) else frame)
            handler.wfile.flush()

    return answer


def turn_of(completion: Completion) -> Turn:
    used = completion.usage
    return Turn(
        completion.text,
        completion.reasoning,
        tuple((call.name, call.arguments) for call in completion.calls),
        (used.prompt_tokens, used.cached_tokens, used.completion_tokens, used.reasoning_tokens),
        used.cost,
        completion.finish_reason or "",
    )


def read(format_: str, *parts: bytes) -> Turn:
    """The turn that these bytes mean, without a server; raises `ModelError`."""
    heard: list[str] = []
    wire = Wire("m", endpoint(PROVIDERS[PROVIDER[format_]], KEYS), heard.append)
    for part in parts:
        wire.feed(part)
        if wire.answer.is_over or wire.answer.is_stuck:
            break
    wire.finish()
    turn = turn_of(wire.answer.completion())
    if wire.answer.is_stuck:
        return turn
    thoughts = "".join(piece for piece in heard if isinstance(piece, Thought))
    said = "".join(piece for piece in heard if not isinstance(piece, Thought | CallPiece))
    assert (thoughts, said) == (turn.thoughts.removesuffix("\ufffd"), turn.text.removesuffix("\ufffd"))
    told: dict[int, str] = {}
    for piece in heard:
        if isinstance(piece, CallPiece):
            told[piece.call] = told.get(piece.call, "") + piece
    for number, call in enumerate(wire.answer.calls.all):
        assert told.get(number, "").strip() in (call.arguments.strip(), call.whole.strip() + call.arguments.strip())
    return turn


# -- 1. from a server


@named(list(QUIRKS))
def test_each_quirk_is_the_turn_that_it_means(monkeypatch: pytest.MonkeyPatch, quirk: Quirk) -> None:
    name = PROVIDER[quirk.format]
    with serving(playing(quirk)) as server:
        monkeypatch.setenv(f"{name.upper()}_API_KEY", "sk-none")
        monkeypatch.setenv(f"{name.upper()}_BASE_URL", server.url)
        ask = Request((Message("user", "Hi"),), None, None, None, 60.0, 0, "demo")
        model = RemoteModel(name, "tiny")
        if not quirk.turn.error:
            cost = 0.0 if quirk.turn.cost is None else quirk.turn.cost  # a loopback address costs nothing
            assert turn_of(model.complete(ask)) == replace(quirk.turn, cost=cost)
            return
        with pytest.raises(ModelError) as caught:
            model.complete(ask)
    assert quirk.turn.error in caught.value.message
    assert caught.value.category == quirk.turn.category


# -- 2. in other bytes


def cut(data: bytes, seed: int) -> list[bytes]:
    """`data` in pieces of random lengths."""
    chance, parts, at = random.Random(seed), [], 0
    while at < len(data):
        size = chance.choice((1, 1, 2, 3, 7, 40, 1000))
        parts.append(data[at : at + size])
        at += size
    return parts


@named(ANSWERS)
def test_a_turn_does_not_depend_on_where_its_bytes_are_cut(quirk: Quirk) -> None:
    data = raw(quirk)
    for parts in ([data[at : at + 1] for at in range(len(data))], cut(data, 1), cut(data, 2), [data]):
        assert read(quirk.format, *parts) == quirk.turn


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "CR LF": lambda data: data.replace(b"\n", b"\r\n"),
    "CR": lambda data: data.replace(b"\n", b"\r"),
    "a mark": lambda data: b"\xef\xbb\xbf" + data,
    "comments": lambda data: b": ping\n\n" + data.replace(b"\n\n", b"\n\n: ping\n\n"),
    "no blank": lambda data: data.replace(b"data: ", b"data:"),
    "no blank lines": lambda data: data.replace(b"\n\n", b"\n"),
    "nothing between": lambda data: data.replace(b"\n\n", b"\n\ndata: null\n\ndata:\n\n"),
}


@named([quirk for quirk in ANSWERS if not quirk.is_bytes and quirk.kind == "text/event-stream"])
def test_a_turn_does_not_depend_on_its_lines(quirk: Quirk) -> None:
    for name, change in CHANGES.items():
        assert read(quirk.format, change(raw(quirk))) == quirk.turn, name


# -- 3. in any dialect

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
CALLS = st.lists(
    st.tuples(
        st.sampled_from(("get", "set", "sh")), st.dictionaries(st.text(max_size=4), VALUES, min_size=1, max_size=3)
    ),
    max_size=4,
)


def no_twins(calls: list[tuple[str, Any]]) -> bool:
    """Whether no call follows its like: without ids two of them are one that is said twice."""
    return all(before != after for before, after in pairwise(calls))


def in_pieces(draw: st.DrawFn, text: str) -> list[str]:
    """`text`, cut at places that are drawn; none of the pieces is empty but that of an empty text."""
    at = sorted(draw(st.sets(st.integers(1, max(len(text) - 1, 1)), max_size=4))) if len(text) > 1 else []
    return [text[begin:end] for begin, end in zip([0, *at], [*at, len(text)], strict=True)]


@st.composite
def dialects(draw: st.DrawFn) -> tuple[str, Turn, list[str]]:
    """A wire format, a turn, and the frames of one way to write it."""
    format_ = draw(st.sampled_from(("chat", "messages")))
    text, thoughts = draw(st.text(max_size=30)), draw(st.text(max_size=10))
    calls = draw(CALLS.filter(no_twins))
    usage = (draw(st.integers(1, 10**6)), 0, draw(st.integers(1, 10**6)), 0)
    ended = "tool_call" if calls else "stop"
    turn = Turn(text, thoughts, tuple(calls), usage, None, ended)
    frames = (chat_frames if format_ == "chat" else messages_frames)(draw, turn)
    return format_, turn, frames


def chat_frames(draw: st.DrawFn, turn: Turn) -> list[str]:
    field = draw(st.sampled_from(("reasoning_content", "reasoning")))
    frames = [chat_quirks.chunk({field: part}) for part in in_pieces(draw, turn.thoughts)]
    frames += [chat_quirks.text(part) for part in in_pieces(draw, turn.text)]
    numbering = draw(st.sampled_from(("all", "one index", "no index", "no id", "neither")))
    for number, (name, arguments) in enumerate(turn.calls):
        frames += call_frames(draw, numbering, number, name, json.dumps(arguments))
    used = chat_quirks.used(turn.usage[0] or 0, turn.usage[2] or 0)
    if draw(st.booleans()):  # so far, with each chunk
        frames = [with_usage(frame, {**used, "completion_tokens": 1}) for frame in frames]
    frames.append(chat_quirks.chunk({}, "tool_calls" if turn.calls else "stop"))
    return [*frames, chat_quirks.counted(used), *([chat_quirks.DONE] if draw(st.booleans()) else [])]


def call_frames(draw: st.DrawFn, numbering: str, number: int, name: str, arguments: str) -> list[str]:
    index = None if numbering in ("no index", "neither") else 0 if numbering == "one index" else number
    call_id = None if numbering in ("no id", "neither") else f"call_{number}"
    first, *others = in_pieces(draw, arguments)
    if draw(st.booleans()):
        first, others = "", [first, *others]
    again, repeats = draw(st.sampled_from(((call_id, name), (None, None), (call_id, None)))), []
    repeats = [chat_quirks.piece(index, again[0], again[1], part) for part in others]
    return [chat_quirks.piece(index, call_id, name, first), *repeats]


def with_usage(frame: str, usage: dict[str, Any]) -> str:
    return f"data: {json.dumps({**json.loads(frame[6:]), 'usage': usage})}\n\n"


def messages_frames(draw: st.DrawFn, turn: Turn) -> list[str]:
    from servers.messages_quirks import block, delta, ends, over, started

    prompt, _, completion, _ = turn.usage
    early = draw(st.booleans())
    frames = [started(input_tokens=prompt, output_tokens=1) if early else started()]
    frames.append(block(0, type="thinking", thinking=""))
    frames += [delta(0, "thinking_delta", thinking=part) for part in in_pieces(draw, turn.thoughts)]
    frames.append(block(1, type="text", text=""))
    frames += [delta(1, "text_delta", text=part) for part in in_pieces(draw, turn.text)]
    numbered, has_ids = draw(st.booleans()), draw(st.booleans())
    for number, (name, arguments) in enumerate(turn.calls, 2):
        index = number if numbered else draw(st.sampled_from((None, 2)))
        whole = draw(st.booleans())
        call_id = f"use_{number}" if has_ids else ""
        frames.append(block(index, type="tool_use", id=call_id, name=name, input=arguments if whole else {}))
        pieces = [] if whole else in_pieces(draw, json.dumps(arguments))
        frames += [delta(index, "input_json_delta", partial_json=part) for part in pieces]
    frames += [ends(1)] if draw(st.booleans()) else []
    used = {"output_tokens": completion, **({} if early else {"input_tokens": prompt})}
    return [*frames, over("tool_use" if turn.calls else "end_turn", **used)]


@examples(300)
@given(dialects(), st.integers(0, 1000))
def test_an_answer_is_read_as_it_was_meant_in_any_dialect(written: tuple[str, Turn, list[str]], seed: int) -> None:
    format_, turn, frames = written
    assert read(format_, *cut("".join(frames).encode(), seed)) == turn


# -- 4. through a run

TWO = [quirk for quirk in QUIRKS if quirk.turn.calls == (GET_A, GET_B)]
MARKUP = [quirk for quirk in QUIRKS if quirk.turn.text.startswith("<update")]
ERRORS = [quirk for quirk in QUIRKS if quirk.turn.category in ("auth", "not_found")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(name * 3)
    return tmp_path


def run(db: engine.Database, monkeypatch: pytest.MonkeyPatch, quirk: Quirk, root: Path, *then: Answer) -> Any:
    """The result of a prompt that a server answers with this quirk, and then with other answers; an alias calls natively."""
    name = PROVIDER[quirk.format]
    db.insert("models", alias="m", actual=f"{name}/tiny", tool_calling="native" if then else "xml", created_at=0)
    with serving(playing(quirk), *then) as server:
        monkeypatch.setenv(f"{name.upper()}_API_KEY", "sk-none")
        monkeypatch.setenv(f"{name.upper()}_BASE_URL", server.url)
        return db.run("Look", model="m", root=root)


@named(TWO)
def test_a_run_performs_both_calls(
    db: engine.Database, monkeypatch: pytest.MonkeyPatch, folder: Path, quirk: Quirk
) -> None:
    last = next(each for each in MARKUP if each.format == quirk.format)
    result = run(db, monkeypatch, quirk, folder, playing(last))
    assert (result.status, result.answer, result.turns) == (200, "Done é 😀.", 2)
    gets = db.rows("select path, state from commands where action = 'get' order by id")
    assert [(row["path"], row["state"]) for row in gets] == [("a.txt", "resolved"), ("b.txt", "resolved")]


@named(MARKUP)
def test_a_run_reads_markup_that_came_in_pieces(
    db: engine.Database, monkeypatch: pytest.MonkeyPatch, folder: Path, quirk: Quirk
) -> None:
    result = run(db, monkeypatch, quirk, folder)
    assert (result.status, result.answer, result.turns) == (200, "Done é 😀.", 1)
    assert (result.usage["prompt_tokens"], result.usage["completion_tokens"]) == (10, 4)


@named(ERRORS)
def test_a_run_ends_with_what_the_provider_said(
    db: engine.Database, monkeypatch: pytest.MonkeyPatch, folder: Path, quirk: Quirk
) -> None:
    result = run(db, monkeypatch, quirk, folder)
    assert (result.status, quirk.turn.error in str(result.reason)) == (500, True)


def test_a_run_counts_a_usage_that_comes_with_each_chunk_once(
    db: engine.Database, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    so_far = [
        chat_quirks.text(part, usage=chat_quirks.used(1000, n))
        for n, part in enumerate(('<update status="200">', "Done."), 1)
    ]
    frames = (
        *so_far,
        chat_quirks.text("</update>", finish="stop", usage=chat_quirks.used(1000, 300)),
        chat_quirks.DONE,
    )
    result = run(db, monkeypatch, Quirk("so far", frames, Turn()), folder)
    assert (result.usage["prompt_tokens"], result.usage["completion_tokens"]) == (1000, 300)
    assert db.row("select sum(prompt_tokens) as p, sum(completion_tokens) as c from cost_by_day") == {
        "p": 1000,
        "c": 300,
    }


# -- 5. hostile streams


def endless(piece: bytes, most: int = 2_000_000) -> Iterator[bytes]:
    """A piece, again and again, in parts as they come from a socket."""
    part = piece * max(1, 60_000 // len(piece))
    yield from (part for _ in range(most // len(part)))


@pytest.mark.parametrize(
    "piece",
    [
        b": ping\n\n",
        b"data: null\n\n",
        b"data:\n",
        b"data: {\n",
        b"{",
        b"{\n",
        b"\r",
        b"\xef\xbb\xbf",
        b"event: x\n",
        chat_quirks.piece(0, None, "get", '{"a": "').encode(),
        chat_quirks.piece(0, None, None, "x").encode(),
        chat_quirks.piece(0, "x", "get", " ").encode(),
        chat_quirks.piece(0, "x", "get", "{}").encode(),
        chat_quirks.piece(None, None, "get", '{"a": "b"}').encode(),
        chat_quirks.text("x").encode(),
    ],
)
def test_a_hostile_stream_is_read_in_time_that_grows_with_its_length(piece: bytes) -> None:
    """Two megabytes of each; a quadratic reader would take minutes."""
    with pytest.raises(ModelError, match=r"without content|cannot be read") if is_nothing(piece) else nullcontext():
        read("chat", *endless(piece))


def is_nothing(piece: bytes) -> bool:
    return b"choices" not in piece


@pytest.mark.parametrize("format_", ["chat", "messages"])
def test_more_calls_than_any_model_makes_are_given_up(format_: str) -> None:
    from servers.messages_quirks import block

    each = (chat_quirks.piece(n, f"c{n}", "get", "{}") for n in range(2000))
    blocks = (block(n, type="tool_use", id=f"c{n}", name="get", input={}) for n in range(2000))
    with pytest.raises(ModelError, match="more than 1,000 calls"):
        read(format_, "".join(each if format_ == "chat" else blocks).encode())

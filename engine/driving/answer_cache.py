"""Gives an answer of before to nearly the same prompt, where that is asked for. The database decides what is near enough."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engine.discovery.finding import QUERY_CHARACTERS
from engine.errors import EngineError
from engine.models.protocol import Completion, ToolSpec, Usage

if TYPE_CHECKING:
    from engine.handle import Handle

_FREE = Usage(prompt_tokens=0, cached_tokens=0, completion_tokens=0, reasoning_tokens=0, cost=0.0)


def question_of(
    db: Handle, turn_id: int, packet: str | None, tools: Sequence[ToolSpec], effort: str | None, options: str | None
) -> dict[str, Any] | None:
    """What the cache is asked for a turn, a row of `_look_for_answer`; None where it has nothing to say to that turn.

    `packet` is what stands beside the prompt, None where that is not known, `effort` how hard the model is to think, and
    `options` its settings as JSON. May load an embedder: call it outside of a transaction.
    """
    db.install("answer_cache")
    turn = db.row("select asked_of, prompt from _cacheable_turns where turn_id = ?", (turn_id,))
    if turn is None or packet is None:
        return None
    told = [(tool.name, tool.description, tool.schema) for tool in tools]
    asked = json.dumps([turn["asked_of"], packet, told, *([effort] if effort else []), *([options] if options else [])])
    key = hashlib.sha256(asked.encode("utf-8", "surrogatepass")).digest()
    return {"turn_id": turn_id, "key": key, **_meaning(turn["prompt"])}


def given_answer(db: Handle, question: dict[str, Any]) -> Completion | None:
    """The answer to a question from the cache, at no cost; None: the model is to be asked, and its answer is kept.

    Needs a transaction that stores the answer too.
    """
    db.insert("_look_for_answer", **question)
    found = db.row("select * from _given_answers where turn_id = ?", (question["turn_id"],))
    if found is None:
        return None
    return Completion(
        found["response"], found["reasoning"] or "", _FREE, found["finish_reason"], native=bool(found["native"])
    )


def _meaning(prompt: str) -> dict[str, Any]:
    """The vector of a prompt; none of a long one, and none where no embedder is installed or it fails."""
    from engine.discovery.embedders import embedder, vectors
    from engine.functions.discovery.vectors import packed

    chosen = embedder() if len(prompt) <= QUERY_CHARACTERS else None
    if chosen is None:
        return {"embedder": None, "vector": None}
    try:
        return {"embedder": chosen.name, "vector": packed(vectors(chosen, [prompt])[0])}
    except EngineError:
        return {"embedder": None, "vector": None}

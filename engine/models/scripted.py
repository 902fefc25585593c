"""`scripted:FILE`: answers read from a file of JSON lines, one for each stored response of a run.

A line is a string, the text of the answer, or an object::

    {"text": "…", "reasoning": "…", "usage": {"prompt_tokens": 10, "cost": 0.01}, "delay_s": 0.5}
    {"text": "<set path=", "finish_reason": "length"}
    {"text": "…", "calls": [{"name": "get", "arguments": {"path": "a"}}]}
    {"error": {"status": 429, "message": "slow down"}}

An error line is a response like any other. It has the status and category of a provider's error, but it is final: a retry
would ask for the same line again.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from engine.functions.counts import counted
from engine.models.protocol import (
    FREE,
    Completion,
    ModelError,
    Price,
    Request,
    Thought,
    ToolCall,
    Usage,
    category_of_status,
)
from engine.models.timeouts import watched

_KEYS = {"text", "reasoning", "usage", "error", "delay_s", "calls", "finish_reason"}
_LONGEST_DELAY_S = 86_400
_USAGE = {field.name for field in fields(Usage)}
_CATEGORIES = {499: "aborted", 504: "timeout"}


class ScriptedModel:
    """Answers from the JSON lines of `path`. Each call reads the file, so a test may append to it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def complete(
        self,
        request: Request,
        on_delta: Callable[[str], None] | None = None,
        cancelled: threading.Event | None = None,
    ) -> Completion:
        """The answer at `request.position`.

        Raises the `ModelError` of an error line, and `ModelError` (script, 400) for a broken line or where none is left.
        """
        answer = self._answer(request.position)

        def work(emit: Callable[[str], None], stop: threading.Event) -> Completion:
            stop.wait(answer.get("delay_s", 0))
            return _completion(answer, emit)

        return watched(
            work,
            who=f"scripted:{self.path.name}",
            timeout_s=request.timeout_s,
            on_delta=on_delta,
            cancelled=cancelled,
        )

    def price_at(self, prompt_tokens: int) -> Price:  # noqa: ARG002 - the same for any
        """Nothing is charged for it."""
        return FREE

    def _answer(self, position: int) -> Mapping[str, Any]:
        try:
            text = self.path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise ModelError("script", f"script {self.path} cannot be read: {error}") from error
        lines = [(n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip()]
        if position >= len(lines):
            raise past_the_end(f"script {self.path}", len(lines), position)
        number, line = lines[position]
        try:
            return _checked(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise ModelError("script", f"script {self.path}, line {number}: {error}") from error


def past_the_end(what: str, responses: int, position: int) -> ModelError:
    """The error of a recording that holds fewer responses than a run asks for."""
    return ModelError(
        "script", f"{what} has {counted(responses, 'response')}, but the run asked for number {position + 1}"
    )


def _completion(answer: Mapping[str, Any], emit: Callable[[str], None]) -> Completion:
    if error := answer.get("error"):
        status, message = error["status"], error.get("message", "scripted error")
        category = _CATEGORIES.get(status) or category_of_status(status, message)
        raise ModelError(category, message, status=status, final=True)
    text = answer.get("text", "")
    if thoughts := answer.get("reasoning"):
        emit(Thought(thoughts))
    emit(text)
    calls = tuple(ToolCall(call["name"], call["arguments"]) for call in answer.get("calls", ()))
    usage = Usage(**answer.get("usage", {}))
    ended = answer.get("finish_reason", "stop")
    return Completion(text, answer.get("reasoning", ""), usage, ended, calls, native=bool(calls))


def _checked(answer: Any) -> Mapping[str, Any]:
    """`answer` as an object with known keys and types; raises ValueError for anything else."""
    if isinstance(answer, str):
        return {"text": answer}
    if not isinstance(answer, dict):
        raise ValueError("each line must be a JSON string or an object")
    if unknown := sorted(answer.keys() - _KEYS):
        raise ValueError(f"unknown key {unknown[0]!r}; the keys are {', '.join(sorted(_KEYS))}")
    _check_types(answer)
    return answer


def _check_types(answer: Mapping[str, Any]) -> None:
    for key in ("text", "reasoning", "finish_reason"):
        if not isinstance(answer.get(key, ""), str):
            raise ValueError(f"{key!r} must be a string")
    delay = answer.get("delay_s", 0)
    if not _is_number(delay) or delay > _LONGEST_DELAY_S:
        raise ValueError(f"'delay_s' must be a number of seconds, at most {_LONGEST_DELAY_S}")
    usage = answer.get("usage", {})
    if not isinstance(usage, dict) or not usage.keys() <= _USAGE or not all(map(_is_number, usage.values())):
        raise ValueError(f"'usage' must be an object of numbers named {', '.join(sorted(_USAGE))}")
    calls = answer.get("calls", [])
    if not isinstance(calls, list) or not all(map(_is_call, calls)):
        raise ValueError("'calls' must be a list of objects with a 'name' and 'arguments'")
    error = answer.get("error", {"status": 500})
    if not isinstance(error, dict) or not isinstance(error.get("status"), int):
        raise ValueError("'error' must be an object with a number 'status' and a 'message'")
    if not isinstance(error.get("message", ""), str):
        raise ValueError("'message' of 'error' must be a string")


def _is_call(value: Any) -> bool:
    if not isinstance(value, dict) or value.keys() != {"name", "arguments"}:
        return False
    return isinstance(value["name"], str) and isinstance(value["arguments"], dict | str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0

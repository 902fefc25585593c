"""What the tests of workflows share: workflows of steps that are scripted, and a model that knows which step asks."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from driving import script

from engine.models.protocol import Completion, Request, Usage

_STEP = re.compile(r"This is the step (\S+) of the workflow")


def said(text: str) -> str:
    """An answer that ends a step with `text` as its result."""
    return f'<update status="200">{text}</update>'


def workflow(folder: Path, steps: Mapping[str, Mapping[str, Any]], **fields: Any) -> Path:
    """A file with these steps; `answers` of a step make its model, and it has an instruction."""
    told = []
    for name, given in steps.items():
        step = {"id": name, "instruction": f"Do {name}.", **given}
        if answers := step.pop("answers", None):
            step["model"] = script(folder, *answers)
        told.append(step)
    path = folder / "work.jsonc"
    path.write_text(json.dumps({"name": "work", "description": "Do it", **fields, "steps": told}), encoding="utf-8")
    return path


class Steps:
    """A model that answers each step from a list of its own, and keeps what it was asked.

    Where an answer is a function, it is called, and what it returns is the answer. As a judge it lets all pass.
    """

    def __init__(self, **answers: list[str | Callable[[], str]]) -> None:
        self.asked: list[tuple[str, str]] = []
        self._answers = {name.replace("_", "-"): iter(each) for name, each in answers.items()}
        self._lock = threading.Lock()

    def complete(self, request: Request, *_: object) -> Completion:
        """The next answer of the step that asks."""
        text = request.messages[-1].content
        if "<criteria" in text and not _STEP.search(text):
            return Completion('<update status="200">PASS All is met.</update>', usage=Usage(prompt_tokens=10, cost=0.5))
        (step,) = set(_STEP.findall(text))
        with self._lock:
            self.asked.append((step, text))
            answer = next(self._answers[step])
        return Completion(answer if isinstance(answer, str) else answer(), usage=Usage(prompt_tokens=10, cost=0.5))

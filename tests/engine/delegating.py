"""A model that plays each run of a tree by its name, for tests of delegation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from driving import DONE, GO_ON

from engine.models.protocol import Completion, Request, Usage

__all__ = ["DONE", "GO_ON", "Cast", "ended", "gives"]

Answer = str | Callable[[Request], str]


class Cast:
    """Answers as `parts` say: by the name of the run, the answers in their order. Any other run is done at once.

    `asked` has the run and the position of each request. A callable is called with the request.
    """

    name = "cast"

    def __init__(self, parts: Mapping[str, Sequence[Answer]], cost: float | None = 0.0) -> None:
        self.parts = parts
        self.asked: list[tuple[str, int]] = []
        self.requests: dict[tuple[str, int], Request] = {}
        self._cost = cost
        self._lock = threading.Lock()

    def complete(self, request: Request, *_: Any) -> Completion:
        """The next answer of the run that asks."""
        with self._lock:
            self.asked.append((request.run, request.position))
            self.requests[request.run, request.position] = request
        said = [*self.parts.get(request.run, ()), f"{request.run} is done.{ended()}"]
        answer = said[min(request.position, len(said) - 1)]
        return Completion(answer(request) if callable(answer) else answer, "", Usage(10, 0, 5, 0, self._cost))

    def seen(self, run: str, position: int = 0) -> str:
        """What a run was sent."""
        return "\n".join(str(message.content) for message in self.requests[run, position].messages)


def ended(answer: str = "", status: int = 200) -> str:
    """An update that ends a run."""
    return f'<update status="{status}">{answer}</update>'


def gives(*tasks: str, tool: str = "subtask", **attributes: str) -> str:
    """An answer that gives tasks away and goes on."""
    given = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return "".join(f"<{tool}{given}>{task}</{tool}>" for task in tasks) + GO_ON

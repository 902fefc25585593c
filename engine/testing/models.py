"""Models that a test writes: a function, or answers in their order.

spec: @testing_models
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from engine.models.protocol import FREE, Completion, Price, Request, ToolCall
from engine.models.scripted import past_the_end
from engine.packets.differences import sections

Answer = str | ToolCall | Completion | Iterable[str | ToolCall]
"""What a function answers with: a text, calls of tools, both, or a whole `Completion`."""


class Packet:
    """What a model is sent for a turn. `run` is the name of the run, `turn` counts its answers from 1."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.run = request.run
        self.turn = request.position + 1

    @property
    def text(self) -> str:
        """All messages."""
        return "\n".join(message.content for message in self.request.messages)

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that it may call natively."""
        return tuple(tool.name for tool in self.request.tools)

    @property
    def prompt(self) -> str:
        """The prompt, without its tags."""
        return self.section("prompt")

    def section(self, name: str) -> str:
        """What stands between the tags of a section, such as "log" or "visible"; empty where there is none."""
        text = self._sections.get(name, "").strip("\n")
        first, _, rest = text.partition("\n")
        return rest.rpartition(f"\n</{name}>")[0] if first.startswith(f"<{name}") else ""

    @cached_property
    def _sections(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for message in self.request.messages:
            if message.role != "system":
                found |= sections(message.role, message.content)
        return found


class FunctionModel:
    """A model that is a function of the `Packet`: `FunctionModel(lambda packet: "Hello")`.

    The function returns a text (commands as tags, or plain words, which end the prompt), a `call`, a list of these, or a
    `Completion`. What it raises ends the test. Runs remember it as `object:NAME`; give two models of one test two names.
    """

    def __init__(self, function: Callable[[Packet], Answer], *, name: str = "function") -> None:
        if not callable(function):
            raise TypeError(f"FunctionModel needs a function, not {function!r:.80}")
        self.function = function
        self.name = name
        self.packets: list[Packet] = []
        """What it was sent so far."""

    def complete(
        self,
        request: Request,
        on_delta: Callable[[str], None] | None = None,
        cancelled: threading.Event | None = None,  # noqa: ARG002 - a function cannot be stopped
    ) -> Completion:
        """What the function answers to the packet of `request`."""
        packet = Packet(request)
        self.packets.append(packet)
        completion = _completion(self.function(packet), self.name)
        if on_delta is not None and completion.text:
            on_delta(completion.text)
        return completion

    def price_at(self, prompt_tokens: int) -> Price:  # noqa: ARG002 - the same for any
        """Nothing is charged for it."""
        return FREE


class ScriptedModel(FunctionModel):
    """A model that gives `answers` in their order, one for each turn of a run; they are as those of a `FunctionModel`."""

    def __init__(self, *answers: Answer, name: str = "scripted") -> None:
        super().__init__(self._next, name=name)
        self.answers = answers

    def _next(self, packet: Packet) -> Answer:
        if packet.turn > len(self.answers):
            raise past_the_end(f"model {self.name}", len(self.answers), packet.turn - 1)
        return self.answers[packet.turn - 1]


def call(tool: str, /, **arguments: Any) -> ToolCall:
    """A call of a tool as a model makes it: `call("refund", order=7)`, `call("get", path="notes.md")`."""
    return ToolCall(tool, arguments)


def _completion(answer: object, name: str) -> Completion:
    if isinstance(answer, Completion):
        return answer
    told = [answer] if isinstance(answer, str | ToolCall) else [*answer] if isinstance(answer, Iterable) else [None]
    if all(isinstance(part, str | ToolCall) for part in told):
        calls = tuple(part for part in told if isinstance(part, ToolCall))
        text = "\n".join(part for part in told if isinstance(part, str))
        return Completion(text, finish_reason="stop", calls=calls, native=bool(calls))
    raise TypeError(f"model {name} answered {answer!r:.80}; return a text, a call(…), a list of these, or a Completion")

"""Recordings: what models were asked in a test and what they answered, kept in a file and replayed strictly.

spec: @recordings
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.display.escapes import drawn
from engine.functions.counts import counted
from engine.functions.edits.comparison import edit_diff
from engine.keys.keys import Keys
from engine.models import resolve_model
from engine.models.app_models import AppModels
from engine.models.protocol import Completion, ModelError, Request, Thought, ToolCall, Usage
from engine.models.replay import without_times
from engine.packets.differences import sections
from engine.system.secrets import scrubbed, without_learnt

from .recording_files import Exchange, Sections, read, written

if TYPE_CHECKING:
    from os import PathLike

    from engine.api.database import Database
    from engine.models.protocol import Model

_FOLDER = "⟦folder⟧"
"""Stands in a recording for the folder of a test, which is another one each time."""
_TOKENS = re.compile(r'(?<="tokens":)\d+|(?<=[(\s])\d+(?= tokens\b)', re.ASCII)
_MOST_LINES = 120


class Recording:
    """The models of a test, whose answers come from the file at `path`; with `update` they are asked and it is written anew.

    A packet, a model or a number of answers that is not as recorded fails the run, and `finish` raises an `AssertionError`
    with what differs. `folders` are folders of the test, whose names are not compared.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        update: bool = False,
        folders: Iterable[str | PathLike[str]] = (),
        how_to_update: str = "record it anew with update=True",
    ) -> None:
        self.path = Path(path)
        self.update = update
        self.how_to_update = how_to_update
        self.difference: str | None = None
        """What was first found to differ from the recording."""
        names = {name for each in folders for name in (os.fspath(each), os.path.realpath(each))}
        self._folders = sorted(names, key=len, reverse=True)
        self._recorded: dict[tuple[str, int], Exchange] | None = None
        self._asked: dict[tuple[str, int], Exchange] = {}
        # by the name of a run that of the recorded one
        self._runs: dict[str, str] = {}
        self._lock = threading.Lock()

    def model(self, model: str | Model) -> Model:
        """The model `model`, a full name such as "openai/gpt-5" or an object, as `model=` of a run takes it.

        It is asked when the recording is made; from then on neither a key nor the network is needed.
        """
        if isinstance(model, str):
            return _RecordedModel(self, model, lambda: resolve_model(model, Keys(files=True)))
        return _RecordedModel(self, str(getattr(model, "name", type(model).__name__)), lambda: model)

    def use(self, db: Database) -> None:
        """Let all models that runs of `db` name be those of this recording, for an app that names them itself."""
        db.app_models = _RecordedModels(self, db)

    def finish(self) -> None:
        """Write the recording, or raise an `AssertionError` where a run differed from it, or left recorded answers."""
        if self.update:
            self._write()
            return
        self._expect_same()
        left = [key for key in self._exchanges() if key not in self._asked]
        if left and self.path.is_file():
            run, number = min(left)
            raise AssertionError(
                drawn(
                    f"{self.path}: answer {number} of run {run} was not asked for ({len(left)} of "
                    f"{len(self._exchanges())} are left); if that is meant, {self.how_to_update}"
                )
            )

    def _expect_same(self) -> None:
        if self.difference is not None:
            raise AssertionError(self.difference)

    def complete(
        self,
        name: str,
        model: Callable[[], Model],
        request: Request,
        on_delta: Callable[[str], None],
        cancelled: threading.Event,
    ) -> Completion:
        """The recorded answer to `request`, or that of the model, which is recorded."""
        exchange = Exchange(request.run, request.position + 1, name, self._packet(request))
        if self.update:
            return self._recorded_now(exchange, model, request, on_delta, cancelled)
        with self._lock:
            key = (self._recorded_run(exchange.run), exchange.number)
            self._asked[key] = exchange
            recorded = self._exchanges().get(key)
            if difference := self._difference(exchange, recorded):
                self.difference = self.difference or f"{difference}\nIf that is meant, {self.how_to_update}"
                raise ModelError("script", f"{self.path.name}: {difference.splitlines()[0]}", final=True)
        assert recorded is not None, "one that is not recorded is a difference"
        return self._answer(recorded, on_delta)

    def _recorded_now(
        self,
        exchange: Exchange,
        model: Callable[[], Model],
        request: Request,
        on_delta: Callable[[str], None],
        cancelled: threading.Event,
    ) -> Completion:
        try:
            completion = model().complete(request, on_delta, cancelled)
        except ModelError as error:
            if error.category != "aborted":
                exchange.error = {"category": error.category, "status": error.status, "message": error.message}
            raise
        else:
            exchange.answer = self._told(completion)
        finally:
            if exchange.answer or exchange.error:
                with self._lock:  # an attempt that follows takes the place of one that failed
                    self._asked[exchange.run, exchange.number] = exchange
        return completion

    def _exchanges(self) -> dict[tuple[str, int], Exchange]:
        if self._recorded is None:
            found = read(self.path) if self.path.is_file() else []
            self._recorded = {(each.run, each.number): each for each in found}
        return self._recorded

    def _recorded_run(self, run: str) -> str:
        """The recorded run that a run is: the one of its name, else, as many are named after their prompts, the next one."""
        if run not in self._runs:
            recorded = [name for name, number in self._exchanges() if number == 1 and name not in self._runs.values()]
            self._runs[run] = run if run in recorded or not recorded else recorded[0]
        return self._runs[run]

    def _write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        runs = [*dict.fromkeys(run for run, _ in self._asked)]
        text = written(sorted(self._asked.values(), key=lambda each: (runs.index(each.run), each.number)))
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        beside.write_text(text, encoding="utf-8")
        beside.replace(self.path)

    # what is compared

    def _packet(self, request: Request) -> dict[str, Sections]:
        """What of a packet is recorded and compared: without the budget, whose figures follow from the rest."""
        texts = [message.content for message in request.messages]
        is_same = not any(name in text for text in texts for name in self._folders)
        packet = {
            message.role: {
                # how many tokens an output has follows from the name of the folder in it
                name: self._comparable(text if is_same else _TOKENS.sub("·", text))
                for name, text in sections(message.role, message.content).items()
                if (message.role, name) != ("user", "budget")
            }
            for message in request.messages
        }
        if request.tools:
            packet["tools"] = {
                tool.name: self._comparable(f"{tool.description}\n{tool.schema}") for tool in request.tools
            }
        if request.output:
            packet["output"] = {"schema": self._comparable(request.output)}
        if request.pictures:
            packet["pictures"] = {
                str(number): f"{each.media_type} {hashlib.sha256(each.body).hexdigest()}"
                for number, each in enumerate(request.pictures, 1)
            }
        return packet

    def _comparable(self, text: str) -> str:
        for name in self._folders:
            text = text.replace(name, _FOLDER)
        return scrubbed(without_times(text))

    def _difference(self, asked: Exchange, recorded: Exchange | None) -> str | None:
        """How a packet differs from the recorded one: a line, then the sections that differ, each with its diff."""
        where = f"answer {asked.number} of run {asked.run}"
        if recorded is None:
            return self._unrecorded(asked, where)
        if asked.model != recorded.model:
            return drawn(f"{where} is asked of model {asked.model}, recorded: {recorded.model}")
        diffs = [*_differing(recorded.packet, asked.packet)]
        if not diffs:
            return None
        names = ", ".join(f"{role} <{name}>" if role == "user" else f"{role} {name!r}" for role, name, _ in diffs)
        lines = [line for *_, diff in diffs for line in ["", *diff.rstrip("\n").split("\n")]]
        if len(lines) > _MOST_LINES:
            lines = [*lines[:_MOST_LINES], f"… {len(lines) - _MOST_LINES} more lines"]
        return drawn("\n".join([f"{where}: the packet differs from {self.path} in {names}", *lines, ""]))

    def _unrecorded(self, asked: Exchange, where: str) -> str:
        if not self.path.is_file():
            return f"{where} is not recorded: there is no {self.path}"
        runs = {self._runs[asked.run], asked.run}
        if numbers := [number for run, number in self._exchanges() if run in runs]:
            return drawn(f"{where} is not recorded: {self.path} has {counted(len(numbers), 'answer')} of that run")
        names = dict.fromkeys(run for run, _ in self._exchanges())
        return drawn(f"{where} is not recorded: {self.path} has {counted(len(names), 'run')}: {', '.join(names)}")

    # answers

    def _told(self, completion: Completion) -> dict[str, Any]:
        usage = {name: value for name, value in vars(completion.usage).items() if value is not None}
        told = {
            "text": self._kept(completion.text),
            "reasoning": self._kept(completion.reasoning),
            "calls": [
                {"name": each.name, "arguments": _mapped(each.arguments, self._kept)} for each in completion.calls
            ],
            "finish_reason": completion.finish_reason,
            "native": completion.native,
            "usage": usage,
        }
        return {name: value for name, value in told.items() if name == "text" or value}

    def _kept(self, text: str) -> str:
        for name in self._folders:
            text = text.replace(name, _FOLDER)
        return without_learnt(text)

    def _answer(self, recorded: Exchange, on_delta: Callable[[str], None]) -> Completion:
        if recorded.error is not None:
            raise ModelError(
                recorded.error["category"], recorded.error["message"], status=recorded.error["status"], final=True
            )
        assert recorded.answer is not None, "an exchange has one of both"
        told = recorded.answer
        text, reasoning = self._given(told.get("text", "")), self._given(told.get("reasoning", ""))
        calls = tuple(ToolCall(each["name"], _mapped(each["arguments"], self._given)) for each in told.get("calls", ()))
        if reasoning:
            on_delta(Thought(reasoning))
        if text:
            on_delta(text)
        usage = Usage(**told.get("usage", {}))
        return Completion(text, reasoning, usage, told.get("finish_reason"), calls, native=bool(told.get("native")))

    def _given(self, text: str) -> str:
        return text.replace(_FOLDER, self._folders[0]) if self._folders else text


def _differing(recorded: dict[str, Sections], asked: dict[str, Sections]) -> Iterable[tuple[str, str, str]]:
    """The sections that differ: role, name, diff."""
    for role in dict.fromkeys([*recorded, *asked]):
        before, now = recorded.get(role, {}), asked.get(role, {})
        for name in dict.fromkeys([*before, *now]):
            if diff := edit_diff(f"{role}/{name}", before.get(name), now.get(name)):
                yield role, name, diff


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """A value of JSON with each text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [_mapped(each, change) for each in value]
    if isinstance(value, dict):
        return {key: _mapped(each, change) for key, each in value.items()}
    return value


class _RecordedModel:
    """A model whose answers are recorded."""

    def __init__(self, recording: Recording, name: str, find: Callable[[], Model]) -> None:
        self.name = name
        self._recording = recording
        self._find = find

    @property
    def takes_effort(self) -> bool:
        return not self._recording.update or bool(getattr(self._find(), "takes_effort", True))

    def complete(self, request: Request, on_delta: Callable[[str], None], cancelled: threading.Event) -> Completion:
        """The recorded answer, or that of the model, which is recorded."""
        return self._recording.complete(self.name, self._find, request, on_delta, cancelled)


class _RecordedModels(AppModels):
    """The models of a handle, all of them recorded: those that are named, and the objects that it was given."""

    def __init__(self, recording: Recording, db: Database) -> None:
        super().__init__()
        self._recording = recording
        self._keys = db.keys
        self._by_name = db.app_models._by_name

    def find(self, name: str) -> Model | None:
        """The model `name`, recorded; raises `NotFound` (404) for an object that the handle was not given."""
        given = super().find(name)
        if isinstance(given, _RecordedModel):
            return given
        if given is not None:
            return self._recording.model(given)
        return _RecordedModel(self._recording, name, lambda: resolve_model(name, self._keys))

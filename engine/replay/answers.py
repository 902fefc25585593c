"""Gives a replayed run the answers that were recorded, and stops it, or asks a model, where its packet is another one."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.functions.limits import Stopped
from engine.models import resolve_model
from engine.models.app_models import AppModels
from engine.models.protocol import Completion, ModelError, Request, Usage, category_of_status
from engine.models.replay import without_budget
from engine.models.replay import without_times as _without_times
from engine.packets.differences import packet_differences

from .results import Difference

if TYPE_CHECKING:
    from engine.models.protocol import Model

    from .recording import Moment, Recording, Turn

_ASKING = """
    select t.sequence, t.refused
    from turns as t
    join runs as r on r.id = t.run_id
    where r.alias = ?
    order by t.sequence desc
    limit 1
"""
_HAS_COME = """
    select 1
    from runs as r
    join turns as t on t.run_id = r.id and t.sequence >= :turn
    join loops as l on l.id = t.loop_id
    left join children as k on k.run_id = r.id and k.loop_id = l.id
    left join effects as e on e.id = k.effect_id
    where r.alias = :run
        and case
            when t.sequence > :turn or not :is_answer then t.seen_at is not null
            when t.phase = 'judged' then l.status in (100, 102) or e.state is null or e.state not in ('pending', 'started')
            else exists (select 1 from effects as f where f.turn_id = t.id and f.state in ('pending', 'started'))
                or exists (select 1 from proposals as p where p.turn_id = t.id and p.state = 'proposed')
        end
"""
"""Whether a packet was made, or what an answer said is done."""
_UNDO = re.compile(r"(log://undo/)\d+")
_PATIENCE_S = 2.0
"""How long an answer waits for another one; the record may not tell of what came between."""
_LOOK_S = 0.002
Before = Callable[[str, int], None]


class Answers(AppModels):
    """The models of a handle that replays `recording`: whatever the name of a model, it answers from the record.

    From the turn `at` of the run, and once a packet differs, `ask` is asked instead: the name of a model, "" for the one
    that the run names; None: the replay stops at the first difference. `before` gets the run and the turn before each
    recorded answer.
    """

    def __init__(
        self, recording: Recording, given: AppModels, before: Before, ask: str | None = None, at: int | None = None
    ) -> None:
        super().__init__()
        self._by_name = given._by_name
        self.recording = recording
        self.ask = ask
        self.at = at
        self.before = before
        self.stop: Callable[[], None] = lambda: None
        self.difference: Difference | None = None
        self.parted: int | None = None
        self.refusal: Exception | None = None
        self.ended: tuple[str, int] | None = None
        """The run and the turn for which the record has no answer, because its run was stopped there."""
        self.order: list[Moment] = []
        """The packets and answers of runs that worked side by side, in the order in which they came."""
        self._lock = threading.Lock()

    def find(self, name: str) -> Model:
        """What answers in place of the model `name`."""
        return _Answerer(self, name)

    def real(self, name: str) -> Model:
        """The model that is asked itself once the paths have parted."""
        name = self.ask or name
        return super().find(name) or resolve_model(name, self.recording.db.keys_for(self.recording.run))

    def answer(self, request: Request) -> Completion | None:
        """The recorded answer of the open turn of a run; None where a model is to be asked.

        Raises the `ModelError` that was recorded, and `Stopped` where the replay ends.
        """
        turn, refused = self.recording.db.tuples(_ASKING, (request.run,))[0]
        self.await_moment(request.run, turn, "answer")
        with self._lock:
            if self.parted is not None:
                return None
            if self.ask is not None and request.run == self.recording.run and self.at is not None and turn >= self.at:
                self.parted = turn
                return None
            recorded = self.recording.turn(request.run, turn)
            if recorded is not None and refused < recorded.refused:
                raise _failed(*recorded.calls[refused])
            self.difference = self.difference or self._difference(request, turn, recorded)
            if self.difference is not None and self.ask is not None:
                self.parted = turn
                return None
            if recorded is None or not (recorded.answered or recorded.calls[recorded.refused :]):
                self.ended = request.run, turn
            if self.difference is not None or recorded is None or self.ended is not None:
                raise self._stopped()
        try:
            self.before(request.run, turn)
        except Exception as error:
            self.refusal = error
            raise self._stopped() from None
        return self._completion(recorded)

    def await_moment(self, run: str, turn: int | None, what: str) -> None:
        """Wait until what came before a moment of the record has come: children work side by side. None: the first turn."""
        ends = (at for at, each in enumerate(self.order) if each.run == run and turn in (None, each.turn))
        end = next((at for at in ends if self.order[at].what == what), 0)
        before = {each.run: each for each in self.order[:end] if each.run != run}
        until = time.monotonic() + _PATIENCE_S
        while before and self.parted is None and time.monotonic() < until:
            before = {name: each for name, each in before.items() if not self._has_come(each)}
            if before:
                time.sleep(_LOOK_S)

    def _has_come(self, moment: Moment) -> bool:
        which = {"run": moment.run, "turn": moment.turn, "is_answer": moment.what == "answer"}
        return bool(self.recording.db.value(_HAS_COME, which))

    def stop_at(self, run: str, turn: int) -> Stopped:
        """What is raised where the record of a run was stopped by somebody."""
        self.ended = run, turn
        return self._stopped()

    def _stopped(self) -> Stopped:
        self.stop()
        return Stopped("the replay ends here")

    def _completion(self, turn: Turn) -> Completion:
        if turn.response is None or not turn.answered:
            raise _failed(*turn.calls[-1])
        counts = (turn.prompt_tokens, turn.cached_tokens, turn.completion_tokens, turn.reasoning_tokens)
        usage = Usage(*counts, turn.cost, turn.cost_from or "provider")
        ended = turn.finish_reason or "stop"
        return Completion(turn.response, turn.reasoning or "", usage, ended, native=bool(turn.native))

    def _difference(self, request: Request, turn: int, recorded: Turn | None) -> Difference | None:
        """Where the packet of a turn differs from the recorded one."""
        if recorded is None:
            return None
        packet = [(message.role, message.content) for message in request.messages]
        return packet_difference(request.run, turn, self.recording.packet(request.run, turn), packet)


def _failed(status: int, message: str) -> ModelError:
    return ModelError(category_of_status(status, message), message, status=status, final=True)


def packet_difference(
    run: str, turn: int, before: list[tuple[str, str]], after: list[tuple[str, str]]
) -> Difference | None:
    """The first section in which two packets differ by more than times and durations."""
    if before == after:
        return None
    old = [(role, without_times(text)) for role, text in before]
    new = [(role, without_times(text)) for role, text in after]
    found = next(packet_differences(old, new), None)
    if found is not None and found.section == "budget" and _only_times(before, after):
        return None
    return found and Difference("packet", run, turn, f"{found.role}: {found.section}", found.diff)


def without_times(text: str) -> str:
    """A text without the times and durations that the engine writes, and without the numbers of undos: no two files have
    these in common.
    """
    return _UNDO.sub(r"\1·", _without_times(text))


def _only_times(before: list[tuple[str, str]], after: list[tuple[str, str]]) -> bool:
    """Whether two packets have times of different lengths, so that their figures of the budget differ too."""
    old, new = ([(role, without_budget(text)) for role, text in packet] for packet in (before, after))
    timeless = ([(role, without_times(text)) for role, text in packet] for packet in (old, new))
    return old != new and next(timeless) == next(timeless)


class _Answerer:
    """The model `name` of a replayed run."""

    takes_effort = True

    def __init__(self, answers: Answers, name: str) -> None:
        self._answers = answers
        self._name = name

    def complete(
        self,
        request: Request,
        on_delta: Callable[[str], None],
        cancelled: threading.Event,
    ) -> Completion:
        """The recorded answer, or that of the model once the paths have parted."""
        answer = self._answers.answer(request)
        if answer is None:
            return self._answers.real(self._name).complete(request, on_delta, cancelled)
        on_delta(answer.text)
        return answer

"""Asks the model for the answer of a turn, and stores it as it came.

spec: @attribution
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engine.errors import EngineError
from engine.models import protocol, resolve_model
from engine.models.prices import price_at
from engine.models.retry import complete_with_retry
from engine.models.stuck import Listener
from engine.packets.store import pictures_of

from .model_choice import takes_effort

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.handle import Handle
    from engine.packets.rendering import Renderer

    from .lease import Lease
    from .progress import Progress


_HELD_S = 0.2
"""How long a call waits before it asks again for its part of a limit that the calls of other runs fill."""
_FREE = "[0, 0, 0]"


@dataclass(frozen=True)
class _Asked:
    """What the model is asked for a turn, besides its packet: a row of `_model_requests`, the tools and the pictures."""

    row: Row
    tools: tuple[protocol.ToolSpec, ...]
    pictures: tuple[protocol.Picture, ...]

    @property
    def price(self) -> protocol.Price | None:
        """What a person says of the model's price."""
        return protocol.Price(*json.loads(self.row["price"])) if self.row["price"] else None


class ModelCalls:
    """Calls the model of the run `run` for the driver that holds `lease`; `progress` hears what arrives.

    A call that is under way is given up where the lease is stopped.
    """

    def __init__(self, db: Handle, run: str, lease: Lease, renderer: Renderer, progress: Progress) -> None:
        self._db = db
        self._run = run
        self._lease = lease
        self._renderer = renderer
        self._progress = progress
        self._asked: _Asked | None = None
        self._held: int | None = None
        """The turn whose call waits for its part of a limit."""
        self._found: tuple[int, protocol.Model] | None = None

    def open(self, turn_id: int) -> None:
        """Record that the model is about to be asked, and read what for, in the transaction that stores the packet."""
        row = self._db.row("select * from _model_requests where turn_id = ?", (turn_id,))
        if row and row["effort"] and not self._takes_effort(row):
            row["effort"] = None
        self._asked = None
        if row and row["is_bounded"] and not self._reserve(row):
            self._held = turn_id
            return
        self._db.insert("_open_call", turn_id=turn_id, effort=row and row["effort"], options=row and self._sent(row))
        if row is None:
            return
        self._asked = _Asked(row, self._tools(row), pictures_of(self._db, turn_id) if row["has_pictures"] else ())

    def ask(self, step: Row) -> None:
        """Carry out the step 'ask': have the turn answered, and store the answer or why there is none."""
        asked = self._opened(step["turn_id"])
        if asked is None:
            return
        row = asked.row
        if row["answer_cache"] and self._answer_from_cache(step, asked):
            return
        began = time.monotonic()
        listener = Listener(self._lease.stopped, self._progress.delta)
        try:
            with self._progress.answering(step["turn"]):
                completion = complete_with_retry(
                    self._model(row),
                    self._request(asked),
                    listener.hear,
                    listener,
                    deadline_s=row["deadline_s"],
                    on_retry=listener.starting_over(self._progress.retry),
                )
        except protocol.ModelError as error:
            if listener.finish_reason:
                cut = protocol.Completion(listener.text, "", protocol.Usage(), listener.finish_reason)
                self._store(step["turn_id"], cut, round((time.monotonic() - began) * 1000))
            elif not self._lease.stopped.is_set():
                self._db.insert(
                    "_fail_call",
                    turn_id=step["turn_id"],
                    status=error.status,
                    message=protocol.storable(error.message),
                )
            return
        ms_model = round((time.monotonic() - began) * 1000)
        completion = _priced(completion, asked.price)
        try:
            self._store(step["turn_id"], completion, ms_model)
        except KeyboardInterrupt:
            self._store(step["turn_id"], completion, ms_model)  # it was paid for
            raise
        self._progress.answered(step["turn_id"])

    def _opened(self, turn_id: int) -> _Asked | None:
        """What the model is asked; None if a limit leaves nothing for it now: the file says what comes next."""
        if self._asked is None or self._asked.row["turn_id"] != turn_id:
            if self._held == turn_id and self._lease.stopped.wait(_HELD_S):
                return None
            with self._db.transaction():
                self.open(turn_id)
        asked, self._asked = self._asked, None
        return asked

    def _reserve(self, row: Row) -> bool:
        """Reserve what the call of a turn may take at most; False where it has to wait, or a limit ended the turn."""
        price = row["price"] or self._list_price(row)
        turn_id, lease = row["turn_id"], self._lease.token
        self._db.insert("_reserve_call", turn_id=turn_id, price=price, lease=lease, output=row["max_tokens"])
        reserved = self._db.row("select output from call_reservations where turn_id = ? limit 1", (turn_id,))
        if reserved and reserved["output"] is not None:
            row["max_tokens"] = reserved["output"]
        return reserved is not None

    def _list_price(self, row: Row) -> str | None:
        """What is known of the price of a model without a person's, as JSON."""
        try:
            found = price_at(self._model(row), row["context_tokens"])
        except EngineError:
            return _FREE  # it cannot be asked; that is told when it is
        return None if found is None else json.dumps([found.input, found.output, found.cached])

    def _sent(self, row: Row) -> str | None:
        """The settings that a model is sent, as JSON; None where there are none."""
        sent = json.loads(row["options"] or "{}")
        if row["max_tokens"] is not None:
            sent["max_output"] = row["max_tokens"]
        if row["temperature"] is not None and self._takes_temperature(row):
            sent["temperature"] = row["temperature"]
        return json.dumps(sent, ensure_ascii=False) if sent else None

    def _takes_temperature(self, row: Row) -> bool:
        try:
            takes = getattr(self._model(row), "takes_temperature", None)
        except EngineError:
            return True
        return takes is None or bool(takes(row["effort"]))

    def _takes_effort(self, row: Row) -> bool:
        try:
            return takes_effort(self._model(row))
        except EngineError:
            return True  # a model that cannot be asked is told of when it is

    def _model(self, row: Row) -> protocol.Model:
        if self._found is None or self._found[0] != row["turn_id"]:
            model = self._db.app_models.find(row["actual"]) or resolve_model(
                row["actual"], self._db.keys_for(self._run)
            )
            self._found = row["turn_id"], model
        return self._found[1]

    def _answer_from_cache(self, step: Row, asked: _Asked) -> bool:
        """Handle an answer of before, if there is one that fits. What its prompt means is found before the transaction."""
        from .answer_cache import given_answer, question_of

        packet = self._renderer.beside_prompt(step["turn_id"])
        question = question_of(
            self._db, step["turn_id"], packet, asked.tools, asked.row["effort"], asked.row["options"]
        )
        if question is None:
            return False
        with self._progress.answering(step["turn"]):
            with self._db.transaction():
                given = given_answer(self._db, question)
                if given:
                    self._store(step["turn_id"], given, 0)
            if given:
                self._progress.answered(step["turn_id"])
        return given is not None

    def _request(self, asked: _Asked) -> protocol.Request:
        row = asked.row
        messages, grammar = self._renderer.messages(row["turn_id"]), row["grammar"]
        if row["profile"] == "compact" and grammar is None:
            from engine.models.grammar import packet_grammar

            found = self._db.row("select quotes, has_files from _passage_quotes where turn_id = ?", (row["turn_id"],))
            assert found is not None, "an asking turn has a loop"
            grammar = packet_grammar(messages[-1].content, found["quotes"], bool(found["has_files"]))
        return protocol.Request(
            messages=messages,
            temperature=row["temperature"],
            max_tokens=row["max_tokens"],
            grammar=grammar,
            timeout_s=row["timeout_s"],
            position=row["position"],
            run=row["run"],
            tools=asked.tools,
            output=row["output"],
            pictures=asked.pictures,
            effort=row["effort"],
            price=asked.price,
            headers=json.loads(row["headers"] or "{}"),
            is_bounded=bool(row["is_bounded"]),
            options=json.loads(row["options"] or "{}"),
        )

    def _tools(self, row: Row) -> tuple[protocol.ToolSpec, ...]:
        if row["tool_calling"] != "native":
            return ()
        query = "select name, description, schema from _asked_tools where turn_id = ? order by ordinal"
        return tuple(protocol.ToolSpec(**tool) for tool in self._db.rows(query, (row["turn_id"],)))

    def _store(self, turn_id: int, completion: protocol.Completion, ms_model: int) -> None:
        """Handle the response before it is read, so that an error in reading it loses nothing that was paid for."""
        usage, text = protocol.known(completion.usage), completion.text
        if completion.calls:
            from engine.models.tools import response_text

            text = response_text(completion, self._db.value("select json_group_array(name) from tools"))
        text, ended = protocol.cut_off(protocol.storable(text), protocol.finish_reason(completion.finish_reason))
        # what comes next is the transaction that reads it
        self._db.execute_ahead(
            "update turns set response = ?, finish_reason = ?, native = ?, reasoning = ?, prompt_tokens = ?, "
            "cached_tokens = ?, completion_tokens = ?, reasoning_tokens = ?, cost = ?, cost_from = ?, ms_model = ?, "
            "lease = ? where id = ?",
            (
                text,
                ended,
                completion.native,
                protocol.cut_off(protocol.storable(completion.reasoning))[0] or None,
                usage.prompt_tokens,
                usage.cached_tokens,
                usage.completion_tokens,
                usage.reasoning_tokens,
                usage.cost,
                None if usage.cost is None else usage.cost_from,
                ms_model,
                self._lease.token,
                turn_id,
            ),
        )


def _priced(completion: protocol.Completion, price: protocol.Price | None) -> protocol.Completion:
    """A completion with the cost that a person's price gives, where its adapter knows none."""
    usage = protocol.known(completion.usage)
    if price is None or usage.cost is not None:
        return completion
    return replace(completion, usage=replace(usage, cost=price.of(usage), cost_from="person"))

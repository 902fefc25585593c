"""Tests of the shop's agent: `pytest` replays what was recorded, `pytest --engine-update` asks the model of ENGINE_MODEL."""

from __future__ import annotations

import os
from typing import Any

import pytest
from shop import Reply, answer

import engine
from engine.testing import FrozenClock, Packet, Recording, ScriptedModel, assert_commands, assert_cost, call

MODEL = os.environ.get("ENGINE_MODEL", "openai/gpt-5-mini")


def test_a_late_order_is_refunded(
    engine_db: engine.Database, engine_recording: Recording, engine_clock: FrozenClock
) -> None:
    result = answer(engine_db, "Order 7 came two weeks late.", model=engine_recording.model(MODEL))
    assert result.output == Reply("I am sorry that your kettle came late. You get 13.00 back.", 13.0)
    assert_commands(engine_db, ["look_up order=7", "refund order=7 amount=13.0"])
    assert_cost(engine_db, at_most=0.01)


def test_too_much_is_not_refunded(engine_db: engine.Database) -> None:
    greedy = ScriptedModel(call("refund", order=7, amount=400), '{"text": "No.", "refunded": 0}')
    assert answer(engine_db, "Give me 400!", model=greedy).output.refunded == 0
    assert_commands(engine_db, ["refund order=7 amount=400 (failed: retry)"])


@pytest.mark.parametrize("order", [7, 8])
def test_the_model_is_told_of_the_order(engine_db: engine.Database, order: int) -> None:
    def reply(packet: Packet) -> Any:
        if packet.turn == 1:
            return call("look_up", order=order)
        return f'{{"text": "{"late" if "14" in packet.text else "in time"}", "refunded": 0}}'

    result = answer(engine_db, f"Where is order {order}?", model=engine.testing.FunctionModel(reply))
    assert result.output.text == {7: "late", 8: "in time"}[order]

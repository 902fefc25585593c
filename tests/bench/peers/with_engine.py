"""The work of the comparison, with this engine."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from measuring import AT_ONCE, MODEL_S, at_once, measure

import engine
from engine.models.protocol import Completion, Request, Usage


class Slow:
    """A model that takes its time: it calls the tool unless the log has its result."""

    name = "slow"

    def __init__(self, *, calls: bool) -> None:
        self.calls = calls

    def complete(self, request: Request, on_delta: Callable[[str], None], cancelled: threading.Event, /) -> Completion:
        time.sleep(MODEL_S)
        done = not self.calls or "refunded A1" in request.messages[-1].content
        text = '<update status="200">done</update>' if done else '<refund order="A1"/>'
        return Completion(text, "", Usage(10, 0, 5, 0), "stop")


@engine.tool(ask=True)
def refund(order: str) -> str:
    """Refund an order."""
    return f"refunded {order}"


async def turns(size: int) -> None:
    async with await engine.open_async("ours.db") as db:
        model = Slow(calls=False)

        async def one(number: int) -> None:
            assert (await db.run_async("Say hello", run=f"run{number}", model=model)).answer == "done"

        await at_once(size, AT_ONCE, one)


async def approvals(size: int) -> None:
    async with await engine.open_async("ours.db", tools=[refund]) as db:
        model = Slow(calls=True)

        async def one(number: int) -> None:
            run = f"run{number}"
            assert (await db.run_async("Refund A1", run=run, model=model)).status == 202
            await db.call_async(lambda db: db.resolve(run, accept=True))
            assert (await db.resume_async(run)).answer == "done"

        await at_once(size, size, one)


measure({"turns": turns, "approvals": approvals})

"""Drives runs whose model gives refunds, each approved, until all have ended: started here, or taken up again.

`python refunding.py DATABASE RUNS MODELS` prints `ready` when only the work itself is left to do, and `done` at the end.
MODELS is the folder of the scripts: run number 3 has the model `scripted:MODELS/3.jsonl`.
"""

from __future__ import annotations

import asyncio
import sys
import time

import engine
from engine.packets import layout

AT_ONCE = 3
WORLD_S = 0.004


@engine.tool(ask=True, idempotent=True)
def refund(order: str, context: engine.Context[str]) -> str:
    """Give the money back."""
    _begin(order, context)
    time.sleep(WORLD_S)
    _end(order, context)
    return f"refunded {order}"


@engine.tool(idempotent=True)
async def refund_later(order: str, context: engine.Context[str]) -> str:
    """Give the money back."""
    if context.approved_by is None:
        raise engine.NeedsApproval("a refund")
    _begin(order, context)
    await asyncio.sleep(WORLD_S)
    _end(order, context)
    return f"refunded {order}"


def _begin(order: str, context: engine.Context[str]) -> None:
    with open(context.app, "a", encoding="utf-8") as world:
        world.write(f"{order} {context.request_id}\n")
    context.db.execute("insert into refunds (order_name, request_id) values (?, ?)", (order, context.request_id))


def _end(order: str, context: engine.Context[str]) -> None:
    context.db.execute("update balances set amount = amount - 1")
    found = context.db.value("select count(*) from refunds where order_name = ?", (order,))
    assert found == 1, f"{order}: {found} rows"


async def main(database: str, runs: str, models: str) -> None:
    """Drive all runs, some at a time."""
    layout.environment()
    waiting = asyncio.Semaphore(AT_ONCE)
    async with await engine.open_async(database, tools=[refund, refund_later], context=f"{database}.world") as db:
        there = {
            row["run"]: row["status"]
            for row in await db.call_async(lambda db: db.rows("select run, status from run_overview"))
        }

        async def drive(number: int) -> None:
            name = f"run{number}"
            if there.get(name) == 200:
                return
            async with waiting:
                if name in there:
                    await db.resume_async(name, on_proposal=lambda _: True)
                else:
                    model = f"scripted:{models}/{number}.jsonl"
                    await db.run_async(
                        "Refund the orders.", run=name, model=model, on_proposal=lambda _: True, max_turns=1000
                    )

        print("ready", flush=True)
        await asyncio.gather(*map(drive, range(int(runs))))
    print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

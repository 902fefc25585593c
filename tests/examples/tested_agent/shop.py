"""An agent of a shop: it looks orders up, refunds what came late, and answers with a typed object.

    ENGINE_MODEL=openai/MODEL python shop.py "Order 7 came two weeks late."

Its tests are in test_shop.py: `pytest --engine-update` records what the model answers, then `pytest` needs no key.
`engine eval cases.yaml` says how often models do it right.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import engine

ORDERS = {7: {"item": "kettle", "days_late": 14, "price": 39.0}, 8: {"item": "lamp", "days_late": 0, "price": 25.0}}


@dataclass
class Reply:
    """What the shop says to a customer."""

    text: str
    refunded: float


@engine.tool(reads=True)
def look_up(order: int) -> dict[str, Any]:
    """Look an order up: what it is, how many days late it came, and its price."""
    if order not in ORDERS:
        raise engine.Retry(f"there is no order {order}")
    return ORDERS[order]


@engine.tool
def refund(order: int, amount: float) -> str:
    """Pay back a part of the price of an order."""
    if amount > ORDERS[order]["price"]:
        raise engine.Retry(f"order {order} cost {ORDERS[order]['price']}")
    return f"refunded {amount:.2f}"


def answer(db: engine.Database, message: str, **options: Any) -> engine.Result[Reply]:
    """Answer a customer. A third of the price goes back for an order that came late."""
    return db.run(
        message,
        tools=[look_up, refund],
        system_prompt="You answer customers of a shop. Refund a third of the price if an order came late, else nothing.",
        output=Reply,
        max_turns=6,
        **options,
    )


def tried(trial: Any) -> engine.Result[Reply]:
    """The agent as `engine eval` tries it."""
    return answer(trial.db, trial.prompt, run=trial.run, model=trial.model, on_driver=trial.on_driver)


if __name__ == "__main__":
    with engine.open("shop.db", config=True) as db:
        reply = answer(db, " ".join(sys.argv[1:])).output
        print(reply.text, f"(refunded: {reply.refunded:.2f})")

"""A support service: customers write, an agent answers and pays refunds, a person approves each refund in a browser.

    pip install -e '.[models]' starlette uvicorn    # in the folder of the engine's source
    ENGINE_MODEL=openai/MODEL python support.py     # customers: http://127.0.0.1:8000/c/ada, staff: http://127.0.0.1:8000/staff

Orders and refunds are tables in the agent's file. A refund is committed together with the result of its tool, so it is paid
once, whenever the process is killed. What was under way goes on when the service starts again. Put your own login here.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from html import escape
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

import engine

TABLES = """
create table if not exists orders (id text primary key, customer text not null, cents integer not null) strict;
create table if not exists refunds (order_id text primary key references orders (id), cents integer not null,
    approved_by text not null) strict;
"""
SAID = """select l.prompt, s.output ->> '$.text' as text from loop_list as l join loop_results as s using (run, loop)
where run = ? order by loop"""
PAGE = "<!doctype html><meta charset=utf-8><title>Support</title><body style='max-width:40em;margin:2em auto'>{}"
ASK = "<h1>Support</h1>{}<form method=post><input name=text size=50 autofocus required><button>Send</button></form>"
CALL = """<form method=post action=/staff><p>{run} wants: <code>{detail}</code>
<input type=hidden name=run value="{run}"><input type=hidden name=path value="{path}"><input name=reason placeholder=why>
<button name=accept value=1>Approve</button><button name=accept value=0>Reject</button></form>"""


@dataclass
class Reply:
    """What a customer gets."""

    text: str
    refunded_cents: int = 0


@engine.tool(reads=True)
def find_order(order: str, context: engine.Context) -> dict[str, object]:
    """Look up an order of the customer who asks, and what was refunded of it."""
    found = context.db.row(
        "select o.id, o.cents, r.cents as refunded from orders as o left join refunds as r on r.order_id = o.id "
        "where o.id = ? and o.customer = ?",
        (order, context.run),
    )
    if found is None:
        raise engine.Retry(f"{context.run} has no order {order!r}; ask for its number")
    return found


@engine.tool(ask=True, idempotent=True)
def refund(order: str, context: engine.Context) -> str:
    """Refund an order of the customer. A person approves it first."""
    cents = context.db.value("select cents from orders where id = ? and customer = ?", (order, context.run))
    if cents is None:
        raise engine.Retry(f"{context.run} has no order {order!r}")
    context.db.execute("insert into refunds values (?, ?, ?)", (order, cents, context.approved_by or "nobody"))
    return f"refunded {cents / 100:.2f} EUR"


class Desk:
    """The runs of the service: one for each customer, which remembers what was said before."""

    def __init__(self, db: engine.Database) -> None:
        self.db = db
        self._tasks: set[asyncio.Task[None]] = set()
        self._locks: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def drive(self, run: str) -> None:
        """Go on with a run in the background, until it has answered or waits for a decision."""
        task = asyncio.create_task(self._drive(run))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _drive(self, run: str) -> None:
        async with self._locks[run]:
            try:
                await self.db.resume_async(run, output=Reply)
            except engine.EngineError:
                logging.exception("run %s", run)


async def form(request: Request) -> dict[str, str]:
    """The fields of a form."""
    return {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}


async def customer(request: Request) -> Response:
    """The customer's conversation; a new message starts or continues the run."""
    desk: Desk = request.app.state.desk
    run = request.path_params["name"]
    if request.method == "POST":
        text = (await form(request)).get("text", "")
        await desk.db.call_async(lambda db: db.start(text, run=run, output=Reply, persona="support", max_turns=20))
        desk.drive(run)
        return RedirectResponse(request.url.path, 303)
    rows = await desk.db.call_async(lambda db: db.sql(SAID, (run,)))
    lines = (f"<p><b>{escape(row['prompt'])}</b><p>{escape(row['text'] or '…')}" for row in rows)
    return HTMLResponse(PAGE.format(ASK.format("".join(lines))))


async def staff(request: Request) -> Response:
    """The calls that wait for a decision; a form decides on one."""
    desk: Desk = request.app.state.desk
    if request.method == "POST":
        given = await form(request)
        decision = {"accept": given["accept"] == "1", "reason": given.get("reason"), "by": "staff"}
        await desk.db.call_async(lambda db: db.resolve(given["run"], given["path"], **decision))
        desk.drive(given["run"])
        return RedirectResponse("/staff", 303)
    waiting = await desk.db.call_async(lambda db: db.proposals())
    calls = (CALL.format(**{name: escape(str(each[name])) for name in ("run", "path", "detail")}) for each in waiting)
    return HTMLResponse(PAGE.format("<h1>To approve</h1>" + "".join(calls)))


def create_app(file: str) -> Starlette:
    """The service over the database `file`."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with await engine.open_async(file, tools=[find_order, refund]) as db:
            for statement in TABLES.split(";\n"):
                db.execute(statement)
            db.execute("insert or ignore into personas values ('support', 'You are friendly and brief.', 'own')")
            app.state.desk = Desk(db)
            for row in db.sql("select distinct run from open_prompts"):
                app.state.desk.drive(row["run"])
            yield

    routes = [Route(path, page, methods=["GET", "POST"]) for path, page in (("/c/{name}", customer), ("/staff", staff))]
    return Starlette(routes=routes, lifespan=lifespan)


if __name__ == "__main__":
    uvicorn.run(create_app("support.db"), port=int(sys.argv[1]) if len(sys.argv) > 1 else 8000)

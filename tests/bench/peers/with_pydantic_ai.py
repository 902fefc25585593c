"""The work of the comparison, with pydantic-ai; the messages of each run are stored in a table."""

from __future__ import annotations

import asyncio

import aiosqlite
from measuring import AT_ONCE, MODEL_S, at_once, measure
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

TABLE = "create table if not exists runs (name text primary key, messages text not null)"
SAVED = "insert into runs values (?, ?) on conflict (name) do update set messages = excluded.messages"


async def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    await asyncio.sleep(MODEL_S)
    return ModelResponse(parts=[TextPart("done")])


async def call(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    await asyncio.sleep(MODEL_S)
    if any(part.part_kind == "tool-return" for part in messages[-1].parts):
        return ModelResponse(parts=[TextPart("done")])
    return ModelResponse(parts=[ToolCallPart("refund", {"order": "A1"})])


async def opened() -> aiosqlite.Connection:
    db = await aiosqlite.connect("peer.db")
    await db.execute("pragma journal_mode = wal")
    await db.execute(TABLE)
    return db


async def turns(size: int) -> None:
    agent, db = Agent(FunctionModel(answer)), await opened()

    async def one(number: int) -> None:
        result = await agent.run("Say hello")
        assert result.output == "done"
        await db.execute(SAVED, (f"run{number}", result.all_messages_json().decode()))
        await db.commit()

    await at_once(size, AT_ONCE, one)
    await db.close()


async def approvals(size: int) -> None:
    agent, db = Agent(FunctionModel(call), output_type=[str, DeferredToolRequests]), await opened()

    @agent.tool_plain(requires_approval=True)
    def refund(order: str) -> str:
        """Refund an order."""
        return f"refunded {order}"

    async def one(number: int) -> None:
        first = await agent.run("Refund A1")
        assert isinstance(first.output, DeferredToolRequests)
        await db.execute(SAVED, (f"run{number}", first.all_messages_json().decode()))
        await db.commit()
        async with db.execute("select messages from runs where name = ?", (f"run{number}",)) as rows:
            (stored,) = await rows.fetchone()
        decided = DeferredToolResults(approvals={each.tool_call_id: True for each in first.output.approvals})
        history = ModelMessagesTypeAdapter.validate_json(stored)
        second = await agent.run(message_history=history, deferred_tool_results=decided)
        assert second.output == "done"
        await db.execute(SAVED, (f"run{number}", second.all_messages_json().decode()))
        await db.commit()

    await at_once(size, size, one)
    await db.close()


measure({"turns": turns, "approvals": approvals})

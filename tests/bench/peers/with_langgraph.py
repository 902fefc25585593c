"""The work of the comparison, with LangGraph and its checkpoints in SQLite."""

from __future__ import annotations

import asyncio

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt
from measuring import AT_ONCE, MODEL_S, at_once, measure


@tool
def refund(order: str) -> str:
    """Refund an order."""
    if not interrupt({"refund": order}):
        return "rejected"
    return f"refunded {order}"


async def answer(state: MessagesState) -> dict[str, object]:
    await asyncio.sleep(MODEL_S)
    return {"messages": [AIMessage("done")]}


async def call(state: MessagesState) -> dict[str, object]:
    await asyncio.sleep(MODEL_S)
    if isinstance(state["messages"][-1], ToolMessage):
        return {"messages": [AIMessage("done")]}
    return {"messages": [AIMessage("", tool_calls=[{"name": "refund", "args": {"order": "A1"}, "id": "1"}])]}


async def turns(size: int) -> None:
    graph = StateGraph(MessagesState).add_node("model", answer).add_edge(START, "model").add_edge("model", END)
    async with AsyncSqliteSaver.from_conn_string("peer.db") as saver:
        agent = graph.compile(checkpointer=saver)

        async def one(number: int) -> None:
            config = {"configurable": {"thread_id": f"run{number}"}}
            result = await agent.ainvoke({"messages": [("user", "Say hello")]}, config)
            assert result["messages"][-1].content == "done"

        await at_once(size, AT_ONCE, one)


async def approvals(size: int) -> None:
    graph = StateGraph(MessagesState).add_node("model", call).add_node("tools", ToolNode([refund]))
    graph.add_edge(START, "model").add_conditional_edges("model", tools_condition).add_edge("tools", "model")
    async with AsyncSqliteSaver.from_conn_string("peer.db") as saver:
        agent = graph.compile(checkpointer=saver)

        async def one(number: int) -> None:
            config = {"configurable": {"thread_id": f"run{number}"}}
            result = await agent.ainvoke({"messages": [("user", "Refund A1")]}, config)
            assert result["__interrupt__"]
            result = await agent.ainvoke(Command(resume=True), config)
            assert result["messages"][-1].content == "done"

        await at_once(size, size, one)


measure({"turns": turns, "approvals": approvals})

"""The lists of a chat: runs, models, commands, the prompts to go back to, and those of earlier sessions.

spec: @chat_keys
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.cli.model_lists import listed
from engine.terminal.printing import dollars, one_line
from engine.terminal.times import local
from engine.terminal.titles import called

from .commands import names, perform
from .completing import PROMPTS
from .panels import Choice, Picker

if TYPE_CHECKING:
    from .app import Chat

_RUNS = """
    select o.*, (select s.name from statuses as s where s.code = o.status) as state
    from run_overview as o
    join runs as r on r.alias = o.run
    where r.role = 'main' and r.archived_at is null
    order by o.updated_at desc
    limit 500
"""
_TURNS = """
    select l.sequence as loop, l.prompt, min(t.sequence) as turn, l.answer
    from loops as l
    join turns as t on t.loop_id = l.id
    join runs as r on r.id = l.run_id
    where r.alias = ?
    group by l.id
    order by l.sequence desc
"""


def runs(chat: Chat) -> None:
    """Choose another run to go on with."""
    session = chat.session
    choices = [
        Choice(
            str(row["run"]),
            f"{row['state']}  {local(row['updated_at'])}  {dollars(row['cost'])}  {called(row)}",
            preview=str(row["answer"] or ""),
        )
        for row in session.db.rows(_RUNS)
    ]

    def go_on(choice: Choice, _: str) -> None:
        if chat.worker.is_busy:
            chat.note("the run works; Ctrl-C stops it, then choose another", "warn")
            return
        session.go_on(choice.name)
        chat.ends.watch(choice.name)
        chat.note(session.summary())
        if text := session.unfinished():
            chat.note(text, "warn")
        chat.refresh()
        chat.sender.look()

    chat.open(Picker("Runs", choices, go_on, "Enter continues the run"))


def models(chat: Chat) -> None:
    """Choose the model of the next prompts, among those that work here."""
    session = chat.session
    rows = [row for row in listed(session.db) if row["usable"] == "yes"]
    choices = [
        Choice(
            str(row["alias"]),
            "  ".join(
                filter(None, [_price(row["price"]), "" if row["actual"] == row["alias"] else str(row["actual"])])
            ),
        )
        for row in rows
    ]

    def choose(choice: Choice, _: str) -> None:
        session.use_model(choice.name)
        chat.note(f"model: {session.model()}")

    chat.open(Picker("Models that work here, US dollars per million tokens", choices, choose))


def helps(chat: Chat) -> None:
    """Find a command by what it does."""
    choices = [Choice(f"/{name}", told) for name, told in names().items()]

    def choose(choice: Choice, _: str) -> None:
        chat.draft = f"{choice.name} "

    chat.open(Picker("Commands", choices, choose, "Enter takes one"))


def go_back(chat: Chat) -> None:
    """Choose a prompt to go back to, with the files as they were then or as they are."""
    session = chat.session
    rows = [] if session.is_new else session.db.rows(_TURNS, (session.run,))
    if not rows:
        chat.note("there is nothing to go back to yet")
        return
    choices = [
        Choice(one_line(row["prompt"], 200), f"turn {row['turn']}", row, str(row["answer"] or "")) for row in rows
    ]

    def choose(choice: Choice, key: str) -> None:
        row = choice.value
        assert isinstance(row, dict), "a row of the query above"
        files = "--files" if key == "c-f" else "--yes"
        chat.draft = str(row["prompt"])
        chat.in_terminal(lambda: perform(session, f"/rewind {row['turn']} {files}"))

    chat.open(Picker("Go back to before", choices, choose, "Enter keeps the files, Ctrl-F restores them, too"))


def earlier_prompts(chat: Chat) -> None:
    """Find a prompt of this or an earlier session."""
    rows = chat.session.db.rows(PROMPTS)
    seen: dict[str, Choice] = {}
    for row in rows:
        text = str(row["prompt"])
        seen.setdefault(text, Choice(one_line(text, 300), str(row["run"]), text, text if "\n" in text else ""))

    def choose(choice: Choice, _: str) -> None:
        chat.draft = str(choice.value)

    chat.open(Picker("Earlier prompts", list(seen.values()), choose, "Enter takes one"))


def _price(price: str | None) -> str:
    return "price unknown" if price is None else f"${price.replace('/', ' / $')}"


__all__ = ["earlier_prompts", "go_back", "helps", "models", "runs"]

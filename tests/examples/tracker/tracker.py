"""A tracker whose tickets are worked on by an agent. Its tables stand in the engine's file, so one transaction writes both.

    python tracker.py add "Wrong port" "The port in notes.md is 9090." --by Ada
    python tracker.py work             # an agent takes up each new ticket, in this folder
    python tracker.py board
    python tracker.py decide 1         # shows what the agent wants to change, and asks

The engine refuses a file with a trigger on its tables that it does not know. So `tracker.sql`, which has one, is given to
the engine as a plugin before the file is opened: the engine makes what is in it, and makes it again when it has changed. A
program without the plugin, such as `engine run`, drops the view and the trigger when it opens the file, and keeps the
tables; the next `tracker.py` makes both again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import engine
from engine.plugins import hookimpl, manager


class Tracker:
    """What the tracker adds to the engine's file."""

    @hookimpl
    def engine_sql(self) -> list[tuple[str, str]]:
        """Its tables, its view and its trigger."""
        return [("tracker.sql", Path(__file__).with_name("tracker.sql").read_text(encoding="utf-8"))]


manager().register(Tracker())


def add(db: engine.Database, title: str, text: str, reporter: str) -> None:
    """Write down a ticket."""
    db.insert("tickets", title=title, text=text, reporter=reporter)


def work(db: engine.Database, root: Path) -> None:
    """Give each new ticket to a run of its own, and drive what can go on."""
    for ticket in db.rows("select id, title, text from tickets where run is null"):
        with db.transaction():  # a ticket has a run if and only if the run is there
            run = db.start(f"{ticket['title']}\n\n{ticket['text']}", run=f"ticket_{ticket['id']}", root=root)
            db.execute("update tickets set run = ? where id = ?", (run.run, ticket["id"]))
    for row in db.rows("select r.run from resumable_runs as r join tickets as t on t.run = r.run"):
        db.resume(row["run"])


def decide(db: engine.Database, ticket: int, who: str) -> None:
    """Show the proposals that wait for a decision on a ticket and ask; then let the agent go on."""
    run = db.value("select run from tickets where id = ?", (ticket,))
    if run is None:
        raise engine.NotFound(f"ticket {ticket}: nobody works on it")
    for proposal in db.proposals(run):
        print(f"{proposal['action']} {proposal['target'] or ''}\n{proposal['detail']}")
        reason = input("Enter: do it. Otherwise: why not? ")
        db.resolve(run, proposal["path"], accept=not reason, reason=reason or None, by=who)
        db.insert("comments", ticket=ticket, author=who, text=f"rejected: {reason}" if reason else "accepted")
    db.resume(run)


def board(db: engine.Database) -> None:
    """Print the board."""
    for row in db.rows("select * from ticket_board order by id"):
        print(f"{row['id']}  {row['state']}  {row['title']}  [{row['files'] or ''}]  {row['comment'] or ''}")


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description="Tickets that an agent works on.")
    parser.add_argument("--db", type=Path, default=Path("tracker.db"))
    person = argparse.ArgumentParser(add_help=False)
    person.add_argument("--by", default="somebody", help="your name")
    commands = parser.add_subparsers(dest="command", required=True)
    adding = commands.add_parser("add", help="write down a ticket", parents=[person])
    adding.add_argument("title")
    adding.add_argument("text")
    commands.add_parser("work", help="let the agent work")
    commands.add_parser("board", help="show how the tickets stand")
    deciding = commands.add_parser("decide", help="decide what may be done", parents=[person])
    deciding.add_argument("ticket", type=int)
    given = parser.parse_args()
    with engine.open(given.db) as db:
        match given.command:
            case "add":
                add(db, given.title, given.text, given.by)
            case "work":
                work(db, Path.cwd())
            case "decide":
                decide(db, given.ticket, given.by)
            case _:
                board(db)


if __name__ == "__main__":
    try:
        main()
    except engine.EngineError as error:
        raise SystemExit(str(error)) from None

"""Reads what a report says of a run from the people's views, the reasons and the seals.

spec: @report
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from engine.errors import Conflict
from engine.functions.counts import counted

from .parts import Code, Facts, Part, Points, Report, Section, Table, Text

if TYPE_CHECKING:
    from engine.db.database import Bindings, Row
    from engine.history.seals import SealFault, Verification
    from engine.history.why import Why

_DECIDERS = {
    "callback": "the app",
    "yolo": "nobody: option yolo",
    "sandbox": "nobody: it reads, in a sandbox",
    None: "",
}
"""Who decided, where that is no name."""
_MOST_ROWS = 500
_MOST_CHARACTERS = 20_000

_RUN = """
    select o.*, p.root, s.name as word
    from run_overview as o
    join runs as r on r.alias = o.run
    join projects as p on p.id = r.project_id
    join statuses as s on s.code = o.status
    where o.run = ?
"""
_PROMPTS = """
    select l.*, s.name as word
    from loop_list as l
    join statuses as s on s.code = l.status
    where l.run = ?
    order by l.loop
"""
_SEEN = "select path, min(turn) as turn from said where run = ? and kind = 'read' group by path order by 2, 1"
_DONE = """
    select
        l.turn, l.action, l.target,
        case when l.state = 'resolved' then 'done' else coalesce(l.outcome, s.name, l.state) end as result,
        l.decided_by
    from run_log as l
    left join statuses as s on s.code = l.status
    -- the prompts have a section of their own
    where l.run = ? and l.action <> 'end' and not (l.writer = 'client' and l.target glob 'run://*')
    order by l.turn, l.ordinal, l.command_id
"""
_TREE = "select run from tree_runs where top = ? order by run_id"
_DECIDED = """
    select * from decisions
    where run in (select t.run from tree_runs as t where t.top = ?)
    order by decided_at, proposal_id
"""
_CHANGED = """
    select f.*, (
        select d.diff from decisions as d where d.command_id = f.command_id and d.target = f.path
    ) as diff
    from file_changes as f
    where f.run in (select t.run from tree_runs as t where t.top = ?)
    order by f.created_at, f.command_id
"""
_SPENT = """
    select
        model, sum(calls) as calls, sum(prompt_tokens) as prompt_tokens, sum(cached_tokens) as cached_tokens,
        sum(completion_tokens) as completion_tokens, sum(known_cost) as known_cost, sum(unknown_prices) as unknown_prices
    from cost_by_day
    where run in (select t.run from tree_runs as t where t.top = ?)
    group by model
    order by model
"""
_CHECKS = "select * from acceptances where run in (select t.run from tree_runs as t where t.top = ?) order by check_id"
_BELOW = """
    select o.*, s.name as word
    from tree_runs as t
    join run_overview as o on o.run = t.run
    join statuses as s on s.code = o.status
    where t.top = ? and t.level > 0
    order by t.run_id
"""


class Asked(Protocol):
    """What a report asks of a database."""

    def rows(self, sql: str, bindings: Bindings = ..., /) -> list[Row]:
        """All rows of a statement."""
        ...

    def row(self, sql: str, bindings: Bindings = ..., /) -> Row | None:
        """The first row of a statement."""
        ...

    def why(self, run: str, name: str | int | None = ..., /) -> Why:
        """Why something in a run is as it is."""
        ...

    def verify(self, run: str | None = ..., /) -> Verification:
        """Compare the record with its seals."""
        ...


def report(db: Asked, run: str) -> Report:
    """All that a report says of a run that there is, with the runs below it. Times are UTC."""
    about = db.row(_RUN, (run,)) or {}
    below = db.rows(_BELOW, (run,))
    several = bool(below)
    return Report(
        run,
        [
            Section("Summary", [_summary(db, about, below)]),
            Section("Asked and answered", list(_prompts(db, run)), "No prompt was given."),
            Section("Seen", _seen(db, run), "No file or shared entry was in full view."),
            Section("Done", _done(db, run), "Nothing was done."),
            Section("Decided", _decided(db, run, several=several), "Nothing had to be decided."),
            Section("Changed", _changed(db, run, several=several), "No file was changed."),
            Section("Spent", _spent(db, run), "No model has answered."),
            Section("Checked", _checked(db, run)),
        ],
    )


def _summary(db: Asked, about: Row, below: list[Row]) -> Facts:
    asked = " ".join(row.says for row in db.why(str(about["run"])).rows if row.topic == "run")
    facts: list[tuple[str, str]] = [
        ("Run", Code(about["run"])),
        ("Title", str(about["title"] or "none")),
        ("Asked by", asked),
        ("Status", about["word"]),
        ("Folder", Code(about["root"]) if about["root"] else "none"),
        ("Model", Code(about["model"]) if about["model"] else "none"),
        ("Began", f"{about['created_at']} UTC"),
        ("Last change", f"{about['updated_at']} UTC"),
        ("Turns", str(about["turns"])),
        ("Cost", _dollars(about["cost"])),
    ]
    if below:
        facts.append(("With the runs below it", _dollars(about["tree_cost"])))
        facts += [(f"Run {number} below", _told(row)) for number, row in enumerate(below, 1)]
    return Facts(facts)


def _told(row: Row) -> str:
    return f"{row['run']}: {row['word']}, {counted(row['turns'], 'turn')}, {_dollars(row['tree_cost'])}"


def _prompts(db: Asked, run: str) -> list[Part]:
    parts: list[Part] = []
    for row in db.rows(_PROMPTS, (run,)):
        parts.append(Text(f"Prompt {row['loop']}, in the mode {row['mode']}, {row['created_at']} UTC", row["prompt"]))
        parts.append(Text(f"Answer {row['loop']}", _cut(row["answer"] or "none")))
        reasons = db.why(run, f"prompt {row['loop']}").rows[1:]
        parts.append(Points([reason.says for reason in reasons]))
    return parts


def _seen(db: Asked, run: str) -> list[Part]:
    rows = [(Code(row["path"]), _number(row["turn"])) for row in db.rows(_SEEN, (run,))]
    return _table(("What", "First in full view on turn"), rows)


def _done(db: Asked, run: str) -> list[Part]:
    rows = [
        (_number(row["turn"]), row["action"], Code(_cut(row["target"] or "", 200)), row["result"], _who(row))
        for row in db.rows(_DONE, (run,))
    ]
    return _table(("Turn", "Command", "About", "Result", "Decided by"), rows)


def _decided(db: Asked, run: str, *, several: bool) -> list[Part]:
    rows = [
        (
            *_run(row, several=several), _number(row["turn"]), str(row["decided_at"]), row["decision"], _who(row),
            row["kind"], Code(_cut(row["target"] or "", 200)), _cut(row["reason"] or "", 300),
        )
        for row in db.rows(_DECIDED, (run,))
    ]  # fmt: skip
    return _table((*_head(several=several), "Turn", "When", "Decision", "By", "Kind", "About", "Reason"), rows)


def _changed(db: Asked, run: str, *, several: bool) -> list[Part]:
    found = db.rows(_CHANGED, (run,))
    rows = [
        (
            str(number), *_run(row, several=several), _number(row["turn"]), Code(row["path"]), row["change"],
            _number(row["added"]), _number(row["removed"]), row["cause"], _who(row),
        )
        for number, row in enumerate(found, 1)
    ]  # fmt: skip
    heads = (
        "No.",
        *_head(several=several),
        "Turn",
        "File",
        "Change",
        "Lines added",
        "Lines removed",
        "Cause",
        "Decided by",
    )
    texts = [
        Text(f"Change {number}, as it was proposed", _cut(row["diff"]))
        for number, row in enumerate(found[:_MOST_ROWS], 1)
        if row["diff"]
    ]
    return [*_table(heads, rows), *texts]


def _spent(db: Asked, run: str) -> list[Part]:
    rows = [
        (
            Code(row["model"] or "none"), str(row["calls"]), str(row["prompt_tokens"]), str(row["cached_tokens"]),
            str(row["completion_tokens"]), _spending(row),
        )
        for row in db.rows(_SPENT, (run,))
    ]  # fmt: skip
    return _table(("Model", "Answers", "Tokens in", "Of them cached", "Tokens out", "Cost"), rows)


def _spending(row: Row) -> str:
    if row["unknown_prices"]:
        return f"{_dollars(row['known_cost'])}, and {row['unknown_prices']} of unknown price"
    return _dollars(row["known_cost"])


def _checked(db: Asked, run: str) -> list[Part]:
    rows = [
        (
            _number(row["turn"]), str(row["attempt"]), row["check"], Code(_cut(row["criteria"] or "", 300)),
            row["verdict"] or "goes on", _cut(row["reason"] or "", 300),
        )
        for row in db.rows(_CHECKS, (run,))
    ]  # fmt: skip
    return [
        *_table(("Turn", "Attempt", "Check by", "Criteria", "Verdict", "Reason"), rows),
        Points(_seals(db, [str(row["run"]) for row in db.rows(_TREE, (run,))])),
    ]


def _seals(db: Asked, runs: list[str]) -> list[str]:
    """What the seals say of the record of runs, and SQLite's own check of the file."""
    lines = []
    faults: dict[SealFault, None] = {}
    try:
        for run in runs:
            found = db.verify(run)
            wrong = {fault.run for fault in found.faults}
            for sealed in found.runs:
                told = f"{counted(sealed.turns, 'turn')} as sealed; the last seal is {sealed.digest or 'none'}."
                lines.append(f"Record of {sealed.run}: " + ("it is not as it was sealed." if run in wrong else told))
            faults |= dict.fromkeys(found.faults)
    except Conflict as error:
        return [f"The record was not checked: {error.message}"]
    for fault in faults:
        where = "The file" if fault.run is None else f"{fault.run}, turn {fault.turn}"
        lines.append(f"{where}: {_cut(fault.fault, 300)}")
    if not any(fault.run is None for fault in faults):
        lines.append("SQLite finds no fault in the file.")
    return lines


def _table(heads: tuple[str, ...], rows: list[Any]) -> list[Part]:
    return [Table(heads, rows[:_MOST_ROWS], max(0, len(rows) - _MOST_ROWS))] if rows else []


def _head(*, several: bool) -> tuple[str, ...]:
    return ("Run",) if several else ()


def _run(row: Row, *, several: bool) -> tuple[str, ...]:
    return (Code(row["run"]),) if several else ()


def _who(row: Row) -> str:
    return _DECIDERS.get(row["decided_by"]) or str(row["decided_by"] or "")


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:.4f}"


def _cut(text: str, most: int = _MOST_CHARACTERS) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}… ({len(text) - most + 1} more characters)"

"""Answers why something in a run is as it is, from the views of the module `why`.

spec: @why
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from engine.arguments import check, expects
from engine.db.missing import shown
from engine.errors import NotFound
from engine.handle import Handle

_SUBJECTS = """
    select distinct
        topic, subject, title, iif(:at is null, view, coalesce(past_view, view)) as view,
        iif(:at is null or past_view is null, ':at is :at', 'turn = :at') as moment, place
    from reason_subjects
    where run = :run and name = :name
    order by place, topic
"""
_REASONS = """
    select says, source, key
    from {}
    where run = :run and topic = :topic and subject = :subject and {}
    order by place, key
"""
_TURN = "select 1 from past_turns where run = :run and turn = :at"
_Ask = Callable[[str, Any], list[Any]]
"""Runs a statement of these views and returns its rows."""
_NAMES = "select distinct name from reason_subjects where run = ? and name not glob 'command *' limit 5000"


@dataclass(frozen=True)
class Reason:
    """One reason in words, what it is about, and the row it comes from: those columns of the view or table `source`.

    Attributes:
        about: what it is a reason for, such as "the turn 3"
        says: the reason, as a sentence; it may repeat what a model, a file or a person wrote
        source: the name of a view or table
        key: columns of `source` with the values that name the row; None is NULL
    """

    about: str
    topic: str
    subject: str
    says: str
    source: str
    key: dict[str, Any]

    @property
    def statement(self) -> str:
        """The statement that selects the row."""
        tests = [f"{column} is {_literal(value)}" for column, value in self.key.items()]
        return " ".join(("select * from", self.source, "where", " and ".join(tests)))


@dataclass(frozen=True)
class Why:
    """The answer to a question about a run: `text` has it in words, `rows` the reasons with the rows they come from."""

    run: str
    name: str
    text: str
    rows: tuple[Reason, ...]


class Reasons(Handle):
    """The method of `Database` that says why."""

    @expects(run="a text")
    def why(self, run: str, name: str | int | None = None, *, at: int | None = None) -> Why:
        """Say why something in a run is as it is.

        `name` is a turn (3), a prompt ("prompt 2"), a command ("log://turn_1/sh/make", "command 17", or what it was about),
        an entry, a file, a setting or an option, "model", "cost", or a rule, a skill or an AGENTS.md. None asks about the
        run and its latest prompt. A name that means several things is answered for all of them. With `at` an entry, a
        setting, an option and the model are told as that turn had them. Nothing is changed.

        Raises `NotFound` (404) for an unknown run or turn, and for a name that the run has nothing of.
        """
        if not isinstance(name, int) or isinstance(name, bool):
            check("name", name, "a text or None")
        check("at", at, "a whole number or None")
        if self.value("select 1 from runs where alias = ?", (run,)) is None:
            raise NotFound(f"run {run!r}: there is no such run; see 'engine runs'")
        asked = "" if name is None else str(name)
        with _asking(self) as ask:
            if at is not None and not ask(_TURN, {"run": run, "at": at}):
                raise NotFound(f"run {run!r}: there is no turn {at}")
            found = tuple(_reasons(ask, run, asked, at))
            if not found:
                raise NotFound(f"run {run!r}: nothing is known about {asked!r}; {_nearest(ask, run, asked)}")
        return Why(run, asked, _text(found), found)


def _literal(value: object) -> str:
    if value is None:
        return "null"
    return str(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"


def _reasons(ask: _Ask, run: str, name: str, at: int | None) -> Iterator[Reason]:
    for topic, subject, title, view, moment, _ in ask(_SUBJECTS, {"run": run, "name": name, "at": at}):
        about = {"run": run, "topic": topic, "subject": subject, "at": at}
        for says, source, key in ask(_REASONS.format(view, moment), about):
            yield Reason(title, topic, subject, says, source, json.loads(key))


def _nearest(ask: _Ask, run: str, name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, [str(found) for (found,) in ask(_NAMES, (run,))], 1)
    return f"did you mean {near[0]}?" if near else "name a turn, a path, a command, a setting, model or cost"


@contextmanager
def _asking(db: Handle) -> Iterator[_Ask]:
    """While the views can be asked, whether the file has them or not, and whatever an app has called its tables."""
    with db.looking() as (connection, _), db.clear_errors, shown(connection, ["why"]):
        yield lambda sql, bindings: connection.execute(sql, bindings).fetchall()


def _text(found: tuple[Reason, ...]) -> str:
    lines: list[str] = []
    for at, reason in enumerate(found):
        if not at or found[at - 1].about != reason.about:
            lines.append(f"{reason.about}:")
        lines.append(f"  {reason.says}")
    return "\n".join(lines)

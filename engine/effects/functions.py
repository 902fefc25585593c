"""Calls the function of a tool, or the tool of an MCP server, and tells what came of it."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from engine.errors import EngineError, ValidationError
from engine.functions.limits import Stopped
from engine.models.protocol import storable
from engine.system.secrets import scrubbed

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.handle import Handle
    from engine.tools.calling import Calls
    from engine.tools.context import Context
    from engine.tools.results import Entry, Parts
    from engine.tools.tables import ToolTables

Report = Callable[[Mapping[str, Any]], None]
_ATTEMPTS = 3
"""How often a function is called whose tables somebody else changes meanwhile."""
_CHANGED = (
    "Nothing of it was stored: what it had read in the tables of the app was changed by others before it ended. "
    "Call it again if that is still wanted."
)
_VARIES = (
    "Nothing of it was stored: a row that it read back differs now. Its statement {sql!r} takes the time or chance again "
    "when the result is stored. Let the tool compute that value in Python and bind it."
)
_MOST_OF_ERROR = 2_000
_MOST_OF_STATEMENT = 200


class Functions:
    """Performs effects of the kinds function and mcp for a driver that ends when `stopped` is set.

    `app` is what the app gave to its tools. `tell` gets the id of an effect and what its function says of its progress.
    """

    def __init__(
        self, db: Handle, token: str | None, stopped: threading.Event, app: object, tell: Callable[[int, str], None]
    ) -> None:
        self._db = db
        self._token = token
        self._stopped = stopped
        self._app = app
        self._tell = tell
        self._calls: Calls | None = None

    def perform(self, effect: Row, report: Report) -> None:
        """Call the function of an effect and report how it ended; what it wrote is stored in the same transaction.

        Where somebody has changed meanwhile what it was told of the app's tables, nothing is stored, and one that may be
        called again is. Raises `Stopped` where the driver is stopped while such a one works.
        """
        from engine.tools.tables import Changed

        for attempt in range(1, _ATTEMPTS + 1):
            ended = self._called(effect)
            try:
                self._store(effect, ended, report)
                return
            except _Over:
                return
            except Changed as changed:
                if attempt == _ATTEMPTS or not json.loads(effect["detail"])["idempotent"]:
                    report(ended.failed("conflict", _changed(changed.varying)))
                    return
            except ValidationError as error:  # a constraint that is checked at the end of a transaction
                report(ended.failed("error", f"Nothing of it was stored: {error.message}"))
                return

    def close(self) -> None:
        """End what async functions had."""
        if self._calls is not None:
            self._calls.close()

    def _store(self, effect: Row, ended: _Ended, report: Report) -> None:
        """Report the end of a call, in one transaction with what it brings. Raises `_Over`, and what that raises."""
        if not ended.brings:
            ended.report(self._db, effect, self._token, report)
            return
        with self._db.transaction():
            if not self._db.value("select 1 from _calls_at_work where effect_id = ?", (effect["effect_id"],)):
                raise _Over
            ended.report(self._db, effect, self._token, report)

    def _called(self, effect: Row) -> _Ended:
        detail = json.loads(effect["detail"])
        given = self._db.app_tools
        try:
            tool = given.ready(detail["tool"], self._stopped, effect["run_id"]) if given is not None else None
        except EngineError as error:
            if self._stopped.is_set():
                raise Stopped(f"{detail['tool']}: the driver was stopped") from None
            return _Ended(detail).failing("timeout" if error.status == 504 else "unreachable", error.message)
        if tool is None:
            return _Ended(detail).failing("error", _not_here(detail))
        if detail.get("digest") not in (None, getattr(tool, "digest", None)):
            changed = (
                "Not called: its server has changed the tool since this call was proposed; read its new definition."
            )
            return _Ended(detail).failing("conflict", changed)
        from engine.tools.kinds import WrongArgument

        try:
            positional, named = tool.bound(detail["arguments"])
        except WrongArgument as error:
            return _Ended(detail).failing("validation", f"Not called: {error}")
        row = self._db.row("select * from _function_timeouts where effect_id = ?", (effect["effect_id"],))
        assert row is not None, "an effect has its command"
        seconds = min(tool.choices.timeout or row["timeout_s"], row["left_s"])
        said: deque[str] = deque()
        tables = None
        if (parameter := getattr(tool, "context", None)) is not None:
            context = self._context(effect, said)
            named[parameter], tables = context, context.db
        return self._outcome_of(effect, _Call(tool, positional, named, seconds, said), _Ended(detail, tables))

    def _context(self, effect: Row, said: deque[str]) -> Context[Any]:
        from engine.tools.context import Context
        from engine.tools.tables import ToolTables

        assert self._db.app_tools is not None, "a function is of the app"
        row = self._db.row("select * from _function_contexts where effect_id = ?", (effect["effect_id"],))
        assert row is not None, "an effect has its command"
        del row["effect_id"]
        tables = ToolTables(self._db, self._db.app_tools.own_tables)
        return Context(**row, app=self._app, db=tables, _tell=said.append)

    def _outcome_of(self, effect: Row, call: _Call, ended: _Ended) -> _Ended:
        """What comes of a call, which is made now."""
        from engine.tools.calling import Broken, Calls, GivenUp, TookTooLong
        from engine.tools.context import NeedsApproval
        from engine.tools.results import parts_of, result_text

        def look() -> None:
            while call.said:
                self._tell(effect["effect_id"], call.said.popleft())

        self._calls = self._calls or Calls(self._stopped)
        try:
            result = self._calls.call(call.tool.function, call.positional, call.named, call.seconds, look)
            parts = parts_of(result, call.tool.name)
            ended = ended.resolved(parts, result_text(parts.value, effect["max_output"]))
        except TookTooLong:
            told = f"No result within {call.seconds:g} s; whether it finished is unknown."
            ended = ended.failing("timeout", told + ended.unstored)
        except GivenUp:
            if ended.detail["idempotent"]:
                raise Stopped(f"{call.tool.name}: the driver was stopped") from None
            ended = ended.failing("interrupted", "Stopped while it worked; whether it finished is unknown.")
        except Broken as broken:
            if isinstance(broken.error, NeedsApproval):
                ended = ended.asking(broken.error.reason)
            else:
                ended = ended.failing(*_outcome(broken.error, effect["max_output"]))
        except Exception as error:
            ended = ended.failing("error", _said(error))
        finally:
            if ended.tables is not None:
                ended.tables.end()
            left_open = self._roll_back()
        if left_open:
            return ended.failing("error", "It left a transaction open, so its changes were rolled back.")
        return ended

    def _roll_back(self) -> bool:
        """Whether a function has left a transaction open, which is rolled back: the run would go on inside it."""
        if not self._db.in_transaction:
            return False
        self._db.execute("rollback")
        return True


class _Over(Exception):  # noqa: N818 - an outcome, not a defect
    """The effect of a call is over already: an abort has cancelled it."""


class _Call(NamedTuple):
    """A call that is to be made; `said` is what its function says of its progress."""

    tool: Any
    positional: list[object]
    named: dict[str, object]
    seconds: float
    said: deque[str]


class _Ended(NamedTuple):
    """How a call has ended: what its function wrote, what it brings, and the columns of `_finish_effect`, or the question
    that a person has to decide.
    """

    detail: dict[str, Any]
    tables: ToolTables | None = None
    columns: Mapping[str, Any] | None = None
    question: str | None = None
    pictures: Mapping[str, bytes] = MappingProxyType({})
    entries: tuple[Entry, ...] = ()

    @property
    def brings(self) -> bool:
        """Whether there is more to store than the end of the effect."""
        return self.succeeded and bool(
            self.pictures or self.entries or (self.tables is not None and self.tables.has_written)
        )

    @property
    def succeeded(self) -> bool:
        """Whether there is a result."""
        return self.columns is not None and self.columns["state"] == "resolved"

    @property
    def unstored(self) -> str:
        """What is said of a call that was given up after it had written."""
        return " Nothing that it wrote by context.db was stored." if self.tables and self.tables.has_written else ""

    def resolved(self, parts: Parts, text: str) -> _Ended:
        """A call with a result, and its text."""
        columns = {"state": "resolved", "message": f"{self.detail['call']}\n{text}"}
        return self._replace(columns=columns, pictures=parts.pictures, entries=parts.entries)

    def failed(self, outcome: str, message: str) -> dict[str, Any]:
        """The columns of a call that failed."""
        return {"state": "failed", "outcome": outcome, "message": f"{self.detail['call']}\n{message}"}

    def failing(self, outcome: str, message: str) -> _Ended:
        """A call that failed."""
        return self._replace(columns=self.failed(outcome, message), question=None)

    def asking(self, reason: str) -> _Ended:
        """A call that needs a decision."""
        return self._replace(question=storable(scrubbed(reason))[:_MOST_OF_ERROR])

    def report(self, db: Handle, effect: Row, token: str | None, report: Report) -> None:
        """Store what the call brings, and its end. Raises `Changed`."""
        if self.question is not None:
            db.insert("_ask_for_call", effect_id=effect["effect_id"], reason=self.question, lease=token)
            return
        assert self.columns is not None, "a call ends, or asks"
        if self.brings and self.tables is not None:
            self.tables.store()
        if self.pictures:
            keep_pictures(db, effect, self.pictures)
        keep_entries(db, effect, self.entries)
        report(self.columns)


def keep_pictures(db: Handle, effect: Row, pictures: Mapping[str, bytes]) -> None:
    """Keep the pictures of a result, each as an entry of its run under its path, which the next packet shows.

    One that is none, or larger than `picture_max_bytes`, is left out; the text names it all the same.
    """
    from engine.functions.pictures import picture_facts, picture_line

    most = int(db.value("select value from settings where name = 'picture_max_bytes'"))
    turn = db.value("select sequence from turns where id = ?", (effect["turn_id"],))
    for path, body in pictures.items():
        facts = json.loads(picture_facts(body) or "{}")
        if "width" not in facts or len(body) > most:
            continue
        sha256 = hashlib.sha256(body).hexdigest()
        told = picture_line(json.dumps(facts), len(body))
        with db.transaction():
            db.execute(
                "insert into pictures (sha256, format, body) select :sha256, :format, :body "
                "where not exists (select 1 from pictures where sha256 = :sha256)",
                {"sha256": sha256, "format": facts["format"], "body": body},
            )
            db.insert(
                "_write_entry",
                run_id=effect["run_id"],
                path=path,
                body="",
                attributes=json.dumps({"picture": told, "sha256": sha256, "size": len(body), **facts}),
                visibility="visible",
                state="resolved",
                writer="plugin",
                turn=turn,
            )


def keep_entries(db: Handle, effect: Row, entries: Sequence[Entry]) -> None:
    """Write the entries of a result. Raises `ValidationError` (400) for a path that no tool may write, such as a file."""
    turn = db.value("select sequence from turns where id = ?", (effect["turn_id"],))
    for entry in entries:
        scheme = entry.path.partition("://")[0] if "://" in entry.path else "file"
        if scheme == "file" or not db.value(
            "select 1 from _scheme_writers as w join schemes as s on s.name = w.scheme "
            "where w.scheme = ? and w.writer = 'plugin' and s.category in ('data', 'unknown')",
            (scheme,),
        ):
            raise ValidationError(
                f"entry {entry.path!r}: a tool may not write this entry; use a path such as known://name"
            )
        columns = {"path": entry.path, "body": entry.body, "visibility": entry.visibility}
        db.insert("_write_entry", run_id=effect["run_id"], **columns, state="resolved", writer="plugin", turn=turn)


def _changed(varying: str | None) -> str:
    return _CHANGED if varying is None else _VARIES.format(sql=" ".join(varying.split())[:_MOST_OF_STATEMENT])


def _not_here(detail: dict[str, Any]) -> str:
    if "server" in detail:
        return f"Not called: this process is not connected to the MCP server {detail['server']}; see 'engine mcp show'."
    return "Not called: it is a function of an app; resume where a file is opened with tools=[…] that has it."


def _outcome(error: BaseException, most: int) -> tuple[str, str]:
    """The outcome and the message of a call that raised an error; what a server says of one is no error of the engine."""
    from engine.errors import EngineError
    from engine.tools.context import Retry
    from engine.tools.results import ToolFailed, result_text

    if isinstance(error, Retry):
        return "retry", scrubbed(result_text(error.message, most))
    if isinstance(error, ToolFailed):
        return error.outcome, scrubbed(result_text(error.message, most))
    if isinstance(error, EngineError) and error.status in (502, 504):
        return ("timeout" if error.status == 504 else "unreachable"), error.message
    if isinstance(error, EngineError):
        return "error", scrubbed(storable(f"{type(error).__name__}: {error.message}"))[:_MOST_OF_ERROR]
    return "error", _said(error)


def _said(error: BaseException) -> str:
    """Type and message of an error, without keys; where it arose is told to the log of the app, at the level debug."""
    import logging

    logging.getLogger("engine.tools").debug("a tool failed", exc_info=error)
    try:
        message = str(error)
    except Exception:
        message = ""
    name = type(error).__name__
    return scrubbed(storable(f"{name}: {message}" if message else name))[:_MOST_OF_ERROR]

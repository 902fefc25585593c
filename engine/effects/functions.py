"""Calls the function of a tool, or the tool of an MCP server, and tells what came of it."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engine.functions.limits import Stopped
from engine.system.secrets import scrubbed

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.handle import Handle
    from engine.tools.calling import Calls

_MOST_OF_ERROR = 2_000


class Functions:
    """Performs effects of the kinds function and mcp for a driver that ends when `stopped` is set."""

    def __init__(self, db: Handle, stopped: threading.Event) -> None:
        self._db = db
        self._stopped = stopped
        self._calls: Calls | None = None

    def perform(self, effect: Row) -> dict[str, Any]:
        """Call the function of an effect; returns the columns of its `finish_effect`. What it raises is a failure.

        Raises `Stopped` where the driver is stopped while one works that may be called again.
        """
        detail = json.loads(effect["detail"])
        given = self._db.app_tools
        tool = given.find(detail["tool"]) if given else None
        if tool is None:
            return _failed(detail, "error", _not_here(detail))
        if detail.get("digest") not in (None, getattr(tool, "digest", None)):
            changed = "Not called: its server has defined it anew since this was asked for; read what it is now."
            return _failed(detail, "conflict", changed)
        from engine.tools.calling import Broken, Calls, GivenUp, TookTooLong
        from engine.tools.kinds import WrongArgument
        from engine.tools.results import WithPictures, result_text

        self._calls = self._calls or Calls(self._stopped)
        row = self._db.row("select * from _function_timeouts where effect_id = ?", (effect["effect_id"],))
        assert row is not None, "an effect has its command"
        seconds = min(tool.choices.timeout or row["timeout_s"], row["left_s"])
        try:
            positional, named = tool.bound(detail["arguments"])
        except WrongArgument as error:
            return _failed(detail, "validation", f"Not called: {error}")
        try:
            result = self._calls.call(tool.function, positional, named, seconds)
            text = result_text(result, effect["max_output"])
            if isinstance(result, WithPictures) and result.pictures:
                keep_pictures(self._db, effect, result.pictures)
        except TookTooLong:
            return _failed(detail, "timeout", f"No result within {seconds:g} s; whether it finished is unknown.")
        except GivenUp:
            if detail["idempotent"]:
                raise Stopped(f"{tool.name}: the driver was stopped") from None
            return _failed(detail, "interrupted", "Stopped while it worked; whether it finished is unknown.")
        except Broken as broken:
            return _failed(detail, *_outcome(broken.error, effect["max_output"]))
        except Exception as error:
            return _failed(detail, "error", _said(error))
        finally:
            left_open = self._roll_back()
        if left_open:
            return _failed(detail, "error", "It left a transaction open, which was rolled back.")
        return {"state": "resolved", "message": f"{detail['call']}\n{text}"}

    def close(self) -> None:
        """End what async functions had."""
        if self._calls is not None:
            self._calls.close()

    def _roll_back(self) -> bool:
        """Whether a function has left a transaction open, which is rolled back: the run would go on inside it."""
        if not self._db.in_transaction:
            return False
        self._db.execute("rollback")
        return True


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
                "write_entry",
                run_id=effect["run_id"],
                path=path,
                body="",
                attributes=json.dumps({"picture": told, "sha256": sha256, "size": len(body), **facts}),
                visibility="visible",
                state="resolved",
                writer="plugin",
                turn=turn,
            )


def _failed(detail: dict[str, Any], outcome: str, message: str) -> dict[str, Any]:
    return {"state": "failed", "outcome": outcome, "message": f"{detail['call']}\n{message}"}


def _not_here(detail: dict[str, Any]) -> str:
    if "server" in detail:
        return f"Not called: this process is not connected to the MCP server {detail['server']}; see 'engine mcp test'."
    return "Not called: it is a function of an app; resume where a file is opened with tools=[…] that has it."


def _outcome(error: BaseException, most: int) -> tuple[str, str]:
    """The outcome and the message of a call that raised an error; what a server says of one is no error of the engine."""
    from engine.errors import EngineError
    from engine.tools.results import ToolFailed, result_text

    if isinstance(error, ToolFailed):
        return error.outcome, scrubbed(result_text(error.message, most))
    if isinstance(error, EngineError) and error.status in (502, 504):
        return ("timeout" if error.status == 504 else "unreachable"), error.message
    return "error", _said(error)


def _said(error: BaseException) -> str:
    """Type and message of an error, without keys; where it arose is told to the log of the app, at the level debug."""
    import logging

    from engine.models.protocol import storable

    logging.getLogger("engine.tools").debug("a tool failed", exc_info=error)
    try:
        message = str(error)
    except Exception:
        message = ""
    name = type(error).__name__
    return scrubbed(storable(f"{name}: {message}" if message else name))[:_MOST_OF_ERROR]

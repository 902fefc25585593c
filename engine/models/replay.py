"""`replay:DB#RUN`: gives the answers again that a run of another engine file stored, in their order."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from engine.models.protocol import Completion, ModelError, Request, Usage
from engine.models.scripted import past_the_end

_RESPONSE = """ select t.response, t.reasoning, t.prompt_tokens, t.cached_tokens, t.completion_tokens,
t.reasoning_tokens, t.cost, t.native,
t.finish_reason from turns as t join runs as r on r.id = t.run_id where r.alias = ? and
t.response is not null order by t.sequence limit 1 offset ?
"""
_COUNT = """
select count(*)
from turns as t join runs as r on r.id = t.run_id
where r.alias = ? and t.response is not null
"""


class ReplayModel:
    """Answers with the stored responses of run `run` in the engine file `path`, which is opened read-only."""

    def __init__(self, path: str | Path, run: str) -> None:
        self.path = Path(path)
        self.run = run

    def complete(
        self,
        request: Request,
        on_delta: Callable[[str], None] | None = None,
        cancelled: threading.Event | None = None,
    ) -> Completion:
        """The stored response at `request.position`, with its tokens and cost.

        Raises `ModelError` (script, 400) where the file cannot be read or holds too few responses.
        """
        if cancelled is not None and cancelled.is_set():
            raise ModelError("aborted", f"the replay of run {self.run!r} was cancelled")
        text, reasoning, *figures, native, ended = self._recorded(request.position)
        if on_delta is not None:
            on_delta(text)
        return Completion(text, reasoning or "", Usage(*figures), ended or "stop", native=bool(native))

    def _recorded(self, position: int) -> tuple[Any, ...]:
        from engine.db.connections import BUSY_TIMEOUT_MS

        if not self.path.is_file():
            raise ModelError("script", f"replay file {self.path} does not exist; name an engine file")
        try:
            # Not with sqlite3: that is another SQLite library, and two of them in one process break each other's locks
            # where this file is also the one that the run is stored in.
            connection = apsw.Connection(str(self.path.resolve()), flags=apsw.SQLITE_OPEN_READONLY)
            try:
                connection.set_busy_timeout(BUSY_TIMEOUT_MS)  # who closes the file last keeps it for a moment
                row: tuple[Any, ...] | None = connection.execute(_RESPONSE, (self.run, position)).fetchone()
                if row is None:
                    responses = connection.execute(_COUNT, (self.run,)).get
                    raise past_the_end(f"run {self.run!r} of {self.path}", responses, position)
                return row
            finally:
                connection.close()
        except apsw.Error as error:
            raise ModelError("script", f"replay file {self.path} cannot be replayed: {error}") from error

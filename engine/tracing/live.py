"""Sends the spans of runs while they are driven.

spec: @tracing
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

from .rows import ended_spans
from .sending import exporter_to, readable, resource

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter

    from engine.db.database import Store

_BACK_MS = 60_000
"""A span may be stored so much later than it ended."""
_FLUSH_MS = 10_000


class Tracer:
    """Sends what has ended in the runs that are driven: to `exporter`, from a thread of its own. Any thread may use it.

    A collector that does not answer holds nothing up; what it does not take is lost here, and still in the file. `content`
    also sends what was said.
    """

    def __init__(self, exporter: SpanExporter, *, content: bool = False) -> None:
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        self._content = content
        self._processor = BatchSpanProcessor(exporter)
        self._resource = resource()
        self._began = int(time.time() * 1000)
        # by run: the keys that were sent, with the times at which they ended
        self._sent: dict[str, dict[str, int]] = {}
        self._lock = threading.Lock()

    def look(self, db: Store, run: str) -> None:
        """Send what has ended in `run` since the last look."""
        db.install("traces")
        with self._lock:
            sent = self._sent.setdefault(run, {})
            since = max(self._began, max(sent.values(), default=0) - _BACK_MS)
            new = [span for span in ended_spans(db, run, since, texts=self._content) if span.key not in sent]
            sent |= {span.key: span.ended_at for span in new}
            self._sent[run] = {key: ended for key, ended in sent.items() if ended >= since}
        for span in readable(new, self._resource):
            self._processor.on_end(span)

    def close(self) -> None:
        """Send what is left, for 10 s at most."""
        self._processor.force_flush(_FLUSH_MS)
        self._processor.shutdown()  # type: ignore[no-untyped-call]


def of_environment() -> Tracer | None:
    """What the variable ENGINE_TRACE asks for: ``on``, or ``content`` for what was said too."""
    wanted = os.environ.get("ENGINE_TRACE", "")
    if wanted not in ("on", "content"):
        return None
    return Tracer(exporter_to(None), content=wanted == "content")

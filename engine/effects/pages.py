"""Performs what the web is asked for: fetches a page, or searches."""

from __future__ import annotations

import json
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError
from engine.system.installing import how_to_install

from . import files

if TYPE_CHECKING:
    from engine.db.database import Row
    from engine.handle import Handle

_LIBRARIES = ("httpx2", "httpcore2", "trafilatura")


def perform(db: Handle, stopped: threading.Event, effect: Row) -> dict[str, Any]:
    """Fetch the page of an effect, or search; returns the columns of its `_finish_effect`.

    Raises `Stopped` when `stopped` is set; the effect is performed again then.
    """
    db.install("web")
    request = db.row("select * from _web_requests where effect_id = ?", (effect["effect_id"],))
    assert request is not None, "an effect of the web has its request"
    if request["answer"]:
        settled: dict[str, Any] = json.loads(request["answer"])
        return settled
    if request["target"].startswith("mcp://"):
        from . import resources

        return resources.perform(db, stopped, request)
    if missing := missing_library():
        return _failed("unsupported", f"the web is read with the extra 'web': {how_to_install('web')} ({missing})")
    from engine.web.failures import WebFailure
    from engine.web.network import Deadline

    deadline = Deadline(request["seconds"], stopped)
    try:
        pages = _fetched(request, deadline) if effect["kind"] == "fetch" else _found(request, deadline)
    except WebFailure as failure:
        return _failed(failure.outcome, failure.message)
    except EngineError as error:
        return files.failure(error)
    return {"state": "resolved", "pages": json.dumps(pages)}


def missing_library() -> str | None:
    """A library that reading the web needs and this environment lacks; None where there are all."""
    return next((name for name in _LIBRARIES if find_spec(name) is None), None)


def offer_search(db: Handle, run: str, lease: str) -> None:
    """Tell models of the tool `search` where this process can search, for as long as it drives the run."""
    if db.recorded is not None:
        searches = db.recorded.searched(run)
    else:
        from engine.web.choice import chosen_engine

        searches = chosen_engine(db.value("select value from settings where name = 'search_engine'")) is not None
    if searches:
        db.insert("_offer_search", run=run, lease=lease)


def _failed(outcome: str, message: str) -> dict[str, Any]:
    return {"state": "failed", "outcome": outcome, "message": message}


def _fetched(request: Row, deadline: Any) -> list[dict[str, Any]]:
    """The page of a request, with a null body where it has not changed."""
    from engine.web.addresses import Policy
    from engine.web.fetching import Limits, fetch
    from engine.web.reading import read

    path = request["target"]
    answer = fetch(
        path,
        limits=Limits(request["size"], request["redirects"]),
        policy=Policy.of_user(request["hosts"]),
        deadline=deadline,
        conditions={"If-None-Match": request["etag"], "If-Modified-Since": request["last_modified"]},
    )
    if answer.body is None:
        return [{"path": path, "body": None, "attributes": {}}]
    page = read(answer, deadline, request["size"])
    attributes = {
        "title": page.title,
        "date": page.date,
        "url": None if answer.url == path else answer.url,
        "content_type": answer.content_type or None,
        "etag": answer.etag,
        "last_modified": answer.last_modified,
    }
    return [{"path": path, "body": page.text, "attributes": attributes}]


def _found(request: Row, deadline: Any) -> list[dict[str, Any]]:
    """The pages that a search finds, each with what the engine says of it."""
    from engine.web.addresses import Policy
    from engine.web.choice import chosen_engine, own_host
    from engine.web.failures import WebFailure
    from engine.web.fetching import Limits
    from engine.web.searching import search

    engine = chosen_engine(request["search_engine"])
    if engine is None:
        raise WebFailure("unsupported", f"no search engine is set up: set search_engine, or {how_to_install('web')}")
    hits = search(
        request["target"].strip(),
        engine,
        request["results"],
        limits=Limits(request["size"], request["redirects"]),
        policy=Policy.of_user(also=own_host()),
        deadline=deadline,
    )
    return [{"path": hit.url, "body": hit.snippet, "attributes": {"title": hit.title}} for hit in hits]

"""Searches the web: by a SearXNG, whose address a person gives, or by ddgs, which needs no key."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import httpx2

from engine.functions.paths import MAXIMUM_PATH
from engine.system.installing import how_to_install

from .addresses import Policy
from .failures import WebFailure
from .fetching import Answer, Limits, fetch
from .network import Deadline
from .reading import one_line

_LONGEST_SNIPPET = 1_000


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that was found: its address, its title, and what the search engine says of it."""

    url: str
    title: str | None
    snippet: str


def search(query: str, engine: str, count: int, *, limits: Limits, policy: Policy, deadline: Deadline) -> list[Hit]:
    """At most `count` pages for `query`, from `engine`: the address of a SearXNG, or 'ddgs'.

    Raises `WebFailure` where the engine cannot be asked or refuses.
    """
    found = (
        _ask_ddgs(query, count, deadline) if engine == "ddgs" else _ask_searxng(query, engine, limits, policy, deadline)
    )
    hits: dict[str, Hit] = {}
    for given in found:
        hit = _hit(given)
        if hit and hit.url not in hits and len(hits) < count:
            hits[hit.url] = hit
    return list(hits.values())


def _hit(given: Any) -> Hit | None:
    """A result as engines give it; None for one that is no page of the web, or whose address is too long for a path."""
    if not isinstance(given, dict):
        return None
    try:
        url = httpx2.URL(str(given.get("url") or given.get("href") or ""))
    except (httpx2.InvalidURL, ValueError):
        return None
    path = str(url)
    if url.scheme not in ("http", "https") or not url.host or url.userinfo or len(path) > MAXIMUM_PATH:
        return None
    snippet = str(given.get("content") or given.get("body") or "").strip()[:_LONGEST_SNIPPET]
    title = one_line(given.get("title"))
    return Hit(path, title, snippet or title or path)


def _ask_searxng(query: str, engine: str, limits: Limits, policy: Policy, deadline: Deadline) -> list[Any]:
    try:
        url = str(httpx2.URL(engine.rstrip("/") + "/search", params={"q": query, "format": "json"}))
        answer: Answer = fetch(url, limits=limits, policy=policy, deadline=deadline)
        found = json.loads(answer.body or b"")["results"]
    except WebFailure as failure:
        if failure.outcome == "status:403":
            raise WebFailure("status:403", f"{engine} refused; add json to search.formats in its settings") from None
        raise
    except httpx2.InvalidURL as error:
        raise WebFailure("validation", f"search_engine {engine!r} is not the address of a SearXNG ({error})") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise WebFailure("unreachable", f"{engine} returned no JSON; check that it is a SearXNG") from error
    return found if isinstance(found, list) else []


def _ask_ddgs(query: str, count: int, deadline: Deadline) -> list[Any]:
    try:
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException
    except ImportError:
        raise WebFailure(
            "unsupported", f"searching without a SearXNG needs an extra: {how_to_install('web')}"
        ) from None
    try:
        found = deadline.call(lambda: DDGS(timeout=max(1, int(deadline.seconds))).text(query, max_results=count))
    except TimeoutException as error:
        raise WebFailure("timeout", f"the search engines took too long ({str(error)[:200]})") from error
    except RatelimitException as error:
        raise WebFailure(
            "status:429", f"the search engines refuse more searches for now ({str(error)[:200]})"
        ) from error
    except DDGSException as error:
        if "no results" in str(error).lower():
            return []
        raise WebFailure("unreachable", f"the search engines cannot be reached ({str(error)[:200]})") from error
    return list(found)

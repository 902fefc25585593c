"""Searches of a run: what they list, what entries they leave, where the tool is told of, how failures are told.

Each run is driven by a scripted model; a server on loopback answers as a SearXNG does.

spec: @tool_search
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from driving import DONE, GO_ON
from web_server import Web, page, raw, web
from web_session import TEXT, Session

import engine
from engine.models.protocol import Completion, Request


@pytest.fixture
def site() -> Iterator[Web]:
    with web() as server:
        yield server


@pytest.fixture(autouse=True)
def _loopback_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_WEB_ALLOW", "127.0.0.1")


@pytest.fixture
def session(db: engine.Database, tmp_path: Path) -> Session:
    return Session(db, tmp_path)


def results(*found: tuple[str, str, str]) -> Any:
    """A SearXNG that finds these pages, as address, title and snippet."""
    rows = [{"url": url, "title": title, "content": content} for url, title, content in found]
    return raw(json.dumps({"query": "q", "results": rows}).encode(), "application/json")


def tools_told(db: engine.Database) -> bool:
    told = db.value("select group_concat(body, '') from packet_texts where role = 'system'")
    return "## <search>" in told or ", search, " in told


@pytest.fixture
def searxng(site: Web, monkeypatch: pytest.MonkeyPatch) -> Web:
    monkeypatch.setenv("ENGINE_SEARCH", site.url)
    site.routes["/search"] = results(
        (f"{site.url}/one", "One\n page", "all of one"),
        (f"{site.url}/two", "Two", ""),
        (f"{site.url}/one", "One again", "twice"),
        ("javascript:alert(1)", "Bad", "bad"),
        ("http://u:p@a/", "Bad", "bad"),
        (f"{site.url}/{'x' * 600}", "Long", "too long for a path"),
        (f"{site.url}/three", "Three", "c"),
    )
    return site


def test_a_search_lists_pages_and_keeps_them_in_short(session: Session, searxng: Web) -> None:
    session.say("<search>label  printer & port</search>")
    url = searxng.url
    assert tools_told(session.db)
    assert session.told() == (
        "resolved",
        None,
        f"search 'label  printer & port': 3 found\n* {url}/one - One page\n* {url}/two - Two\n* {url}/three - Three",
    )
    assert searxng.asked[0][0] == "/search?q=label++printer+%26+port&format=json"
    assert len(searxng.asked) == 1
    found = session.entry(f"{url}/one")
    assert (found["body"], found["visibility"], found["attributes"]) == (
        "all of one",
        "summarized",
        {"title": "One page", "stub": 1},
    )


def test_a_get_reads_what_was_found(session: Session, searxng: Web) -> None:
    searxng.routes["/one"] = page("the whole page", TEXT)
    path = f"{searxng.url}/one"
    session.say('<search results="1">label</search>', f'<get path="{path}"/>', "<search>label</search>")
    entry = session.entry(path)
    assert (entry["body"], entry["visibility"]) == ("the whole page", "summarized")
    assert "stub" not in entry["attributes"]
    assert session.db.value("select count(*) from known_entries where scheme = 'http'") == 3


def test_an_entry_is_not_replaced_by_what_a_search_says_of_it(session: Session, searxng: Web) -> None:
    path = f"{searxng.url}/one"
    session.say(f'<set path="{path}">mine</set>{GO_ON}', "<search>label</search>")
    assert session.entry(path)["body"] == "mine"


@pytest.mark.parametrize(
    ("engine_says", "outcome", "told"),
    [
        (raw(b"[1", "application/json"), "unreachable", "returned no JSON; check that it is a SearXNG"),
        (page("<p>hello"), "unreachable", "returned no JSON; check that it is a SearXNG"),
        (lambda handler: handler.give(403), "status:403", "add json to search.formats in its settings"),
        (lambda handler: handler.give(429), "status:429", "answered HTTP 429"),
    ],
)
def test_a_search_that_fails_is_told(engine_says: Any, outcome: str, told: str, session: Session, searxng: Web) -> None:
    searxng.routes["/search"] = engine_says
    session.say("<search>label</search>")
    assert session.told()[:2] == ("failed", outcome)
    assert told in session.told()[2]


def test_a_search_needs_words_and_may_find_nothing(session: Session, searxng: Web) -> None:
    searxng.routes["/search"] = results()
    session.say("<search>label</search>")
    assert session.told() == ("resolved", None, "search 'label': 0 found")
    session.say("<search> </search>")
    assert session.told()[:2] == ("failed", "validation")


def test_search_is_told_of_only_where_it_can_be_done(
    session: Session, site: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.say("<search>label</search>")
    assert not tools_told(session.db)
    assert session.told()[:2] == ("failed", "permission")
    monkeypatch.setenv("ENGINE_SEARCH", "ddgs")
    session.say()
    assert tools_told(session.db)


class DrivesAnother:
    """A model that, while it is asked, has another handle drive another run, with another answer to who can search."""

    name = "drives-another"

    def __init__(self, db: engine.Database, monkeypatch: pytest.MonkeyPatch, other: str) -> None:
        self._db = db
        self._monkeypatch = monkeypatch
        self._other = other
        self.opened: list[list[str]] = []

    def complete(self, request: Request, on_delta: object = None, cancelled: object = None) -> Completion:
        if request.position == 0:
            self._monkeypatch.setenv("ENGINE_SEARCH", self._other)
            with engine.open(self._db.path) as second:
                second.run("Look", run="other", root=None, model=Asks(second, self.opened))
        self.opened.append(open_tools(self._db, "demo"))
        return Completion(GO_ON if request.position == 0 else DONE)


class Asks:
    """A model that notes which tools its run has."""

    name = "asks"

    def __init__(self, db: engine.Database, opened: list[list[str]]) -> None:
        self._db = db
        self._opened = opened

    def complete(self, request: Request, on_delta: object = None, cancelled: object = None) -> Completion:
        self._opened.append(open_tools(self._db, "other"))
        return Completion(DONE)


def open_tools(db: engine.Database, run: str) -> list[str]:
    of_run = "select id from loops where run_id = (select id from runs where alias = ?)"
    return [row["name"] for row in db.rows(f"select name from _loop_tools where loop_id in ({of_run})", (run,))]


@pytest.mark.parametrize(("own", "other"), [("none", "ddgs"), ("ddgs", "none")])
def test_each_driver_of_a_file_decides_for_its_own_run(
    db: engine.Database, monkeypatch: pytest.MonkeyPatch, own: str, other: str
) -> None:
    monkeypatch.setenv("ENGINE_SEARCH", own)
    model = DrivesAnother(db, monkeypatch, other)
    assert db.run("Look", run="demo", root=None, model=model).status == 200
    assert ["search" in tools for tools in model.opened] == [other == "ddgs", own == "ddgs", own == "ddgs"]
    assert "search" not in open_tools(db, "demo")  # nobody drives it now
    with pytest.raises(engine.Conflict):
        db.insert("_offer_search", run="demo", lease="of another")


def test_a_search_engine_that_the_file_names_has_to_be_public(
    session: Session, searxng: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file from elsewhere sends nobody's words to a server inside."""
    monkeypatch.delenv("ENGINE_SEARCH")
    monkeypatch.delenv("ENGINE_WEB_ALLOW")
    session.db.execute("update settings set value = ? where name = 'search_engine'", (searxng.url,))
    session.say("<search>label</search>")
    assert session.told()[:2] == ("failed", "permission")
    assert searxng.asked == []
    monkeypatch.setenv("ENGINE_SEARCH", searxng.url)
    session.say("<search>label</search>")
    assert session.told()[0] == "resolved"


def test_no_web_closes_the_search(db: engine.Database, tmp_path: Path, searxng: Web) -> None:
    session = Session(db, tmp_path, no_web=True)
    session.say("<search>label</search>")
    assert not tools_told(db)
    assert session.told()[:2] == ("failed", "permission")
    assert searxng.asked == []

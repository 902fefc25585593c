"""Pages of the web that attack whoever reads them. Real servers on loopback answer.

1. What stands beside a page of a run as its version is sent in no header unless a server may have sent it, and breaks no
run. 2. A charset that is none is passed over. 3. A text that is larger than a page may be is not handed over. 4. A server
of the user's own that drips does not hold the hint at its models.

spec: @web_pages @web_limits @model_names
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from web_server import Web, dripping, page, web
from web_session import TEXT, Session

import engine
from engine.keys.providers import Provider
from engine.models.providers import Endpoint
from engine.models.served import served_models
from engine.web import reading
from engine.web.failures import WebFailure
from engine.web.fetching import Answer
from engine.web.network import Deadline
from engine.web.reading_process import decode


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    with web() as server:
        monkeypatch.setenv("ENGINE_WEB_ALLOW", f"127.0.0.1:{server.port}")
        yield server


MARKS = (5, 1e308, True, "a\r\nX-Evil: 1", "a\0b", "\u00e9\u202e", "a" * 100_000, "")


def test_a_version_that_no_server_sent_is_not_sent_and_breaks_no_run(
    db: engine.Database, tmp_path: Path, site: Web
) -> None:
    session = Session(db, tmp_path)
    session.get("known://nothing")
    for number, mark in enumerate(MARKS):
        path = f"/{number}"
        site.routes[path] = page("new words", TEXT)
        attributes = {"fetched_at": "2020-01-01T00:00:00Z", "etag": mark, "last_modified": mark}
        db.insert("verb_set", run="demo", path=site.url + path, body="old", attributes=json.dumps(attributes))
        assert session.get(site.url + path)[0] == "resolved"
        assert session.entry(site.url + path)["body"] == "new words"
    names = {name.lower() for _, headers in site.asked for name in headers}
    assert len(site.asked) == len(MARKS)
    assert names == {"host", "user-agent", "accept", "accept-encoding", "connection"}


@pytest.mark.parametrize("charset", ["a\0b", "rot13", "idna", "undefined", "../x", "x" * 3_000, "\ud800"])
def test_a_charset_that_is_none_is_passed_over(charset: str) -> None:
    assert decode("é words".encode(), charset) == "é words"


def test_a_text_that_is_too_large_is_not_handed_over() -> None:
    """A small PDF may hold gigabytes of text; what reads it says so, and sends none of it."""
    answer = Answer("http://example.org/", "text/plain", None, None, None, b"a" * 1_000)
    deadline = Deadline(300, threading.Event())
    assert reading._ask(answer, deadline, 999) == {"failure": "is too large", "large": True}
    with pytest.raises(WebFailure, match=r"the text of .* has more than 999 bytes") as caught:
        reading.read(answer, deadline, 999)
    assert caught.value.outcome == "overflow"
    assert reading.read(answer, deadline, 1_000).text == "a" * 1_000


@pytest.mark.parametrize("first", [b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\n\r\n["])
def test_a_server_that_drips_does_not_hold_the_hint_at_its_models(
    first: bytes, site: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.models.served._ALL_SECONDS", 0.3)
    site.routes["/models"] = dripping(first)
    told = list[list[str] | None]()
    at = Endpoint(Provider("mine", (), "MINE_URL", ""), site.url, True, "")
    asking = threading.Thread(target=lambda: told.append(served_models(at)), daemon=True)
    asking.start()
    asking.join(60)
    assert told == [None]

"""Fetching: what is too large, too slow, broken, or no text. Real servers on loopback answer.

spec: @web_limits
"""

from __future__ import annotations

import gzip
import threading
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from web_fetch import SIZE, got, refused
from web_server import Web, bomb, dripping, page, raw, tagged, to, web, wrote

from engine.functions.limits import Stopped
from engine.web.addresses import Policy
from engine.web.failures import WebFailure
from engine.web.fetching import Limits, fetch
from engine.web.network import Deadline
from engine.web.reading import read as in_process_of_its_own
from engine.web.reading_process import read


@pytest.fixture
def site() -> Iterator[Web]:
    with web() as server:
        yield server


@pytest.fixture(autouse=True)
def _loopback_is_allowed(monkeypatch: pytest.MonkeyPatch, site: Web) -> None:
    monkeypatch.setenv("ENGINE_WEB_ALLOW", f"127.0.0.1:{site.port}")


def test_redirects_have_an_end(site: Web) -> None:
    site.routes["/"] = to("/")
    assert refused(site.url) == ("unsupported", f"{site.url} redirects more than 3 times")
    assert len(site.asked) == 4


@pytest.mark.parametrize("packing", ["gzip", "deflate"])
@pytest.mark.parametrize("length", [0, 1, 65_535, 65_536, 65_537, SIZE])
def test_packed_pages_are_unpacked(packing: str, length: int, site: Web) -> None:
    body = b"ab" * (length // 2) + b"c" * (length % 2)
    packed = gzip.compress(body) if packing == "gzip" else zlib.compress(body)
    site.routes["/"] = raw(packed, "text/plain", Content_Encoding=packing)
    assert got(site.url).body == body


def test_a_packing_without_its_frame_and_one_of_two_parts_are_read(site: Web) -> None:
    bare = zlib.compressobj(wbits=-15)
    site.routes["/bare"] = raw(bare.compress(b"bare") + bare.flush(), "text/plain", Content_Encoding="deflate")
    site.routes["/two"] = raw(gzip.compress(b"one ") + gzip.compress(b"two"), "text/plain", Content_Encoding="gzip")
    assert got(site.url + "/bare").body == b"bare"
    assert got(site.url + "/two").body == b"one two"


@pytest.mark.parametrize("named", [True, False])
def test_a_page_above_the_limit_is_not_read(named: bool, site: Web) -> None:
    length = {} if named else {"Content_Length": ""}
    site.routes["/"] = raw(b"x" * (SIZE + 1), "text/plain", **length)
    assert refused(site.url) == ("overflow", f"{site.url} has more than {SIZE} bytes (setting web_max_bytes)")


def test_a_bomb_is_never_unpacked(site: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked: list[int] = []
    real = zlib.decompressobj

    class Counting:
        def __init__(self, *arguments: Any) -> None:
            self._real = real(*arguments)

        def decompress(self, data: bytes, most: int) -> bytes:
            piece = self._real.decompress(data, most)
            unpacked.append(len(piece))
            return piece

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

    monkeypatch.setattr("engine.web.fetching.zlib.decompressobj", Counting)
    site.routes["/"] = raw(bomb(60), "text/plain", Content_Encoding="gzip")
    assert refused(site.url)[0] == "overflow"
    assert sum(unpacked) <= SIZE + 65_536


def test_a_packing_that_was_not_asked_for_is_no_text(site: Web) -> None:
    site.routes["/"] = raw(b"?", "text/plain", Content_Encoding="br")
    assert refused(site.url) == ("unsupported", f"{site.url} is compressed as 'br', which cannot be read")


@pytest.mark.parametrize("body", [gzip.compress(b"x" * 5000)[:-20], b"no gzip at all"], ids=["cut", "other"])
def test_a_broken_packing_is_told(body: bytes, site: Web) -> None:
    site.routes["/"] = raw(body, "text/plain", Content_Encoding="gzip")
    assert refused(site.url)[0] == "unreachable"


@pytest.mark.parametrize(
    "kind", ["image/png", "application/octet-stream", "video/mp4", "application/zip", "font/woff2"]
)
def test_what_is_no_text_is_not_read(kind: str, site: Web) -> None:
    site.routes["/"] = raw(b"\0" * 10, kind)
    assert refused(site.url) == ("unsupported", f"{site.url} is {kind}, which is not text")


@pytest.mark.parametrize(
    ("status", "outcome"), [(404, "not_found"), (410, "not_found"), (403, "status:403"), (503, "status:503")]
)
def test_a_status_is_told(status: int, outcome: str, site: Web) -> None:
    site.routes["/"] = lambda handler: handler.give(status, b"sorry")
    assert refused(site.url)[0] == outcome


def test_a_server_that_is_not_there_is_told(site: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_WEB_ALLOW", "127.0.0.1")
    outcome, message = refused("http://127.0.0.1:1/")
    assert outcome == "unreachable"
    assert message.startswith("127.0.0.1 cannot be reached on port 1 (")


def test_only_so_much_may_come_before_the_answer(site: Web) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
    site.routes["/some"] = wrote(early * 9 + b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhere")
    assert got(site.url + "/some").body == b"here"
    site.routes["/many"] = wrote(early * (300_000 // len(early)))
    assert refused(site.url + "/many") == ("overflow", "127.0.0.1 sent more than 262,144 bytes before its answer")


def test_what_is_no_http_is_told(site: Web) -> None:
    site.routes["/"] = wrote(b"SSH-2.0-OpenSSH_9.2\r\n")
    site.routes["/short"] = lambda handler: handler.give(200, b"half", Content_Type="text/plain", Content_Length="100")
    assert refused(site.url)[0] == "unreachable"
    assert refused(site.url + "/short")[0] == "unreachable"


@pytest.mark.parametrize(
    "first", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", b""]
)
def test_a_server_that_drips_does_not_hold_the_engine(first: bytes, site: Web) -> None:
    site.routes["/"] = dripping(first)
    assert refused(site.url, seconds=0.5) == ("timeout", "gave up after 0.5 s")


def test_a_resolver_that_hangs_does_not_hold_the_engine(site: Web) -> None:
    def hanging(*_: Any) -> list[str]:
        site.closing.wait(60)
        return []

    assert refused("http://slow.test/", resolving=hanging, seconds=0.3)[0] == "timeout"


def test_a_stop_ends_a_fetch(site: Web) -> None:
    stopped = threading.Event()

    def stopping(handler: Any) -> None:
        stopped.set()
        handler.server.closing.wait(60)

    site.routes["/"] = stopping
    with pytest.raises(Stopped):
        fetch(site.url, limits=Limits(SIZE, 0), policy=Policy.of_user(), deadline=Deadline(60, stopped))


def test_nothing_is_unchanged_that_was_never_sent(site: Web) -> None:
    site.routes["/"] = lambda handler: handler.give(304)
    assert refused(site.url)[0] == "unreachable"


def test_a_redirect_to_an_endless_address_is_refused(site: Web) -> None:
    site.routes["/"] = to("/" + "a" * 3000)
    assert refused(site.url)[0] == "validation"


def test_what_has_not_changed_is_not_sent_again(site: Web) -> None:
    site.routes["/"] = tagged('"v1"', "text")
    first = got(site.url)
    assert (first.body, first.etag, first.charset) == (b"text", '"v1"', "utf-8")
    assert got(site.url, conditions={"If-None-Match": '"v1"', "If-Modified-Since": None}).body is None


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain; charset=iso-8859-1", "Grüße –".encode("cp1252"), "Grüße –"),
        ("text/plain", "Grüße".encode(), "Grüße"),
        ("text/plain; charset=nonsense", "Grüße".encode(), "Grüße"),
        ("text/plain", "\ufeffGrüße".encode("utf-16-le"), "Grüße"),
        ('text/plain; charset="shift_jis"', "日本語".encode("shift_jis"), "日本語"),
        ("text/html", b'<meta charset="koi8-r"><p>' + "Привет, мир".encode("koi8-r") + b"</p>", "Привет, мир"),
        ("", b"<!doctype html><title>T</title><p>No type</p>", "No type"),
        ("text/html; charset=idna", b"<p>one</p><script>no</script>", "one"),
        ("application/vnd.api+json", b'{"a": 1}', '{"a": 1}'),
    ],
)
def test_a_page_is_read_in_its_own_charset(kind: str, body: bytes, text: str, site: Web) -> None:
    site.routes["/"] = raw(body, kind)
    answer = got(site.url)
    assert answer.body is not None
    # in this process: the one that does it for the engine takes its time to start
    assert read(answer.body, answer.content_type, answer.charset, answer.url)["text"] == text


def test_a_page_that_takes_long_to_read_does_not_hold_the_engine(site: Web) -> None:
    site.routes["/"] = page("<table>" + "<tr><td>x" * 10_000)
    with pytest.raises(WebFailure, match=r"gave up after 0\.2 s"):
        in_process_of_its_own(got(site.url), Deadline(0.2, threading.Event()), SIZE)

"""Fetching: what may be reached, what is judged again and again, what is too large, too slow, or no text.

Real servers on loopback answer. Names are resolved by a table that the test gives to the real client, because no test can
count on a name server.

spec: @web_addresses @web_limits
"""

from __future__ import annotations

import gzip
import ipaddress
import threading
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from web_server import Web, bomb, dripping, page, raw, tagged, to, web, wrote

import engine
from engine.functions.limits import Stopped
from engine.web.addresses import Policy, is_public
from engine.web.failures import WebFailure
from engine.web.fetching import Answer, Limits, fetch
from engine.web.network import Deadline, Resolve, resolve
from engine.web.reading import read as in_process_of_its_own
from engine.web.reading_process import read

SIZE = 100_000


@pytest.fixture
def site() -> Iterator[Web]:
    with web() as server:
        yield server


@pytest.fixture(autouse=True)
def _loopback_is_allowed(monkeypatch: pytest.MonkeyPatch, site: Web) -> None:
    monkeypatch.setenv("ENGINE_WEB_ALLOW", f"127.0.0.1:{site.port}")


def got(
    url: str,
    *,
    resolving: Resolve = resolve,
    seconds: float = 60,
    hosts: str | None = None,
    redirects: int = 3,
    **more: Any,
) -> Answer:
    """What is fetched under the limits of these tests."""
    return fetch(
        url,
        limits=Limits(SIZE, redirects),
        policy=Policy.of_user(hosts),
        deadline=Deadline(seconds, threading.Event()),
        resolving=resolving,
        **more,
    )


def refused(url: str, **more: Any) -> tuple[str, str]:
    """The outcome and the message of a fetch that fails."""
    with pytest.raises(WebFailure) as caught:
        got(url, **more)
    return caught.value.outcome, caught.value.message


PRIVATE = """
0.0.0.0 10.0.0.1 100.64.0.1 127.0.0.1 127.8.8.8 169.254.169.254 172.16.0.1 192.0.2.1 192.168.1.1 198.18.0.1 224.0.0.1
240.0.0.1 255.255.255.255 :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::1
2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:db8::1 2002:7f00:1:: 3fff::1 4000::1 fc00::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1
"""


@pytest.mark.parametrize("address", PRIVATE.split())
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1", "2606:4700::1111"]
)
def test_a_public_address_is_not(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "2130706433", "0x7f.1", "127.1", "0", "[::1]", "[::ffff:127.0.0.1]", "LocalHost"]
)
def test_loopback_is_refused_however_it_is_spelt(host: str, site: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENGINE_WEB_ALLOW")
    site.routes["/"] = page()
    outcome, message = refused(f"http://{host}:{site.port}/")
    assert outcome == "permission"
    assert "no public address; ENGINE_WEB_ALLOW can allow it" in message
    assert site.asked == []


@pytest.mark.parametrize(
    "place", ["http://10.0.0.1/", "http://169.254.169.254/latest", "//[::1]/", "file:///etc/passwd", "ftp://a/"]
)
def test_a_redirect_is_judged_as_the_first_address(place: str, site: Web) -> None:
    site.routes["/"] = to(place)
    assert refused(site.url)[0] == "permission"


def test_a_redirect_to_a_name_that_leads_inside_is_refused(site: Web) -> None:
    site.routes["/"] = to("http://inside.test/secret")
    names = {"127.0.0.1": ["127.0.0.1"], "inside.test": ["8.8.8.8", "127.0.0.2"]}
    assert refused(site.url, resolving=lambda host, _: names[host]) == (
        "permission",
        "inside.test (127.0.0.2) is no public address; ENGINE_WEB_ALLOW can allow it",
    )
    assert [path for path, _ in site.asked] == ["/"]


def test_what_is_reached_is_what_was_judged(site: Web) -> None:
    """A name that leads elsewhere at its second resolution (DNS rebinding) is resolved once for each connection."""
    site.routes["/"] = page("one", "text/plain")
    answers = [["127.0.0.1"], ["10.0.0.1"]]
    seen: list[str] = []

    def rebinding(host: str, port: int) -> list[str]:
        seen.append(host)
        return answers.pop(0)

    assert got(f"http://rebind.test:{site.port}/", resolving=rebinding).body == b"one"
    assert seen == ["rebind.test"]
    assert site.asked[0][1]["Host"] == f"rebind.test:{site.port}"
    assert refused(f"http://rebind.test:{site.port}/", resolving=rebinding)[0] == "permission"


def test_only_the_ports_of_the_web_are_open(monkeypatch: pytest.MonkeyPatch) -> None:
    assert refused("http://public.test:25/", resolving=lambda *_: ["8.8.8.8"]) == (
        "permission",
        "public.test: port 25 is not 80 or 443; ENGINE_WEB_ALLOW can allow it",
    )


@pytest.mark.parametrize(
    ("url", "outcome"),
    [
        ("http://user:secret@127.0.0.1/", "permission"),
        ("http:///nowhere", "permission"),
        ("http://127.0.0.1:99999/", "validation"),
        ("http://exa\tmple/", "validation"),
        ("http://" + "a" * 300 + ".test/", "not_found"),
    ],
)
def test_an_address_that_is_none_is_told(url: str, outcome: str) -> None:
    assert refused(url)[0] == outcome


def test_a_person_may_narrow_the_hosts(site: Web) -> None:
    site.routes["/"] = page()
    site.routes["/away"] = to("http://b.test/")
    assert got(site.url, hosts="*.example.org, 127.0.0.1").body
    assert refused(site.url, hosts="*.example.org") == (
        "permission",
        "127.0.0.1 is none of the hosts that may be read (setting web_hosts)",
    )
    assert refused(site.url + "/away", hosts="127.0.0.1")[1].startswith("b.test is none of the hosts")


def test_a_word_that_allows_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_WEB_ALLOW", "10.0.0.0/8 *.local")
    with pytest.raises(
        engine.ValidationError, match=r"400 ENGINE_WEB_ALLOW: '\*\.local' is neither a host nor a network"
    ):
        Policy.of_user()


def test_a_host_may_be_allowed_by_its_name(site: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_WEB_ALLOW", f"wiki.test:{site.port}")
    site.routes["/"] = page("inside", "text/plain")
    assert got(f"http://Wiki.test:{site.port}/", resolving=lambda *_: ["127.0.0.1"]).body == b"inside"
    assert refused(site.url)[0] == "permission"


def test_proxies_and_keys_of_the_environment_are_not_used(site: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    site.routes["/"] = page("plain", "text/plain")
    assert got(site.url).body == b"plain"
    assert {"Authorization", "Cookie", "Referer"}.isdisjoint(site.asked[0][1])


def test_a_cookie_and_a_credential_do_not_travel(site: Web) -> None:
    site.routes["/"] = lambda handler: handler.give(302, Location="/next", Set_Cookie="a=b")
    site.routes["/next"] = page("there", "text/plain")
    assert got(site.url + "/#part").url == f"{site.url}/next"
    assert "Cookie" not in site.asked[1][1]


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
    assert refused(site.url) == ("unsupported", f"{site.url} is packed as 'br', which was not asked for")


@pytest.mark.parametrize("body", [gzip.compress(b"x" * 5000)[:-20], b"no gzip at all"])
def test_a_broken_packing_is_told(body: bytes, site: Web) -> None:
    site.routes["/"] = raw(body, "text/plain", Content_Encoding="gzip")
    assert refused(site.url)[0] == "unreachable"


@pytest.mark.parametrize(
    "kind", ["image/png", "application/octet-stream", "video/mp4", "application/zip", "font/woff2"]
)
def test_what_is_no_text_is_not_read(kind: str, site: Web) -> None:
    site.routes["/"] = raw(b"\0" * 10, kind)
    assert refused(site.url) == ("unsupported", f"{site.url} is {kind}, which is no text")


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

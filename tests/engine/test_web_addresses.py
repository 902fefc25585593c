"""What of the web may be reached: which addresses are public, and that each is judged again at each redirect and connection.

Real servers on loopback answer. Names are resolved by a table that the test gives to the real client, because no test can
count on a name server.

spec: @web_addresses
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

import pytest
from web_fetch import got, refused
from web_server import Web, page, to, web

import engine
from engine.web.addresses import Policy, is_public


@pytest.fixture
def site() -> Iterator[Web]:
    with web() as server:
        yield server


@pytest.fixture(autouse=True)
def _loopback_is_allowed(monkeypatch: pytest.MonkeyPatch, site: Web) -> None:
    monkeypatch.setenv("ENGINE_WEB_ALLOW", f"127.0.0.1:{site.port}")


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
    assert "not a public address; to allow it, set ENGINE_WEB_ALLOW" in message
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
        "inside.test (127.0.0.2) is not a public address; to allow it, set ENGINE_WEB_ALLOW",
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
        "public.test: port 25 is not 80 or 443; to allow it, set ENGINE_WEB_ALLOW",
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
        "127.0.0.1 may not be read; the setting web_hosts lists the allowed hosts",
    )
    assert refused(site.url + "/away", hosts="127.0.0.1")[1].startswith("b.test may not be read")


def test_a_word_that_allows_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_WEB_ALLOW", "10.0.0.0/8 *.local")
    with pytest.raises(engine.ValidationError, match=r"400 ENGINE_WEB_ALLOW: '\*\.local' is not a host or a network"):
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

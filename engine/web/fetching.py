"""Fetches one address: redirects, sizes, types and packings have limits, and every hop is judged as the first.

The client sends no cookies, no credentials and no referrer, and takes no proxy from the environment.

spec: @web_limits
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version

import httpcore2
import httpx2

from .addresses import Policy
from .failures import WebFailure
from .network import Deadline, Network, Resolve, resolve

_TYPE = re.compile(r"[\w.+-]{1,60}/[\w.+-]{1,60}", re.ASCII)
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TYPES = frozenset(
    {
        "",
        "application/ecmascript",
        "application/javascript",
        "application/json",
        "application/pdf",
        "application/toml",
        "application/x-ndjson",
        "application/xhtml+xml",
        "application/xml",
        "application/yaml",
    }
)
ARCHIVES = frozenset(
    {"application/zip", "application/x-zip-compressed", "application/octet-stream", "binary/octet-stream"}
)
"""Types of what is no page and may be a zip."""
_STRUCTURED = ("+json", "+xml", "+yaml")
_ACCEPT = "text/html, application/xhtml+xml, application/pdf;q=0.8, text/*;q=0.8, */*;q=0.5"
_STEP = 65_536
_LONGEST_URL = 2_048
_LONGEST_MARK = 500


@dataclass(frozen=True, slots=True)
class Limits:
    """The most bytes of a body, unpacked, and the most redirects."""

    size: int
    redirects: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server sent: the `url` that it came from in the end, and the unpacked `body`; None where it has not changed.

    `content_type` is in lower case and without parameters, '' where there is none. `charset`, `etag` and `last_modified` are
    as the server sent them.
    """

    url: str
    content_type: str
    charset: str | None
    etag: str | None
    last_modified: str | None
    body: bytes | None


def fetch(
    url: str,
    *,
    limits: Limits,
    policy: Policy,
    deadline: Deadline,
    conditions: Mapping[str, object] | None = None,
    resolving: Resolve = resolve,
    also: frozenset[str] = frozenset(),
) -> Answer:
    """Fetch `url`. `conditions` are headers under which the server says that nothing has changed; one that no server can
    have sent is left out.

    `also` are types that are taken although they are no text.

    Raises `WebFailure` where it is refused, broken, too large, too slow or no text; `Stopped` when it shall stop.
    """
    network = Network(policy, deadline, resolving)
    address = _parsed(url)
    asked = {name: mark for name, value in (conditions or {}).items() if (mark := _mark(value))}
    for _ in range(limits.redirects + 1):
        _check(address, policy)
        with _told(address, deadline), _asked(address, network, asked) as (status, headers, stream):
            if status in _REDIRECTS and "location" in headers:
                address = _parsed(headers["location"], address)
                continue
            if status == 304 and not asked:
                raise WebFailure("unreachable", f"{address} answered 'not modified' to a first request")
            return _answer(address, status, headers, stream, limits.size, also)
    raise WebFailure("unsupported", f"{url} redirects more than {limits.redirects} times")


def _parsed(text: str, base: httpx2.URL | None = None) -> httpx2.URL:
    try:
        url = base.join(text) if base else httpx2.URL(text)
        # raises for a host that is none
        return url.copy_with(fragment=None) if url.host else url
    except (httpx2.InvalidURL, UnicodeError, ValueError) as error:
        raise WebFailure("validation", f"{text[:200]!r} is not a web address ({error})") from error


def _check(url: httpx2.URL, policy: Policy) -> None:
    if url.scheme not in ("http", "https") or not url.host:
        raise WebFailure("permission", f"{str(url)[:200]!r} is not a web address: only http and https are read")
    if url.userinfo:
        raise WebFailure("permission", f"{url.host}: addresses with a user name or a password are not allowed")
    if len(str(url)) > _LONGEST_URL:
        raise WebFailure("validation", f"{url.host}: an address of more than {_LONGEST_URL} characters is not read")
    if not 0 < (url.port or 80) < 65536:
        raise WebFailure("validation", f"{url.host}: there is no port {url.port}")
    policy.expect_host(_name(url))


def _name(url: httpx2.URL) -> str:
    return url.raw_host.decode("ascii").lower().rstrip(".")


@contextmanager
def _told(url: httpx2.URL, deadline: Deadline) -> Iterator[None]:
    """Tell an error of the client as a `WebFailure`."""
    try:
        yield
    except httpcore2.TimeoutException as error:
        raise WebFailure("timeout", f"{url.host} gave no answer within {deadline.seconds:g} s") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, zlib.error) as error:
        raise WebFailure("unreachable", f"{url.host} gave an invalid answer ({str(error)[:200]})") from error


@contextmanager
def _asked(
    url: httpx2.URL, network: Network, conditions: Mapping[str, str]
) -> Iterator[tuple[int, httpx2.Headers, Iterable[bytes]]]:
    headers = {
        "Host": url.netloc.decode("ascii"),
        "User-Agent": f"engine/{version('engine')}",
        "Accept": _ACCEPT,
        "Accept-Encoding": "gzip, deflate",
        "Connection": "close",
        **conditions,
    }
    target = httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
    with (
        httpcore2.ConnectionPool(network_backend=network, max_connections=1) as pool,
        pool.stream(
            "GET", target, headers=[(name.encode(), value.encode()) for name, value in headers.items()]
        ) as answer,
    ):
        network.has_answer()
        yield answer.status, httpx2.Headers(answer.headers), answer.iter_stream()


def _answer(
    url: httpx2.URL,
    status: int,
    headers: httpx2.Headers,
    stream: Iterable[bytes],
    size: int,
    also: frozenset[str],
) -> Answer:
    content_type, charset = _type(headers.get("content-type", ""))
    body = None
    if status != 304:
        if status in (404, 410):
            raise WebFailure("not_found", f"{url} was not found (HTTP {status})")
        if not 200 <= status < 300:
            raise WebFailure(f"status:{status}", f"{url} answered HTTP {status}")
        if (
            content_type not in _TYPES | also
            and not content_type.startswith("text/")
            and not content_type.endswith(_STRUCTURED)
        ):
            raise WebFailure("unsupported", f"{url} is {content_type}, which is not text")
        body = _body(url, headers, stream, size)
    etag, last_modified = (_mark(headers.get(name)) for name in ("etag", "last-modified"))
    return Answer(str(url), content_type, charset, etag, last_modified, body)


def _mark(value: object) -> str | None:
    """What a server calls this version of a page; None where it is too long to be kept, or cannot stand in a header."""
    named = isinstance(value, str) and 0 < len(value) <= _LONGEST_MARK and value.isascii() and value.isprintable()
    return str(value) if named else None


def _type(header: str) -> tuple[str, str | None]:
    """The media type and the charset of a Content-Type."""
    kind, *parameters = header.split(";")
    given = dict(pair for part in parameters if len(pair := [half.strip() for half in part.split("=", 1)]) == 2)
    charset = next((value for name, value in given.items() if name.lower() == "charset"), None)
    kind = kind.strip().lower()
    return kind if _TYPE.fullmatch(kind) else "", charset and charset.strip("\"'")


def _body(url: httpx2.URL, headers: httpx2.Headers, stream: Iterable[bytes], size: int) -> bytes:
    """The unpacked body. Not more than `size` bytes are ever unpacked, nor read."""
    too_large = WebFailure("overflow", f"{url} has more than {size} bytes (setting web_max_bytes)")
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > size:
        raise too_large
    packing = headers.get("content-encoding", "").strip().lower()
    if packing not in ("", "identity", "gzip", "x-gzip", "deflate"):
        raise WebFailure("unsupported", f"{url} is compressed as {packing!r}, which cannot be read")
    read = _at_most(size, stream, too_large)
    return b"".join(_at_most(size, read if packing in ("", "identity") else _unpacked(read, packing), too_large))


def _at_most(size: int, pieces: Iterable[bytes], too_large: WebFailure) -> Iterator[bytes]:
    for piece in pieces:
        size -= len(piece)
        if size < 0:
            raise too_large
        yield piece


def _unpacked(stream: Iterable[bytes], packing: str) -> Iterator[bytes]:
    """The stream without its packing, in pieces of at most 64 KB, so that a small one never becomes a large one at once."""
    window = 31 if "gzip" in packing else 15
    unpack = None
    for data in stream:
        if unpack is None:
            # some servers send 'deflate' without its frame
            unpack = zlib.decompressobj(-15 if packing == "deflate" and data[0] & 0x0F != 8 else window)
        while data:
            if unpack.eof:
                if "gzip" not in packing:
                    return
                unpack = zlib.decompressobj(window)  # a gzip file may have several parts
            piece = unpack.decompress(data, _STEP)
            data = unpack.unconsumed_tail or unpack.unused_data
            while piece:
                yield piece
                piece = b"" if data else unpack.decompress(b"", _STEP)
    if unpack is not None and not unpack.eof:
        raise WebFailure("unreachable", "the page ended too early")

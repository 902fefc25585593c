"""A proxy for HTTP and CONNECT outside of a sandbox, which lets a list of domains through and nothing else.

It listens on a unix socket, the only way out of the sandbox. It looks names up itself, connects to the address that it has
checked, and passes each connection on to one host. It does not look into what is encrypted: a server that answers for
several names answers for all of them.

spec: @sandbox_network
"""

from __future__ import annotations

import re
import shutil
import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

from engine.system.places import socket_folder

from .domains import Domain, is_public, parse

_HOST = re.compile(r"[a-z0-9._:-]+")
_HEAD_BYTES = 16_384
_PIECE = 65_536
_HEAD_SECONDS = 30.0
_CONNECT_SECONDS = 15.0
_IDLE_SECONDS = 120.0
_CONNECTIONS = 64
_REFUSED_KEPT = 10
_OF_THE_HOP = ("connection", "proxy-connection", "proxy-authorization", "keep-alive", "host")


class _RefusedError(Exception):
    """What is asked for is not passed on: `status` and reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Proxy:
    """Serves while its context is open. `socket` is where it listens, `refused` the hosts that it has not let through."""

    def __init__(self, network: str) -> None:
        self._domains = parse(network)
        self._folder = Path(tempfile.mkdtemp(prefix="engine-", dir=socket_folder()))
        self.socket = self._folder / "proxy"
        self.refused: list[str] = []
        self._room = threading.BoundedSemaphore(_CONNECTIONS)
        self._open: set[socket.socket] = set()
        self._listener = socket.socket(socket.AF_UNIX)

    def __enter__(self) -> Proxy:
        self._listener.bind(str(self.socket))
        self._listener.listen(_CONNECTIONS)
        threading.Thread(target=self._listen, name="proxy of a sandbox", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (self._listener, *list(self._open)):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _listen(self) -> None:
        with suppress(OSError):
            while True:
                inner, _ = self._listener.accept()
                self._room.acquire()
                self._open.add(inner)
                threading.Thread(target=self._serve, args=(inner,), daemon=True).start()

    def _serve(self, inner: socket.socket) -> None:
        try:
            with inner, suppress(OSError):
                self._pass_on(inner)
        finally:
            self._open.discard(inner)
            self._room.release()

    def _pass_on(self, inner: socket.socket) -> None:
        inner.settimeout(_HEAD_SECONDS)
        try:
            head, rest = _read_head(inner)
            host, port, first = _asked(head)
            outer = self._connect(host, port)
        except _RefusedError as error:
            inner.sendall(_answer(error.status, str(error)))
            return
        self._open.add(outer)
        try:
            with outer:
                outer.sendall(first + rest) if first else inner.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                if not first and rest:
                    outer.sendall(rest)
                _join(inner, outer)
        finally:
            self._open.discard(outer)

    def _connect(self, host: str, port: int) -> socket.socket:
        """A connection to a host that is let through, by an address that is public or was listed itself."""
        if not any(domain.lets_through(host, port) for domain in self._domains):
            self._refuse(host, port, "is not among the domains of --domains")
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise _RefusedError(502, f"{host}: no address was found") from None
        listed = Domain(host, None).name in {domain.name for domain in self._domains} and _is_local_name(host)
        addresses = [each for each in found if listed or is_public(str(each[4][0]))]
        if not addresses:
            self._refuse(host, port, "has an address of this machine or of a private network; list the address itself")
        for family, kind, protocol, _, address in addresses:
            outer = socket.socket(family, kind, protocol)
            outer.settimeout(_CONNECT_SECONDS)
            try:
                outer.connect(address)
            except OSError:
                outer.close()
                continue
            return outer
        raise _RefusedError(502, f"{host}:{port}: cannot be reached")

    def _refuse(self, host: str, port: int, why: str) -> None:
        name = f"{host}:{port}"
        if name not in self.refused and len(self.refused) < _REFUSED_KEPT:
            self.refused.append(name)
        raise _RefusedError(403, f"{name} {why}")


def _is_local_name(host: str) -> bool:
    """Whether a person who lists this host means a machine nearby: an address, or a name without a dot."""
    return "." not in host or ":" in host or host.replace(".", "").isdecimal()


def _read_head(inner: socket.socket) -> tuple[bytes, bytes]:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = inner.recv(_PIECE)
        if not piece or len(data) + len(piece) > _HEAD_BYTES:
            raise _RefusedError(400, "this is not a request for a proxy")
        data += piece
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _asked(head: bytes) -> tuple[str, int, bytes]:
    """The host and port that a request is for, and what to send there first; nothing for CONNECT."""
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1.") or any(map(_is_odd, lines)):
        raise _RefusedError(400, "this is not a request for a proxy")
    method, target, version = words
    connects = method == "CONNECT"
    try:
        url = urlsplit(f"//{target}" if connects else target)
        host, port = (url.hostname or "").rstrip("."), url.port or (0 if connects else 80)
    except ValueError:
        host, port = "", 0
    if not host or not port or url.scheme != ("" if connects else "http") or not _HOST.fullmatch(host):
        raise _RefusedError(400, "this is not an address for a proxy; use CONNECT for encrypted ones")
    if connects:
        return host, port, b""
    kept = [line for line in lines[1:] if line.partition(":")[0].strip().lower() not in _OF_THE_HOP]
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    named = f"[{host}]" if ":" in host else host
    first = [
        f"{method} {path} {version}",
        f"Host: {named}{'' if port == 80 else f':{port}'}",
        "Connection: close",
        *kept,
    ]
    return host, port, "\r\n".join([*first, "", ""]).encode("latin-1")


def _is_odd(line: str) -> bool:
    """Whether a line of a request could be read in two ways."""
    return line[:1] in (" ", "\t", "") or any(character in line for character in "\r\n\0")


def _answer(status: int, reason: str) -> bytes:
    body = f"engine: {reason}\n".encode()
    name = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway"}[status]
    head = f"HTTP/1.1 {status} {name}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + body


def _join(inner: socket.socket, outer: socket.socket) -> None:
    """Pass on what each says to the other until both are done."""
    for each in (inner, outer):
        each.settimeout(_IDLE_SECONDS)
    back = threading.Thread(target=_copy, args=(outer, inner), daemon=True)
    back.start()
    _copy(inner, outer)
    back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_PIECE):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)

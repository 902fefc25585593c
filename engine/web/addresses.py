"""Which addresses may be reached: public ones, on the ports of the web, and those that this user allows.

What a user allows stands in the variable ENGINE_WEB_ALLOW of his environment, never in a database: a file from elsewhere
opens no door to the network that it is opened in.

spec: @web_addresses
"""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from fnmatch import fnmatchcase

from engine.errors import ValidationError

from .failures import WebFailure

PORTS = frozenset({80, 443})
"""The ports that are open without being allowed by name."""

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_DOCUMENTATION = ipaddress.IPv6Network("3fff::/20")


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a user allows: a host by its name, or a network, on one port or, for None, on any."""

    host: str | None
    network: _Network | None
    port: int | None

    def covers(self, host: str, address: _Address, port: int) -> bool:
        """Whether it allows this address, which `host` was resolved to, on this port."""
        if self.port not in (None, port):
            return False
        return host == self.host if self.network is None else address in self.network


@dataclass(frozen=True, slots=True)
class Policy:
    """What may be reached. `hosts` are globs over host names, () for any; `allowed` are exceptions to the rule that an
    address is public and its port one of the web's.
    """

    hosts: tuple[str, ...] = ()
    allowed: tuple[Allowed, ...] = ()

    @classmethod
    def of_user(cls, hosts: str | None = None, also: str = "") -> Policy:
        """The policy of this user's environment, for the setting `web_hosts`; `also` is one more host that is allowed.

        Raises `ValidationError` (400) for a word of ENGINE_WEB_ALLOW that is neither a host nor a network.
        """
        words = os.environ.get("ENGINE_WEB_ALLOW", "").replace(",", " ").split()
        return cls(
            tuple((hosts or "").lower().replace(",", " ").split()),
            tuple(_exception(word) for word in [*words, *also.split()]),
        )

    def expect_host(self, host: str) -> None:
        """Raise `WebFailure` (permission) for a host that the setting `web_hosts` does not name."""
        if self.hosts and not any(fnmatchcase(host, pattern) for pattern in self.hosts):
            raise WebFailure("permission", f"{host} may not be read; the setting web_hosts lists the allowed hosts")

    def expect_address(self, host: str, address: str, port: int) -> None:
        """Raise `WebFailure` (permission) where `address`, to which `host` was resolved, may not be reached on `port`."""
        found = ipaddress.ip_address(address)
        if any(exception.covers(host, found, port) for exception in self.allowed):
            return
        if not is_public(found):
            said = host if host == address else f"{host} ({address})"
            raise WebFailure("permission", f"{said} is not a public address; to allow it, set ENGINE_WEB_ALLOW")
        if port not in PORTS:
            raise WebFailure("permission", f"{host}: port {port} is not 80 or 443; to allow it, set ENGINE_WEB_ALLOW")


def is_public(address: _Address) -> bool:
    """Whether an address belongs to the public internet; one that carries another address is judged by that one too."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if carried := address.ipv4_mapped or address.sixtofour:
            return is_public(carried)
        if address.teredo or address in _COMPATIBLE or address in _DOCUMENTATION or address.is_site_local:
            return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


def _exception(word: str) -> Allowed:
    """What a word of ENGINE_WEB_ALLOW allows: `HOST`, `HOST:PORT`, `10.0.0.0/8`, `[fd00::]/8`, `[::1]:8080`."""
    name, port = word, None
    head, colon, tail = word.rpartition(":")
    if colon and tail.isdecimal() and (":" not in head or head.endswith("]")):
        name, port = head, int(tail)
    name = name.replace("[", "").replace("]", "").lower().rstrip(".")
    try:
        return Allowed(None, ipaddress.ip_network(name, strict=False), port)
    except ValueError:
        if not name or "/" in name or "*" in name or ":" in name or (port or 0) > 65535:
            raise ValidationError(
                f"ENGINE_WEB_ALLOW: {word!r} is not a host or a network; write for example 10.0.0.0/8 or wiki:8080"
            ) from None
        return Allowed(name, None, port)

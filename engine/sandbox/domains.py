"""Which hosts a list of domains lets through, and which addresses."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass

from engine.errors import ValidationError
from engine.processes.confinement import ALL_NETWORK

_FORM = re.compile(r"(?P<name>(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?\Z")
_WEB_PORTS = frozenset({80, 443})


@dataclass(frozen=True, slots=True)
class Domain:
    """One entry of a list: a name, with `*.` in front for all below it, and a port; None: 80 and 443."""

    name: str
    port: int | None

    def lets_through(self, host: str, port: int) -> bool:
        """Whether the host and port are meant; a host is in lower case and has no final dot."""
        below = self.name.startswith("*.") and host.endswith(self.name[1:]) and not is_address(host)
        return (below or host == self.name) and (port == self.port if self.port else port in _WEB_PORTS)


def parse(given: str) -> list[Domain]:
    """The domains of a list separated by commas; raises `ValidationError` (400)."""
    return list(_parsed(given))


def check_network(given: str | None) -> None:
    """Raise `ValidationError` (400) for a network that is neither all nor a list of domains."""
    if given and given != ALL_NETWORK:
        parse(given)


def _parsed(given: str) -> Iterator[Domain]:
    for word in given.lower().split(","):
        match = _FORM.match(word.strip().removesuffix("."))
        if match is None or (match["port"] and not 0 < int(match["port"]) < 65_536):
            raise ValidationError(
                f"network: {word.strip()!r} is not a domain; give {ALL_NETWORK}, or domains such as "
                "example.org,*.example.net,localhost:8080"
            )
        yield Domain(match["name"].strip("[]"), int(match["port"]) if match["port"] else None)


def is_address(host: str) -> bool:
    """Whether a host is an address, not a name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_public(address: str) -> bool:
    """Whether an address is one of the public internet: not this machine, its networks or those of a provider's inside."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        inner = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        if inner is None and found in _NAT64:
            inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return found.is_global and not found.is_multicast


_NAT64 = ipaddress.ip_network("64:ff9b::/96")

"""Where pages are: their addresses on a server, and the names of their files in an export.

spec: @inspector
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Protocol
from urllib.parse import urlencode

Asked = dict[str, str]
"""What a page was asked for: the arguments of its address."""


class Places(Protocol):
    """Says where a page is; None: it is not there, so nothing leads to it."""

    is_static: bool

    def page(self, name: str, asked: Asked) -> str | None:
        """The address of the page `name` with these arguments."""

    def asset(self, name: str) -> str:
        """The address of a style sheet or script."""


class ServedPlaces:
    """The pages of a server, of the database with a number; None: of all of them."""

    is_static = False

    def __init__(self, file: int | None = None) -> None:
        self._file = {} if file is None else {"db": str(file)}

    def page(self, name: str, asked: Asked) -> str | None:
        """Each page is there; `db` names another file."""
        given = urlencode({**self._file, **asked})
        return f"/{name}{'?' if given else ''}{given}"

    def asset(self, name: str) -> str:
        """Assets lie in a folder of their own."""
        return f"/static/{name}"


class StaticPlaces:
    """The pages that an export has written, or will write."""

    is_static = True

    def __init__(self, pages: Iterable[tuple[str, Asked]]) -> None:
        self.names = {_key(name, asked): file_name(name, asked) for name, asked in pages}

    def page(self, name: str, asked: Asked) -> str | None:
        """The file, where the page is a part of the export."""
        return self.names.get(_key(name, asked))

    def asset(self, name: str) -> str:
        """Assets lie beside the pages."""
        return name


def file_name(name: str, asked: Asked) -> str:
    """The name of a page's file: no text of a model becomes a part of it."""
    given = {key: value for key, value in asked.items() if key != "run"}
    if name == "run":
        return "index.html" if not given else f"index-{given['page']}.html"
    if name == "turn":
        return f"turn-{int(given['turn'])}.html"
    digest = sha256(repr(sorted(given.items())).encode()).hexdigest()[:16]
    return f"{name}-{digest}.html" if given else f"{name}.html"


def _key(name: str, asked: Asked) -> tuple[str, ...]:
    return (name, *(f"{key}={value}" for key, value in sorted(asked.items())))

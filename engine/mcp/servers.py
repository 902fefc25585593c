"""What a server is: how it is reached, what of it may be called, and the hooks of the app."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from engine.errors import ValidationError

if TYPE_CHECKING:
    import httpx2

Token = str | Mapping[str, str]
"""What an auth hook gives: the token of an ``Authorization: Bearer``, or headers by their names."""
Auth = Callable[[], Token | Awaitable[Token]]
Refresh = Callable[[Token], Token | Awaitable[Token]]
"""Gets the token that was refused, and gives another one."""

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Request:
    """A message to a server: `method` such as ``tools/call``, and its parameters. `server` is the name of the server."""

    server: str
    method: str
    params: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """The answer of a server to `method`: its `result`, or the message of its `error`."""

    server: str
    method: str
    result: Mapping[str, Any] | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Log:
    """A line of the log of a server: `level` is one of the protocol's, or stderr for what a program prints there."""

    server: str
    level: str
    text: str
    logger: str | None = None


class Pins(Protocol):
    """Keeps how the tools that are allowed by name were defined when they were first seen."""

    def known(self) -> Mapping[str, str]:
        """The digest of each tool that was seen before."""

    def keep(self, digests: Mapping[str, str]) -> None:
        """Keep the digests of tools that are seen for the first time."""


@dataclass(frozen=True)
class Server:
    """An MCP server: a program (`command`), or an address (`url`) that speaks streamable HTTP.

    | field | what it is |
    |---|---|
    | name | small letters, digits, _ and -, up to 32; the tools of the server are called NAME__TOOL |
    | command, env, cwd | the program with its arguments, what is added to its environment, the folder that it works in |
    | url, headers | the address, and what is added to each request |
    | timeout, connect_timeout | seconds for a call, and for the start with the lists |
    | allow | patterns of tools that are called without a decision; `resource:URI` for resources |
    | reads | patterns of tools that only read: open in the mode ask too |
    | tools, hide | patterns of the tools that models are told of, and of those that they are not |
    | sandbox, network | run the program in a sandbox; what it reaches there: all, or domains separated by commas |
    | pins | keeps how allowed tools are defined: one that is defined anew needs a decision again |
    | auth, refresh | give the token of a request, and another one where it was refused (401); or an `httpx2.Auth` |
    | on_request, on_response | get each message; what they return is sent, or taken, instead; None leaves it as it is |
    | on_log | gets each line of its log |
    | on_page | gets the kind and the number of each page of a list; False ends the list there |

    Hooks are called in a thread of the engine; those of `auth` and `refresh` may be async. Raises `ValidationError` (400).
    """

    name: str
    command: Sequence[str] = ()
    url: str | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | PathLike[str] | None = None
    timeout: float = 60.0
    connect_timeout: float = 30.0
    allow: Sequence[str] = ()
    reads: Sequence[str] = ()
    tools: Sequence[str] = ("*",)
    hide: Sequence[str] = ()
    sandbox: bool = False
    network: str = ""
    pins: Pins | None = field(default=None, repr=False)
    auth: Auth | httpx2.Auth | None = field(default=None, repr=False)
    refresh: Refresh | None = field(default=None, repr=False)
    on_request: Callable[[Request], Request | None] | None = field(default=None, repr=False)
    on_response: Callable[[Response], Response | None] | None = field(default=None, repr=False)
    on_log: Callable[[Log], None] | None = field(default=None, repr=False)
    on_page: Callable[[str, int], bool] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_name(self.name)
        if not all(isinstance(each, str) for each in self.command) or isinstance(self.command, str):
            raise self._wrong("command must be a list of words, such as ['npx', '-y', 'some-server']")
        if not all(_is_word(each) for each in (*self.command, self.url or "", str(self.cwd or ""))):
            raise self._wrong("a word of the command contains a NUL or is not UTF-8")
        if bool(self.command) == bool(self.url):
            raise self._wrong("a server has either a command or a url")
        for name in ("timeout", "connect_timeout"):
            self._expect_seconds(name, getattr(self, name))
        for name in ("allow", "reads", "tools", "hide"):
            value = getattr(self, name)
            if isinstance(value, str) or not all(isinstance(each, str) for each in value):
                raise self._wrong(f"{name} must be a list of patterns")
        self._check_reach()
        if self.network:
            from engine.sandbox import check_network

            if not self.sandbox:
                raise self._wrong("network limits a sandbox, so set sandbox too")
            check_network(self.network)

    def allows(self, tool: str) -> bool:
        """Whether the user lets models call this tool without a decision."""
        return matches(self.allow, tool)

    def tells(self, tool: str) -> bool:
        """Whether models are told of this tool."""
        return matches(self.tools, tool) and not matches(self.hide, tool)

    def place(self) -> str:
        """Where the server is, without what may be a secret."""
        if self.url is None:
            return " ".join(self.command)
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def started(self) -> tuple[object, ...]:
        """Its program, folder and address, word by word: what tells it apart from another server of its name."""
        return list(self.command), str(self.cwd or ""), self.url and self.place()

    def _check_reach(self) -> None:
        if self.url is not None:
            try:
                parts = urlsplit(self.url)
                known = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
            except ValueError:
                known = False
            if not known:
                raise self._wrong(f"{self.url[:200]!r} is not an http or https address")
            if parts.scheme == "http" and parts.hostname not in _LOCAL and (self.headers or self.auth):
                raise self._wrong("headers and tokens are sent to https, or to this machine, only")
            if parts.username or parts.password:
                raise self._wrong("a url must not contain a user name or a password; use headers")
        for name, value in self.headers.items():
            if not _HEADER.fullmatch(name) or not isinstance(value, str) or re.search(r"[\r\n\0]", value):
                raise self._wrong(f"{name[:60]!r} is not a valid header name and value")
        for name, value in self.env.items():
            if not _VARIABLE.fullmatch(name) or not isinstance(value, str) or "\0" in value:
                raise self._wrong(f"{name[:60]!r} is not a valid name of an environment variable")

    def _expect_seconds(self, name: str, value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 86_400:
            raise self._wrong(f"{name} must be a number of seconds above 0, not {value!r}")

    def _wrong(self, what: str) -> ValidationError:
        return ValidationError(f"MCP server {self.name}: {what}")

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> Server:
        """A server made of plain data, such as that of a protocol: the fields above, hooks excepted.

        `command` may be a text with `args` beside it; `env` and `headers` may be lists of ``{"name", "value"}``. An unknown
        key, as `type`, counts for nothing. Raises `ValidationError` (400).
        """
        known = {each.name for each in fields(cls)} - {"auth", "refresh", "pins"}
        given = {key: value for key, value in data.items() if key in known and not key.startswith("on_")}
        name = str(given.pop("name", ""))
        if isinstance(given.get("command"), str):
            given["command"] = [given["command"], *data.get("args", ())]
        for key in ("env", "headers"):
            if key in given:
                given[key] = _pairs(given[key])
        if data.get("type") == "sse":
            raise ValidationError(
                f"MCP server {name}: the transport sse is not supported; use streamable HTTP or stdio"
            )
        try:
            return cls(usable_name(name), **{key: value for key, value in given.items() if value is not None})
        except (TypeError, AttributeError) as error:
            raise ValidationError(f"MCP server {name}: {error}") from None


def _is_word(text: str) -> bool:
    return "\0" not in text and not any("\ud800" <= each <= "\udfff" for each in text)


def matches(patterns: Sequence[str], name: str) -> bool:
    """Whether one of the patterns (`*`, `?`, `[a-z]`) is about a name."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def check_name(name: object) -> str:
    """The name of a server; raises `ValidationError` (400) for what can be none."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or "__" in name:
        shown = repr(name)[:80]
        raise ValidationError(f"{shown} is not a valid server name: use up to 32 lowercase letters, digits, _ and -")
    return name


def usable_name(name: str) -> str:
    """A name that somebody else chose, as one that a server may have: `GitHub MCP` is github-mcp."""
    plain = re.sub(r"-{2,}", "-", re.sub(r"[^a-z0-9-]", "-", name.lower())).strip("-")
    return plain[:32].rstrip("-") if plain[:1].isalpha() else f"mcp-{plain}"[:32].rstrip("-")


def _pairs(given: Any) -> dict[str, str]:
    if isinstance(given, Mapping):
        return dict(given)
    return {str(each["name"]): str(each["value"]) for each in given}

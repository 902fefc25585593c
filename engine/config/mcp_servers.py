"""The MCP servers of the user's and the project's configuration: tables ``[mcp.NAME]`` in the files of settings.

A server is somebody's program. One that a project names counts only where this user has confirmed it, as it stands there,
for that file. A value of `env` or `headers` may say where a key is, `${env:NAME}`, `${file:PATH}` or `${.env:NAME}`; a key
itself is refused.

spec: @mcp_configuration
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import EngineError, NotFound, PermissionDenied, ValidationError
from engine.keys.keys import DOTENV, one_line_key, read_dotenv
from engine.mcp.servers import Server, check_name
from engine.system import secrets, toml_files
from engine.system.places import own_lock, write_own
from engine.trust.rights import Rights

from .configuration import Layer, place_of, project_folder
from .mcp_pins import KeptPins

if TYPE_CHECKING:
    from engine.db.database import Store

_TABLE = "mcp"
_LAYERS: tuple[Layer, ...] = ("project", "user")
_KINDS: dict[str, tuple[type, ...]] = {
    "command": (list,),
    "url": (str,),
    "env": (dict,),
    "headers": (dict,),
    "cwd": (str,),
    "timeout": (int, float),
    "connect_timeout": (int, float),
    "allow": (list,),
    "reads": (list,),
    "tools": (list,),
    "hide": (list,),
    "sandbox": (bool,),
    "network": (str,),
    "enabled": (bool,),
}
_WORDS = {list: "a list of texts", str: "a text", dict: "a table of texts", bool: "true or false", int: "a number"}
_REFERENCE = re.compile(r"\$\{(env|file|\.env):([^}]*?)(?::-([^}]*))?\}")
_CREDENTIALS = frozenset({"authorization", "proxy-authorization", "x-api-key", "api-key"})


@dataclass(frozen=True)
class Configured:
    """A server as a layer says it: `data` is its table, `source` the file. The user's are `confirmed`."""

    name: str
    layer: Layer
    source: Path
    data: Mapping[str, Any]
    confirmed: bool

    @property
    def enabled(self) -> bool:
        """Whether it is switched on."""
        return bool(self.data.get("enabled", True))

    @property
    def shown(self) -> dict[str, Any]:
        """What is said of it; no key stands there."""
        return dict(self.data)

    def usable(self, root: Path) -> Server:
        """The server, with the keys that its values name; relative paths begin at `root`. Raises `EngineError`."""
        if not self.confirmed:
            raise PermissionDenied(
                f"MCP server {self.name}: {self.source.name} defines it, and you have not confirmed it yet; read "
                f"it, then confirm: engine mcp confirm {self.name}"
            )
        given = {key: value for key, value in self.data.items() if key != "enabled"}
        for part in ("env", "headers"):
            if part in given:
                given[part] = {key: _resolved(self.name, value, root) for key, value in given[part].items()}
        if "command" in given:
            given["command"] = [_resolved(self.name, word, root, key=False) for word in given["command"]]
        if "url" in given:
            given["url"] = _resolved(self.name, given["url"], root, key=False)
        if "cwd" in given:
            given["cwd"] = root / Path(given["cwd"]).expanduser()
        return Server(self.name, **given, pins=self.pins)

    @property
    def pins(self) -> KeptPins:
        """How its allowed tools were defined."""
        return KeptPins(os.path.realpath(self.source), self.name)


def configured(db: Store) -> tuple[list[Server], dict[str, str]]:
    """The servers that count for a file, and why others do not, a line each. Raises `ValidationError` (400)."""
    folder = project_folder(db.path)
    servers, broken = [], {}
    for each in counting(folder):
        if not each.enabled:
            continue
        try:
            servers.append(each.usable(folder))
        except EngineError as error:
            broken[each.name] = error.message
    return servers, broken


def counting(folder: Path) -> list[Configured]:
    """The server of each name that counts in the project in `folder`: a confirmed one of the project before the user's.

    Names that differ in `-` and `_` are one name.
    """
    found: dict[str, Configured] = {}
    for each in (*listed("user", folder), *listed("project", folder)):
        name = each.name.replace("-", "_")
        if name not in found or each.confirmed:
            found[name] = each
    return sorted(found.values(), key=lambda each: each.name)


def listed(layer: Layer, folder: Path) -> Iterator[Configured]:
    """The servers that a layer names. Raises `ValidationError` (400), with the file, for a table that is wrong."""
    place = place_of(layer, folder)
    text = toml_files.read_file(place)
    if _TABLE not in text:
        return
    tables = toml_files.loaded(text, place).get(_TABLE, {})
    if not isinstance(tables, dict):
        raise ValidationError(f"{place}: mcp is not a setting; write each server as a table [mcp.NAME]")
    rights = Rights(Path(os.path.realpath(place)))
    for name, data in tables.items():
        check_table(f"{place}: ", name, data)
        yield Configured(name, layer, place, data, layer == "user" or rights.confirmed(right(place, name, data)))


def check_table(where: str, name: str, data: object) -> None:
    """Raise `ValidationError` (400) for a table that is no server, or that holds a key."""
    try:
        check_name(name)
        if not isinstance(data, dict):
            raise ValidationError("is not a table")
        for key, value in data.items():
            _check_value(key, value)
        for part in ("env", "headers"):
            for key, value in data.get(part, {}).items():
                _expect_no_key(part, key, value)
        for word in (*data.get("command", ()), data.get("url", "")):
            if secrets.is_secret("PLAIN", word):
                raise ValidationError(
                    "command and url must not contain a key, because they are shown; put the key into env or "
                    "headers: ${env:NAME}"
                )
        plain = {key: value for key, value in data.items() if key != "enabled"}
        if "url" in plain:
            plain["url"] = _with_names(plain["url"])
        Server(name, **plain)
    except ValidationError as error:
        raise ValidationError(f"{where}[mcp.{str(name)[:40]}] {error.message}") from None


def add(layer: Layer, folder: Path, name: str, data: Mapping[str, Any], *, replace: bool = False) -> Path:
    """Write a server into the file of a layer, and confirm it; returns the file. Raises `EngineError`."""
    check_table("", name, dict(data))
    place = place_of(layer, folder)
    if not replace and toml_files.table(toml_files.read_file(place), place, _TABLE, name) is not None:
        raise ValidationError(f"MCP server {name}: already exists in {place}; add --replace to replace it")
    _write(layer, folder, name, data)
    if layer == "project":
        confirm(folder, name)
    else:
        with suppress(OSError):
            Configured(name, layer, place, data, confirmed=True).pins.forget()
    return place


def remove(layer: Layer, folder: Path, name: str) -> Path:
    """Take a server out of the file of a layer; returns the file. Raises `NotFound` (404)."""
    place = place_of(layer, folder)
    if toml_files.table(toml_files.read_file(place), place, _TABLE, name) is None:
        raise NotFound(f"MCP server {name}: {place} has no server of this name; 'engine mcp list' shows the servers")
    _write(layer, folder, name, None)
    return place


def to_confirm(folder: Path, name: str) -> Configured:
    """The server that a confirmation is about: the project's, else the user's. Raises `NotFound` (404)."""
    for layer in _LAYERS:
        if found := next((each for each in listed(layer, folder) if each.name == name), None):
            return found
    raise NotFound(f"MCP server {name}: not found; 'engine mcp list' lists the servers")


def confirm(folder: Path, name: str) -> Configured:
    """Let a server of the project count, as it stands there now, and the tools that are allowed, as they are defined now.

    Raises `NotFound` (404), `EngineError` (500) where that cannot be written.
    """
    found = to_confirm(folder, name)
    if found.layer == "project":
        Rights(Path(os.path.realpath(found.source))).change(give=[right(found.source, name, found.data)])
    try:
        found.pins.forget()
    except OSError as error:
        raise EngineError(f"{error.filename}: cannot be written ({error.strerror})") from None
    return found


def right(place: Path, name: str, data: Mapping[str, Any]) -> str:
    """What is confirmed, as the text by which the store of rights knows it."""
    return json.dumps(["mcp", os.path.realpath(place), name, data], sort_keys=True)


def _write(layer: Layer, folder: Path, name: str, data: Mapping[str, Any] | None) -> None:
    place = place_of(layer, folder)
    try:
        with own_lock(place_of("user", folder)):
            text = toml_files.with_table(toml_files.read_file(place), place, _TABLE, name, data)
            if layer == "project":
                toml_files.write_file(place, text)
            else:
                write_own(place, text.encode())
    except OSError as error:
        raise EngineError(f"{place}: cannot be written ({error.strerror or error}); nothing was changed") from None


def _check_value(key: str, value: object) -> None:
    if key not in _KINDS:
        raise ValidationError(f"has no {key[:40]!r}; the fields are {', '.join(_KINDS)}")
    wanted = _KINDS[key]
    good = isinstance(value, wanted) and (bool in wanted or not isinstance(value, bool))
    if isinstance(value, list):
        good = good and all(isinstance(each, str) for each in value)
    if isinstance(value, dict):
        good = good and all(isinstance(each, str) for each in value.values())
    if not good:
        raise ValidationError(f"{key} must be {_WORDS[wanted[0]]}")


def _expect_no_key(part: str, key: str, value: str) -> None:
    """Raise for a key that stands in the file itself: files are copied, shown and committed."""
    rest = _REFERENCE.sub("", value)
    named = rest != value
    is_key = secrets.is_secret("PLAIN", rest) if named else secrets.is_secret(key.replace("-", "_"), value)
    if is_key or (not named and key.lower() in _CREDENTIALS):
        raise ValidationError(
            f"{part}: {key[:60]} contains the key itself; write ${{env:NAME}} instead, and set the variable NAME"
        )


def _with_names(url: str) -> str:
    """An address with something in the place of what it refers to, to be looked at before that is known."""
    return _REFERENCE.sub(lambda found: "name" if found.start() else "https://name", url)


def _resolved(server: str, value: str, root: Path, *, key: bool = True) -> str:
    """A value with what it names. Raises `NotFound` (404) where that is not there, `ValidationError` (400) for a key where
    none belongs: command lines and addresses are shown, and read by others.
    """

    def found(match: re.Match[str]) -> str:
        kind, name, default = match.groups()
        if kind == "file":
            said: str | None = one_line_key(root / Path(name).expanduser())
        elif kind == ".env":
            said = read_dotenv(root / DOTENV).get(name)
        else:
            said = os.environ.get(name)
        if not said and default is None:
            where = {"env": "the variable", ".env": f"the variable, in {root / DOTENV},"}.get(kind, "the file")
            raise NotFound(f"MCP server {server}: {where} {name} is not set, but the server needs it")
        if said and not key and (kind != "env" or secrets.is_secret(name, said)):
            raise ValidationError(
                f"MCP server {server}: {name} is a key; put keys into env or headers, which nobody else reads"
            )
        if said and key:
            secrets.learn(said)
        return said or default or ""

    return _REFERENCE.sub(found, value)

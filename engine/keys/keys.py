"""The keys of providers, and where they come from: a source that was named, the environment, `.env`, two stores.

Of several sources of a provider's key the first that has one counts, and a blank one has none:

| source | what it is |
|---|---|
| `named` | what `--key-from PROVIDER=SOURCE` names |
| `environment` | the variable `ENGINE_<NAME>`, else `<NAME>`, as in ENGINE_OPENAI_API_KEY and OPENAI_API_KEY |
| `.env` | the same variables in the file `.env` of the folder that a run works in; nothing else is taken from it |
| `project` | `.engine/keys.toml` of that folder, or of the nearest folder above that has an `.engine` |
| `user` | `keys.toml` in the user's configuration folder |

Keys are values of this module, of the adapter of a model, and of nothing else: what stands in a file of the project or of
the user is read when a provider is asked, and is never kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from engine.errors import NotFound, ValidationError
from engine.keys.stores import PROJECT, USER, Store, project_store, user_store
from engine.system import secrets
from engine.system.descriptors import open_to_read
from engine.system.places import look_at

if TYPE_CHECKING:
    from engine.keys.providers import Provider

SOURCES = ("named", "environment", ".env", PROJECT, USER)
"""The sources, the one that counts first."""
DOTENV = ".env"
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*")
_QUOTED = re.compile(r"""'([^']*)'\s*(?:\#.*)?|"((?:[^"\\]|\\.)*)"\s*(?:\#.*)?""")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_LONGEST = 4096
_Read = Callable[[], Mapping[str, tuple[str, str]]]
"""Reads a source: the place and the value, by variables or names of providers."""


class Holder(Protocol):
    """Whoever needs a key: a provider of models or another service, with the variables that may hold its key."""

    @property
    def name(self) -> str:
        """Its name, as `engine keys` takes it."""
        ...

    @property
    def keys(self) -> tuple[str, ...]:
        """The variables, the one that counts first."""
        ...


class Key(NamedTuple):
    """A key of `provider`: the variable or store that gives it, its source, and the place of that source."""

    provider: str
    variable: str
    source: str
    place: str
    value: str

    def __repr__(self) -> str:
        return (
            f"Key(provider={self.provider!r}, variable={self.variable!r}, source={self.source!r}, place={self.place!r})"
        )


class Keys(NamedTuple):
    """The keys that this process may use for a run in the folder `root`.

    They are those of its environment, with `files` also those of `.env` and the stores. `named` are the sources that a
    person named, by provider; see `check_source`.
    """

    files: bool = False
    named: Mapping[str, str] = MappingProxyType({})
    root: str | None = None
    environment: Mapping[str, str] = os.environ

    def __repr__(self) -> str:
        return f"Keys(files={self.files}, named={dict(self.named)}, root={self.root!r})"

    def at(self, root: str | os.PathLike[str] | None) -> Keys:
        """The same for a run in another folder; None for a run without one."""
        return self._replace(root=None if root is None else str(root))

    def find(self, provider: Holder) -> Key | None:
        """The key of a provider; None where no source has one.

        Raises `NotFound` (404) where a source was named for this provider, and has none.
        """
        if source := self.named.get(provider.name):
            return self._from_named(provider, source)
        return next(self.all(provider), None)

    def all(self, provider: Holder) -> Iterator[Key]:
        """The keys that the sources give for a provider, the one that counts first; a named source is left out."""
        for source, read in self._sources().items():
            yield from _known(provider, source, read())

    def passed_over(self) -> list[str]:
        """Why files that are there give no keys, a sentence for each."""
        if not self.files:
            return []
        stores = [store.reason() for store in (project_store(self.root), user_store()) if store is not None]
        dotenv = [] if self.root is None else [_reason(Path(self.root) / DOTENV)]
        return [reason for reason in (*dotenv, *stores) if reason]

    def unused_address(self, provider: Provider) -> bool:
        """Whether `.env` names an address for a provider, which is never taken from there."""
        if not self.files or self.root is None or self.environment.get(provider.url_variable, "").strip():
            return False
        return provider.url_variable in read_dotenv(Path(self.root) / DOTENV)

    def _sources(self) -> dict[str, _Read]:
        """What reads each source, the one that counts first."""
        found: dict[str, _Read] = {"environment": lambda: _variables(self.environment)}
        if self.files:
            if root := self.root:
                found[DOTENV] = lambda: _dotenv(Path(root) / DOTENV)
                if store := project_store(root):
                    found[PROJECT] = lambda: _stored(store)
            found[USER] = lambda: _stored(user_store())
        return found

    def _from_named(self, provider: Holder, source: str) -> Key:
        kind, _, rest = source.partition(":")
        if kind == "env":
            found = {provider.name: (rest, self.environment.get(rest, ""))}
        elif kind == "file":
            found = {provider.name: (rest, one_line_key(Path(rest)))}
        else:
            found = dict(self._replace(files=True)._sources().get(source, dict)())
        key = next(_known(provider, "named", found), None)
        if key is None:
            raise NotFound(f"no key for {provider.name}: --key-from names {source!r}, which has no key")
        return key


def check_source(source: str) -> None:
    """Raise `ValidationError` (400) for a text that names no source of a key; it is not repeated, as it may be a key."""
    kind, _, rest = source.partition(":")
    is_variable = kind == "env" and re.fullmatch(r"[A-Za-z_]\w*", rest)
    if not (is_variable or (kind == "file" and rest) or source in SOURCES[2:]):
        raise ValidationError(
            "the source of a key must be env:VARIABLE, file:PATH, .env, project or user, as in --key-from "
            "openai=env:WORK_KEY; never write the key itself on the command line"
        )


def check_key(text: str) -> str:
    """A key without the blanks around it; raises `ValidationError` (400) for what can be none, without repeating it."""
    key = text.strip()
    if not key:
        raise ValidationError("the key is empty; nothing was changed")
    if len(key) > _LONGEST or not key.isascii() or not key.isprintable() or " " in key:
        raise ValidationError(
            f"that is not a key: a key is one word of at most {_LONGEST} ASCII characters; nothing was changed"
        )
    return key


def variables(provider: Holder) -> Iterator[str]:
    """The variables that may hold a provider's key, those that are meant for the engine alone first."""
    for name in provider.keys:
        yield f"ENGINE_{name}"
    yield from provider.keys


def _known(provider: Holder, source: str, found: Mapping[str, tuple[str, str]]) -> Iterator[Key]:
    """The first key among `found` that is not blank."""
    for variable in (provider.name, *variables(provider)):
        place, value = found.get(variable, ("", ""))
        if value.strip():
            if source != "environment" or not variable.endswith("_KEY"):  # which are known by their names
                secrets.learn(value.strip())
            yield Key(provider.name, "" if variable == provider.name else variable, source, place, value.strip())
            return


def _variables(environment: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    return {name: (name, value) for name, value in environment.items() if name.isupper()}


def _stored(store: Store) -> dict[str, tuple[str, str]]:
    return {name: (str(store.place), value) for name, value in store.read().items()}


def _dotenv(place: Path) -> dict[str, tuple[str, str]]:
    return {name: (str(place), value) for name, value in read_dotenv(place).items() if name.isupper()}


def read_dotenv(place: Path) -> dict[str, str]:
    """The variables of a `.env` that are not blank, the last of each name; nothing is replaced in their values."""
    data, _ = look_at(place, shared=True)
    lines = (data or b"").decode("utf-8-sig", "replace").splitlines()
    found = (_LINE.fullmatch(line) for line in lines if not line.lstrip().startswith("#"))
    pairs = ((match[1], _value(match[2])) for match in found if match)
    return {name: value for name, value in pairs if value.strip()}


def _value(text: str) -> str:
    """The value behind a `=`: between quotes as it is, else up to a comment."""
    if quoted := _QUOTED.fullmatch(text):
        return quoted[1] if quoted[1] is not None else re.sub(r"\\(.)", r"\1", quoted[2])
    return _COMMENT.sub("", text)


def _reason(place: Path) -> str | None:
    _, reason = look_at(place, shared=True)
    return f"{place}: {reason}; no key is taken from it" if reason else None


def one_line_key(place: Path) -> str:
    """The only line of a file that a person named; it is never repeated."""
    try:
        with open(open_to_read(place, os.O_NONBLOCK), "rb") as file:
            data = file.read(_LONGEST + 2)
    except OSError as error:
        raise NotFound(f"{place}: no key can be read from it ({error.strerror})") from None
    try:
        return check_key(data.decode())
    except (UnicodeDecodeError, ValidationError):
        raise ValidationError(f"{place}: must contain the key and nothing else") from None

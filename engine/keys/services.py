"""Whoever needs a key: the providers of models, services that plugins ask, and those that a plugin names by `engine_keys`.

spec: @keys
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine import plugins
from engine.errors import NotFound, ValidationError
from engine.keys.keys import Holder, Keys
from engine.keys.providers import PROVIDERS

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{2,79}")


@dataclass(frozen=True)
class Service:
    """A service that is no provider of models: its name, and the variables that may hold its key."""

    name: str
    keys: tuple[str, ...]


_KNOWN = (Service("exa", ("EXA_API_KEY",)), Service("voyage", ("VOYAGE_API_KEY",)))
"""Services for search and for vectors that plugins ask; the engine itself asks neither."""


def holders() -> dict[str, Holder]:
    """All that may have a key, by name: providers first, then services in the order of their names.

    Raises `ValidationError` (400) for a plugin's service without a proper name, or with that of a provider.
    """
    known = {service.name: service for service in _KNOWN}
    of_plugins = {name: _service(name, keys, PROVIDERS) for name, keys in plugins.keys().items()}
    services = known | of_plugins
    return {**PROVIDERS, **{name: services[name] for name in sorted(services)}}


def key_of(name: str, root: str | os.PathLike[str] | None = None, *, files: bool = False) -> str:
    """The key of a service, for a plugin that asks it in a run with the folder `root`.

    It comes of the environment, with `files` also of `.env` and the stores, as on the command line. Raises `NotFound` (404)
    if there is no service of that name, or no key.
    """
    holder = holders().get(name)
    if holder is None:
        raise NotFound(f"unknown service {name!r}; a plugin adds services with the hook engine_keys")
    found = Keys(files=files).at(root).find(holder)
    if found is None:
        raise NotFound(f"no key for {name}: set {' or '.join(holder.keys)}, or run: engine keys set {name}")
    return found.value


def _service(name: str, keys: tuple[str, ...], taken: Mapping[str, object]) -> Service:
    if not _NAME.fullmatch(name) or name in taken:
        raise ValidationError(f"hook engine_keys: {name!r} is not a valid service name, or is the name of a provider")
    if not keys or not all(_VARIABLE.fullmatch(key) for key in keys):
        raise ValidationError(f"hook engine_keys: {name} has no variables for its key, such as {name.upper()}_API_KEY")
    return Service(name, keys)


__all__ = ["Service", "holders", "key_of"]

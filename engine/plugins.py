"""Plugins: packages that bring functions, SQL files, templates, models, effect handlers, sandboxes, embedders and adapters.

A plugin is found by its entry point in the group `engine`, named by its path (`engine.plugin_places`), or passed to
`manager().register` before a file is opened. It implements any of the hooks below. Its SQL files change what runs do, by
rows and triggers:

| to | a plugin |
|---|---|
| add a scheme, a tool, a section, a setting | inserts a row into `schemes`, `tools`, `packet_sections`, `settings` |
| perform its tool | has a trigger on `commands` that go to 'performing'; it settles them or inserts into `effects` |
| forbid a command | has a trigger `after insert on commands` that inserts into `vetoes` |
| veto an accepted proposal, or change its text | has a trigger on `proposals` that go to 'accepting' and updates them |
| take part in the verdict | has a trigger on `turns` that go to 'voting' and inserts into `votes` |

spec: @plugins @packet_sections_extension @tools_extension
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pluggy

from . import plugin_places
from .entry_points import has_entry_point
from .functions import Function

if TYPE_CHECKING:
    from jinja2 import BaseLoader

hookspec: pluggy.HookspecMarker = pluggy.HookspecMarker("engine")
hookimpl: pluggy.HookimplMarker = pluggy.HookimplMarker("engine")

_GROUP = "engine"
"""The group of the entry points by which plugins are found."""

Model = Any
"""An adapter of a model, as `engine.models.protocol.Model` has it."""
Sandbox = Any
"""A sandbox, as `engine.sandbox.Sandbox` has it."""
Embedder = Any
"""What makes vectors of texts, as `engine.discovery.embedders.Embedder` has it."""
Adapter = Callable[[Any], None]
"""Serves runs by a protocol, with an `engine.serving.Serving`, as `engine.serving.Adapter` has it."""
EffectHandler = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Performs one effect, a row of `_pending_effects`, and returns the columns of its `_finish_effect`: `state` ('resolved' or
'failed'), and optionally `outcome`, `message` and `detail` (a JSON-ready mapping).

An error that it raises fails the command. It gets an effect a second time where the engine was killed while it worked.
"""


Project = Callable[[str, str], str | None]
"""Gives what is shown of a body by its path and text; None: what the engine itself would show."""


class Projection(NamedTuple):
    """What packets show of the bodies of a scheme: in full, and as a summary of at most 500 characters."""

    visible: Project | None = None
    summarized: Project | None = None


class Hooks:
    """The hooks that a plugin may implement."""

    @hookspec
    def engine_functions(self) -> Iterable[Function]:
        """Pure SQL functions to register on every connection."""
        return ()

    @hookspec
    def engine_sql(self) -> Iterable[tuple[str, str]]:
        """SQL files as (name, text), run after the engine's own whenever the schema is built.

        They follow the same rules: `create table if not exists`, seeds with `on conflict`, plain `create view` and
        `create trigger`, which are dropped and made again. What is wrong with them is a 400 at `open` that names the file.
        """
        return ()

    @hookspec
    def engine_templates(self) -> BaseLoader:
        """A Jinja loader for section templates and tool documents; it is asked before the engine's own."""
        raise NotImplementedError

    @hookspec
    def engine_projections(self) -> Mapping[str, Projection]:
        """What packets show of the bodies of schemes, such as `{"weather": Projection(summarized=short)}`; `file`: of files.

        A projection is asked when a body is stored, whatever its length; it must be pure. What it raises leaves the
        engine's own.
        """
        return {}

    @hookspec(firstresult=True)
    def engine_model(self, name: str) -> Model | None:
        """The adapter for a model's `actual` name; None for a model of others."""

    @hookspec(firstresult=True)
    def engine_tokenizer(self, model: str) -> Callable[[str], int] | None:
        """A function that counts the tokens of a text for the model with the actual name `model`; None for one of others.

        The function gets each part of a packet once, and may be called from any thread.
        """

    @hookspec
    def engine_effects(self) -> Mapping[str, EffectHandler]:
        """Handlers for kinds of effects."""
        return {}

    @hookspec
    def engine_sandboxes(self) -> Iterable[Sandbox]:
        """Sandboxes for shell commands; `auto` takes the first one that can be used, the engine's own before them."""
        return ()

    @hookspec
    def engine_embedders(self) -> Iterable[Embedder]:
        """What makes vectors of texts; the first one that can be used is, before the engine's own."""
        return ()

    @hookspec
    def engine_keys(self) -> Mapping[str, Iterable[str]]:
        """Services that need a key, by name, with the environment variables that may hold it.

        `engine keys` keeps such a key, and `engine.keys.services.key_of(name)` gives it to the plugin.
        """
        return {}

    @hookspec
    def engine_adapters(self) -> Mapping[str, Adapter]:
        """What serves runs by a protocol, by the name that `engine serve adapter` takes: a function of a `Serving`."""
        return {}


@cache
def manager() -> pluggy.PluginManager:
    """The plugin manager, with every installed plugin loaded."""
    found = pluggy.PluginManager("engine")
    found.add_hookspecs(Hooks)
    if has_entry_point(_GROUP):
        found.load_setuptools_entrypoints(_GROUP)
    for name, module in plugin_places.modules():
        found.register(module, name)
    return found


def functions() -> list[Function]:
    """The SQL functions of all plugins."""
    return [function for given in manager().hook.engine_functions() for function in given]


def sql_files() -> list[tuple[str, str]]:
    """The SQL files of all plugins, sorted by name."""
    return sorted(file for given in manager().hook.engine_sql() for file in given)


def projections() -> dict[str, Projection]:
    """What plugins show of bodies, by scheme."""
    return {scheme: each for given in manager().hook.engine_projections() for scheme, each in given.items()}


def template_loaders() -> list[BaseLoader]:
    """The template loaders of all plugins."""
    return list(manager().hook.engine_templates())


def model(name: str) -> Model | None:
    """The adapter of a plugin for the model `name`; None where no plugin has one."""
    found: Model | None = manager().hook.engine_model(name=name)
    return found


def tokenizer(name: str) -> Callable[[str], int] | None:
    """The token counter of a plugin for the model `name`; None where no plugin has one."""
    found: Callable[[str], int] | None = manager().hook.engine_tokenizer(model=name)
    return found


def effect_handlers() -> dict[str, EffectHandler]:
    """All effect handlers of plugins, by kind of effect."""
    return {kind: handler for given in manager().hook.engine_effects() for kind, handler in given.items()}


def sandboxes() -> list[Sandbox]:
    """The sandboxes of all plugins."""
    return [sandbox for given in manager().hook.engine_sandboxes() for sandbox in given]


def embedders() -> list[Embedder]:
    """The embedders of all plugins."""
    return [embedder for given in manager().hook.engine_embedders() for embedder in given]


def keys() -> dict[str, tuple[str, ...]]:
    """The services of all plugins that need a key, with the variables that may hold it."""
    return {name: tuple(names) for given in manager().hook.engine_keys() for name, names in given.items()}


def adapters() -> dict[str, Adapter]:
    """The adapters of all plugins, by name."""
    return {name: adapter for given in manager().hook.engine_adapters() for name, adapter in given.items()}

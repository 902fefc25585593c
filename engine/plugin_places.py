"""Plugins by path: a module that the user names, in the environment or in his own configuration.

`ENGINE_PLUGIN_weather=/home/ann/weather.py` counts in each process; `weather = "~/weather.py"` in the table `[plugins]` of
the user's `config.toml` counts for the command line. A project names none: what it brings must not run by itself.

spec: @plugins_by_path
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from inspect import isroutine
from pathlib import Path
from types import ModuleType

PREFIX = "ENGINE_PLUGIN_"
TABLE = "plugins"


class _Choice:
    """Whether the user's own configuration counts in this process."""

    counts = False


def count_configuration() -> None:
    """Let the user's configuration name plugins in this process: the command line does, before it opens a file."""
    _Choice.counts = True


def places() -> dict[str, tuple[str, str]]:
    """The paths of plugins by name, each with who names it; the environment wins."""
    found = {name: (path, str(where)) for where, name, path in _configured()} if _Choice.counts else {}
    for key in sorted(os.environ):
        if key.startswith(PREFIX) and os.environ[key].strip():
            found[key.removeprefix(PREFIX).lower()] = (os.environ[key].strip(), key)
    return found


def modules() -> Iterator[tuple[str, ModuleType]]:
    """The modules by their names. Raises `ValidationError` (400) for one that cannot be loaded, with who names it."""
    for name, (path, where) in places().items():
        yield name, _load(name, path, where)


def _configured() -> Iterator[tuple[Path, str, str]]:
    from engine.system.places import config_folder
    from engine.system.toml_files import loaded, read_file

    from .errors import ValidationError

    place = config_folder() / "config.toml"
    table = loaded(read_file(place), place).get(TABLE, {})
    if not isinstance(table, Mapping):
        raise ValidationError(f'{place}: plugins must be a table: [plugins], with a line NAME = "PATH" for each plugin')
    for name, path in table.items():
        if not isinstance(path, str):
            raise ValidationError(f'{place}: plugin {name}: must be a path, such as "~/plugins/{name}.py"')
        yield place, name.lower(), path


def _load(name: str, path: str, where: str) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location

    from .errors import ValidationError

    file = _file_of(name, path, where)
    module_name = f"engine_plugin_{name}"
    folders = [str(file.parent)] if file.name == "__init__.py" else None
    spec = spec_from_file_location(module_name, file, submodule_search_locations=folders)
    if spec is None or spec.loader is None:
        raise ValidationError(f"{where}: plugin {name}: {file} is not a Python module")
    module = module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[module_name]
        raise ValidationError(f"{where}: plugin {name}: {file} fails: {type(error).__name__}: {error}") from error
    if not _has_hooks(module):
        raise ValidationError(
            f"{where}: plugin {name}: {file} has no hook; write a function such as engine_sql, with @hookimpl of "
            "engine.plugins"
        )
    return module


def _has_hooks(module: ModuleType) -> bool:
    """Whether the module itself answers a hook; what a class in it answers, nobody asks for."""
    return any(isroutine(each) and hasattr(each, "engine_impl") for each in vars(module).values())


def _file_of(name: str, path: str, where: str) -> Path:
    """The file of a plugin: it belongs to this user, and nobody else may write it."""
    from engine.system.places import is_own

    from .errors import ValidationError

    place = Path(path).expanduser()
    if not place.is_absolute():
        raise ValidationError(f"{where}: plugin {name}: {path} is not an absolute path; start the path with / or ~")
    file = place / "__init__.py" if place.is_dir() else place
    try:
        if not is_own(file.stat()) or not is_own(file.parent.stat()):
            raise ValidationError(
                f"{where}: plugin {name}: {file} belongs to another user, or others can write to it or its "
                "folder; run chmod go-w on both"
            )
    except OSError as error:
        raise ValidationError(f"{where}: plugin {name}: {file}: {error.strerror}") from None
    return file


__all__ = ["PREFIX", "TABLE", "count_configuration", "modules", "places"]

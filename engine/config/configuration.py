"""The user's and the project's settings: read from TOML files into the layers of a file, where SQL decides what counts.

The user's stand in `config.toml` in his configuration folder, those of a project in `engine.toml` in its folder, which comes
with the project from wherever that comes from. So what a project says counts only where it is harmless, or where this user
has confirmed it: the store of rights (`engine.trust.rights`) knows the value that was confirmed, for that file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from engine.db.connections import MEMORY
from engine.errors import EngineError, ValidationError
from engine.system import toml_files
from engine.system.locate import FOLDER, find_database
from engine.system.places import config_folder, is_own, own_lock, write_own
from engine.trust.rights import Rights

from . import environment

if TYPE_CHECKING:
    from engine.db.database import Row, Store

Layer = Literal["user", "project"]
_LAYERS: tuple[Layer, ...] = ("user", "project")
USER_FILE = "config.toml"
PROJECT_FILE = "engine.toml"


def place_of(layer: Layer, folder: Path) -> Path:
    """The file of a layer, for the project in `folder`."""
    return config_folder() / USER_FILE if layer == "user" else folder / PROJECT_FILE


def project_folder(database: Path) -> Path:
    """The folder whose `engine.toml` counts for a file: that around its `.engine`, else the present one."""
    if str(database) == MEMORY:
        with suppress(EngineError):
            database = find_database(Path.cwd()) or database
    place = Path(os.path.realpath(database))
    return place.parent.parent if place.parent.name == FOLDER else Path.cwd()


def load(db: Store, folder: Path | None = None) -> None:
    """Put what the user and the project say into the layers of a file, if they are not there already.

    Where the user's configuration does not count (`db.config`), what others have put there is taken out. `folder` is that of
    the project, by default that of the file. Raises `ValidationError` (400) with file and line for what is no setting.
    """
    rows = _rows(db, folder or project_folder(db.path)) if db.config else []
    there = json.loads(db.value("select layers from _outer_layers"))
    rows = _in_order([*rows, *_of_other_drivers(db, there, rows)])
    if there == [list(row.values()) for row in rows]:
        return
    with db.transaction():
        for layer in sorted({row[1] for row in there}):
            db.insert("_unset_layer", layer=layer)
        for row in rows:
            try:
                db.insert("_set_layer", **row)
            except EngineError as error:
                raise ValidationError(f"{row['source']}: {error.message}") from None


def _of_other_drivers(db: Store, there: Sequence[Sequence[Any]], rows: Sequence[Row]) -> list[Row]:
    """What the environment of a process said that drives a run now, as far as this one's does not speak of it.

    To decide on something must not change what holds for a run in the middle of it.
    """
    own = {row["name"] for row in rows if row["layer"] == "env"}
    others = [row for row in there if row[1] == "env" and row[0] not in own]
    if not others or not db.value("select 1 from _leases_in_force"):
        return []
    return [dict(zip(_COLUMNS, row, strict=True)) for row in others]


_COLUMNS = ("name", "layer", "value", "source", "confirmed")


def _in_order(rows: Iterable[Row]) -> list[Row]:
    """Rows as `_outer_layers` has them."""
    return sorted(rows, key=lambda row: (row["name"], row["layer"]))


def names_servers(db: Store) -> bool:
    """Whether the user or the project may name MCP servers; whoever names none pays no more than this look."""
    folder = project_folder(db.path)
    return any("mcp" in toml_files.read_file(place_of(layer, folder)) for layer in _LAYERS)


def plugins_of_a_project() -> Path | None:
    """The file of the present project, if it names plugins: what a project brings does not run by itself."""
    place = place_of("project", project_folder(Path(MEMORY)))
    return place if "plugins" in toml_files.loaded(toml_files.read_file(place), place) else None


def copy_settings(db: Store, beside: Store) -> None:
    """Say in another database what was said of the settings of `db`, which may be older than this build."""
    if db.value("select 1 from sqlite_schema where name = 'setting_layers'"):
        said = db.rows("select name, value from setting_layers where layer = 'file'")
    else:
        said = db.rows("select name, value from settings")
        defaults = beside.rows('select name, "default" as value from setting_list')
        said = [row for row in said if row not in defaults]
    known = {row["name"] for row in beside.rows("select name from settings")}
    for row in said:
        if row["name"] in known:
            beside.insert("_set_layer", name=row["name"], layer="file", value=row["value"])


def change(layer: Layer, folder: Path, values: Mapping[str, str | int | float | None]) -> None:
    """Change what a layer says, None taking a name out; what is said for a project is confirmed thereby.

    Raises `ValidationError` (400) for a file that is not understood, `EngineError` (500) where it cannot be written.
    """
    place = place_of(layer, folder)
    try:
        # one lock for both: of what two processes change at once nothing is lost
        with own_lock(place_of("user", folder)):
            text = toml_files.changed(toml_files.read_file(place), place, values)
            if layer == "project":
                toml_files.write_file(place, text)
            else:
                write_own(place, text.encode())
    except OSError as error:
        raise EngineError(f"{place}: cannot be written ({error.strerror or error}); nothing was changed") from None
    if layer == "project":
        confirm(folder, values)


def confirm(folder: Path, names: Iterable[str]) -> None:
    """Confirm what the project in `folder` says of these settings; a value that was confirmed before stays so."""
    place = place_of("project", folder)
    said = toml_files.parsed(toml_files.read_file(place), place)
    give = [_right(place, name, said[name][0]) for name in names if name in said]
    Rights(Path(os.path.realpath(place))).change(give=give)


def _rows(db: Store, folder: Path) -> list[Row]:
    """What the two files and the environment say, as rows of `_set_layer`."""
    user, project = place_of("user", folder), place_of("project", folder)
    expect_own(user)
    _expect_no_models(project)
    rights = Rights(Path(os.path.realpath(project)))
    rows = [
        {
            "name": name,
            "layer": layer,
            "value": value,
            "source": f"{place}:{line}",
            "confirmed": int(layer == "project" and rights.confirmed(_right(place, name, value))),
        }
        for layer, place in (("user", user), ("project", project))
        for name, (value, line) in toml_files.parsed(toml_files.read_file(place), place).items()
    ]
    return [*rows, *environment.layer_rows(db)]


def _expect_no_models(place: Path) -> None:
    """Raise `ValidationError` (400) where a project names models: an address would get what runs say."""
    if "models" in (text := toml_files.read_file(place)) and isinstance(
        toml_files.loaded(text, place).get("models"), dict
    ):
        raise ValidationError(f"{place}: a project cannot name models; use engine models add NAME MODEL --user")


def _right(place: Path, name: str, value: str | None) -> str:
    """What is confirmed, as the text by which the store of rights knows it."""
    return json.dumps(["setting", os.path.realpath(place), name, value])


def expect_own(place: Path) -> None:
    """Raise `ValidationError` (400) for a file of the user's that somebody else could have written."""
    with suppress(FileNotFoundError, NotADirectoryError):
        if not is_own(place.lstat()) or not is_own(place.parent.stat()):
            raise ValidationError(f"{place}: belongs to another user, or can be written by others; chmod 600")

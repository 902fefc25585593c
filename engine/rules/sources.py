"""Finds rules on the disk and reads them: a folder `.opencarly` or `.carl`, a single rule file, and the rules shipped.

spec: @rule_files
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine.errors import Conflict, NotFound
from engine.functions.rules.files import rules_in
from engine.rules.folders import Domain, Folder, Found, domain_name, kept_rules
from engine.system.locate import danger_of
from engine.system.places import home_folder
from engine.texts import folder_of

from . import json_folder, pairs_folder

LEVELS = 10
"""How many folders are looked into, the first one included."""
_READERS = (
    (".opencarly", json_folder.MANIFEST, json_folder.read),
    (".carl", json_folder.CARL, json_folder.read_carl),
    (".carl", pairs_folder.MANIFEST, pairs_folder.read),
)
SHIPPED = "the engine's own rules"


def nearest(start: Path) -> Path | None:
    """The folder of rules of `start` or of the nearest folder above it, at most ten, else the user's own; None without one.

    One in a folder above counts only where no other user can have written it.
    """
    folders = [start.absolute(), *start.absolute().parents][:LEVELS]
    for place, manifest in _places(folders):
        if manifest.is_file() and (place.parent == folders[0] or danger_of(manifest) is None):
            return place
    home = home_folder()
    own = [(home / ".config" / "opencarly", json_folder.MANIFEST), (home / ".carl", json_folder.CARL)]
    own.append((home / ".carl", pairs_folder.MANIFEST))
    return next((place for place, manifest in own if (place / manifest).is_file()), None)


def read(place: Path, root: Path) -> Found:
    """The rules of a folder, or of a file; files are named relative to `root` where they are below it.

    A folder is one with a manifest, or the one that holds it. Raises `NotFound` (404) where there is nothing, and `Conflict`
    (409) where a manifest or the file is wrong.
    """
    if not place.exists():
        raise NotFound(f"{place}: there is no such file or folder")
    if not place.is_dir():
        return _read_file(place, root)
    inside = [(place, place / manifest, reader) for _, manifest, reader in _READERS]
    below = [(place / name, place / name / manifest, reader) for name, manifest, reader in _READERS]
    for folder, manifest, reader in (*inside, *below):
        if manifest.is_file():
            files = Folder(folder.absolute(), _shown(folder, root))
            found = reader(files)
            found.place, found.files = files.place, files.files
            return found
    raise NotFound(f"{place}: has no manifest.json, no carl.json and no manifest; name a folder or a file of rules")


def shipped() -> Found:
    """The domains, star-commands and brackets that come with the engine."""
    found = json_folder.read(Folder(folder_of("engine.templates") / "rules", SHIPPED))
    for domain in found.domains:
        domain.file = None
    found.place = None
    return found


def _read_file(place: Path, root: Path) -> Found:
    """The rules of a file: list items of Markdown, or lines NAME_RULE_N=TEXT; its name is that of the domain."""
    shown = _shown(place, root)
    found = Found(shown, place=place.absolute(), rules_only=True)
    folder = Folder(place.absolute().parent, shown.removesuffix(place.name).removesuffix("/"))
    text = folder.needed(place.name)
    found.files = folder.files
    named = pairs_folder.rules_of(text)
    lists = named or {place.stem.lstrip("."): rules_in(text)}
    for name, rules in lists.items():
        found.domains.append(Domain(domain_name(name, shown), rules=kept_rules(rules, shown, found), file=shown))
    if not any(domain.rules for domain in found.domains):
        raise Conflict(f"{shown}: has no rules; a rule is a line '- text', or NAME_RULE_1=text")
    return found


def _places(folders: list[Path]) -> Iterator[tuple[Path, Path]]:
    return ((folder / name, folder / name / manifest) for folder in folders for name, manifest, _ in _READERS)


def _shown(place: Path, root: Path) -> str:
    absolute = place.absolute()
    return str(absolute.relative_to(root)) if absolute.is_relative_to(root) else str(absolute)

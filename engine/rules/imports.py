"""Takes rules that were read from files into a set, and again when the files have changed.

What a file says of a domain, a star-command or a bracket is taken when it is new, or when it is no more what the same file
said before. So a file that is edited is followed, and what a person changes with `engine rules` stays until the file says
something else of it.

spec: @rule_files
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import EngineError
from engine.rules import sources, store
from engine.rules.folders import Bracket, Domain, Found, Stamp, StarCommand
from engine.system.locate import danger_of

if TYPE_CHECKING:
    from engine.db.database import Row, Store

_SETTINGS = "settings"
_EXISTS = {
    "domain": "select id from rule_domains where rule_set_id = ? and name = ?",
    "star-command": "select id from star_commands where rule_set_id = ? and name = ?",
    "bracket": "select 1 from rule_brackets where rule_set_id = ? and bracket = ?",
}


@dataclass
class Report:
    """What became of a set of rules that was read: what was added, replaced, removed, and left as it was."""

    added: list[str] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def add(db: Store, root: str | None, found: Found, *, replace: bool = False) -> Report:
    """Add what was read to the set of a folder, or of all folders, in one transaction, and remember the files.

    What is there already stays, unless `replace`, or unless these files said otherwise of it when they were read before.
    Devmode, the words that exclude all and the kind of brackets are those of what was read where the set is new. The
    warnings are those of what was read, and what is odd in the set by then.
    """
    with db.transaction():
        number, is_new = store.make_set(db, root)
        report = _take(db, number, root, found, replace=replace, is_new=is_new)
        odd = db.tuples("select warning from rule_warnings where folder is ?", (root,))
        report.warnings += [warning for (warning,) in odd]
    return report


def look_again(db: Store, turn_id: int) -> None:
    """Look at the files that the rules of a turn were taken from, and take what they say by now.

    A file that is wrong by now, gone, or written by others leaves the rules as they are; that is told once.
    """
    for source in db.rows("select * from _due_rule_sources where turn_id = ?", (turn_id,)):
        if _is_changed(source):
            _read_again(db, source, turn_id)


def _take(db: Store, rule_set: int, root: str | None, found: Found, *, replace: bool, is_new: bool) -> Report:
    report = Report(warnings=list(found.warnings))
    place = None if found.place is None else _named(found.place, root)
    before = _read_before(db, rule_set, place)
    now: dict[str, str] = {}
    for name, (digest, write) in _items(db, rule_set, found, keep_words=found.rules_only and not replace).items():
        kind, _, key = name.partition(" ")
        is_there = not is_new if kind == _SETTINGS else db.value(_EXISTS[kind], (rule_set, key)) is not None
        is_other = before.get(name, digest) != digest
        if not is_there or replace or is_other:
            write()
        if kind != _SETTINGS:
            (report.added if not is_there else report.replaced if replace or is_other else report.kept).append(name)
        if not is_there or replace or name in before:
            now[name] = digest
    for name in [name for name in before if name not in now and name != _SETTINGS]:
        _remove(db, rule_set, name)
        report.removed.append(name)
    if place is not None:
        _remember(db, rule_set, place, found, now)
    return report


def _items(db: Store, rule_set: int, found: Found, *, keep_words: bool) -> dict[str, tuple[str, Callable[[], None]]]:
    """What was read, each thing with the digest of what is said of it, and what writes it."""
    made: dict[str, tuple[str, Callable[[], None]]] = {}
    if not found.rules_only:
        said = [found.devmode, found.stars_on, found.brackets_on, found.basis, found.exclude]
        made[_SETTINGS] = _digest(said), lambda: _write_settings(db, rule_set, found)
    for domain in found.domains:
        about = domain.rules if found.rules_only else asdict(domain)
        made[f"domain {domain.name}"] = _digest(about), _writer(db, rule_set, domain, keep_words=keep_words)
    named: list[StarCommand | Bracket] = [*found.star_commands, *found.brackets]
    for each in named:
        kind = "bracket" if isinstance(each, Bracket) else "star-command"
        made[f"{kind} {each.name}"] = _digest(asdict(each)), _writer(db, rule_set, each)
    return made


def _writer(
    db: Store, rule_set: int, each: Domain | StarCommand | Bracket, *, keep_words: bool = False
) -> Callable[[], None]:
    if isinstance(each, Bracket):
        return lambda: store.write_bracket(db, rule_set, each)
    if isinstance(each, StarCommand):
        return lambda: store.write_star_command(db, rule_set, each)
    return lambda: store.write_domain(db, rule_set, each, keep_words=keep_words)


def _write_settings(db: Store, rule_set: int, found: Found) -> None:
    db.execute(
        "update rule_sets set devmode = ?, star_commands = ?, brackets = ?, bracket_basis = ? where id = ?",
        (found.devmode, found.stars_on, found.brackets_on, found.basis, rule_set),
    )
    store.change_words(db, rule_set, None, "exclude", found.exclude)


def _remove(db: Store, rule_set: int, name: str) -> None:
    kind, _, key = name.partition(" ")
    if kind == "domain" and (number := db.value(_EXISTS[kind], (rule_set, key))) is not None:
        store.write_rules(db, number, [])
        db.execute("delete from rule_domains where id = ?", (number,))
    elif kind == "star-command":
        db.execute("delete from star_commands where rule_set_id = ? and name = ?", (rule_set, key))
    elif kind == "bracket":
        db.execute("delete from bracket_rules where rule_set_id = ? and bracket = ?", (rule_set, key))
        db.execute("delete from rule_brackets where rule_set_id = ? and bracket = ?", (rule_set, key))


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _named(place: Path, root: str | None) -> str:
    return str(place.relative_to(root)) if root is not None and place.is_relative_to(root) else str(place)


def _read_before(db: Store, rule_set: int, place: str | None) -> dict[str, str]:
    """What was taken from a place before, each thing with the digest of what was said of it."""
    kept = db.value("select items from rule_sources where rule_set_id = ? and place = ?", (rule_set, place))
    found: dict[str, str] = json.loads(kept) if kept else {}
    return found


def _remember(
    db: Store, rule_set: int, place: str, found: Found, items: dict[str, str], problem: str | None = None
) -> None:
    db.execute(
        "insert into rule_sources (rule_set_id, place, files, items, problem) values (?, ?, ?, ?, ?) "
        "on conflict (rule_set_id, place) do update set files = excluded.files, items = excluded.items, "
        "problem = excluded.problem",
        (rule_set, place, json.dumps(found.files), json.dumps(items), problem),
    )


def _is_changed(source: Row) -> bool:
    """Whether a file is not as it was, by its time and size, and by its text where these are others."""
    kept: dict[str, list[object] | None] = json.loads(source["files"])
    return any(_stamp(path) != (known and tuple(known[:2])) for path, known in kept.items())


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _read_again(db: Store, source: Row, turn_id: int) -> None:
    root = source["folder"]
    place = Path(root or "/") / source["place"]
    try:
        outside = root is None or not place.is_relative_to(root)
        if outside and place.exists() and (danger := danger_of(place)) is not None:
            raise EngineError(f"{place}: {danger}, so the rules were not changed", 403)
        found = sources.read(place, Path(root) if root else Path("/"))
    except EngineError as error:
        _tell(db, source, turn_id, f"{error.message}\nThe rules were not changed.", problem=error.message)
        return
    with db.transaction():
        report = _take(db, source["rule_set_id"], root, found, replace=False, is_new=False)
    changes = [
        f"{what} {', '.join(names)}"
        for what, names in (("added", report.added), ("replaced", report.replaced), ("removed", report.removed))
        if names
    ]
    if changes or report.warnings:
        _tell(db, source, turn_id, f"{source['place']} has changed: " + "; ".join([*changes, *report.warnings]))


def _tell(db: Store, source: Row, turn_id: int, text: str, problem: str | None = None) -> None:
    with db.transaction():
        if problem is not None:
            files = {path: _seen(path) for path in json.loads(source["files"])}
            known = Found("", files=files)
            _remember(db, source["rule_set_id"], source["place"], known, json.loads(source["items"]), problem)
        db.insert("_tell_rules", turn_id=turn_id, text=text, problem=problem)


def _seen(path: str) -> Stamp | None:
    found = _stamp(path)
    return found and Stamp(*found, "")

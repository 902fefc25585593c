"""Reads `.opencarly/`: manifest.json, commands.json, context.json and rule files in Markdown; and `.carl/carl.json`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from engine.errors import Conflict
from engine.functions.rules.files import rules_in
from engine.rules.folders import (
    DOMAINS,
    STAR_COMMAND,
    Bracket,
    Domain,
    Folder,
    Found,
    StarCommand,
    domain_name,
    kept_rules,
    kept_words,
)

MANIFEST = "manifest.json"
CARL = "carl.json"
BRACKETS = ("FRESH", "MODERATE", "DEPLETED", "CRITICAL")
_FAULTS = 20
"""Faults and warnings of a file that are told one by one."""
_KINDS = {str: "a text", bool: "true or false", list: "a list of texts", dict: "an object", int: "a whole number"}


def read(folder: Folder) -> Found:
    """What a folder with a manifest.json says; `Conflict` (409) with all that is wrong in it, a line each."""
    found = Found(folder.shown)
    where = folder.named(MANIFEST)
    manifest = _Object(_parsed(folder.needed(MANIFEST), where), where)
    if manifest.get("version", int, 1) != 1:
        manifest.faults.append(f"{where}: version is 1, not {str(manifest.value['version'])[:40]!r}")
    found.devmode = manifest.get("devmode", bool, False)
    found.exclude = kept_words(manifest.texts("globalExclude"), where, found)
    found.stars_on = _state(manifest.object("commands"), "active")
    found.brackets_on = _state(manifest.object("context"), "active")
    domains = manifest.object("domains")
    for name in _first(domains, found):
        _add_domain(found, domains, name, lambda name, said: _domain(folder, name, said, found))
    _expect_right(manifest, found)
    _read_optional(folder, "commands.json", found, _star_commands)
    _read_optional(folder, "context.json", found, _brackets)
    return found


def read_carl(folder: Folder) -> Found:
    """What a folder with a carl.json says; its brackets go by the context that is left."""
    found = Found(folder.shown, basis="context")
    where = folder.named(CARL)
    everything = _Object(_parsed(folder.needed(CARL), where), where)
    config, domains = everything.object("config"), everything.object("domains")
    found.devmode = config.get("devmode", bool, False)
    found.exclude = kept_words(config.texts("global_exclude"), where, found)
    for name in _first(domains, found):
        _add_domain(found, domains, name, lambda name, said: _carl_domain(name, said, where, found))
    commands = config.object("commands")
    for name, said in commands.items():
        rules = said if isinstance(said, list) else commands.object(name).texts("rules")
        _add_star_command(found, name, "", rules, commands.where)
    brackets = config.object("context_brackets")
    for name in brackets.names():
        _add_bracket(found, name, brackets.object(name), None)
    _expect_right(everything, found)
    return found


def _carl_domain(name: str, said: _Object, where: str, found: Found) -> Domain:
    rules = said.get("rules", list, [])
    more = sorted({str(key) for rule in rules if isinstance(rule, dict) for key in rule if key != "text"})
    if more:
        found.warnings.append(
            f"{said.where}: of its rules {', '.join(more)} {'is' if len(more) == 1 else 'are'} ignored"
        )
    texts = [rule.get("text", "") if isinstance(rule, dict) else rule for rule in rules]
    return Domain(
        domain_name(name, where),
        is_active=_state(said, "inactive"),
        always_on=said.get("always_on", bool, False) or name.upper() == "GLOBAL",
        recall=kept_words(said.texts("recall"), where, found),
        exclude=kept_words(said.texts("exclude"), where, found),
        rules=kept_rules([text for text in texts if isinstance(text, str) and text.strip()], where, found),
        file=where,
    )


class _Object:
    """An object of JSON whose values have the type that is asked for. What has another one is a fault, with its place, and
    counts as missing; what nobody asked for is known in the end.
    """

    def __init__(self, value: Any, where: str, top: _Object | None = None) -> None:
        self.where = where
        self.faults: list[str] = [] if top is None else top.faults
        self._all: list[_Object] = [] if top is None else top._all
        self._all.append(self)
        self._asked: set[str] = set()
        if not isinstance(value, dict):
            self.faults.append(f"{where}: must be an object, not {json.dumps(value)[:60]}")
            value = {}
        self.value: dict[str, Any] = value

    def names(self) -> list[str]:
        """All of its names, which are asked for by that."""
        self._asked.update(self.value)
        return list(self.value)

    def items(self) -> list[tuple[str, Any]]:
        """All of its names and values."""
        return [(name, self.value[name]) for name in self.names()]

    def get(self, name: str, kind: type, otherwise: Any) -> Any:
        self._asked.add(name)
        value = self.value.get(name, otherwise)
        # true is a whole number in Python, and none in JSON
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.faults.append(f"{self.where}: {name} must be {_KINDS[kind]}, not {json.dumps(value)[:60]}")
            return otherwise
        return value

    def texts(self, name: str) -> list[str]:
        values: list[Any] = self.get(name, list, [])
        wrong = [value for value in values if not isinstance(value, str)]
        self.faults += [
            f"{self.where}: {name} must be a list of texts; {json.dumps(each)[:60]} is not a text" for each in wrong
        ]
        return [value for value in values if isinstance(value, str)]

    def object(self, name: str) -> _Object:
        return _Object(self.get(name, dict, {}), f"{self.where}: {name}", self)

    def unknown(self) -> list[str]:
        """What was asked for by nobody, in this object and those that were taken out of it."""
        return [
            f"{each.where}: {name[:60]!r} is ignored: unknown key"
            for each in self._all
            for name in each.value
            if name not in each._asked and name != "$schema"
        ]


def _expect_right(top: _Object, found: Found) -> None:
    """Raise `Conflict` (409) with all faults of a file; what it says that nobody knows is a warning."""
    names = [domain.name for domain in found.domains]
    twice = dict.fromkeys(name for name in names if names.count(name) > 1)
    top.faults += [f"{found.source}: two domains have the name {name!r}" for name in twice]
    if top.faults:
        more = f"\n… and {len(top.faults) - _FAULTS} more" if len(top.faults) > _FAULTS else ""
        raise Conflict("\n".join(top.faults[:_FAULTS]) + more)
    _warn_of_unknown(top, found)


def _warn_of_unknown(top: _Object, found: Found) -> None:
    unknown = top.unknown()
    found.warnings += unknown[:_FAULTS]
    if len(unknown) > _FAULTS:
        found.warnings.append(f"{top.where}: and {len(unknown) - _FAULTS} more unknown keys")


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise Conflict(f"{where}:{error.lineno}:{error.colno}: is not JSON, {error.msg}") from error
    except RecursionError as error:
        raise Conflict(f"{where}: is nested too deeply") from error


def _add_domain(found: Found, domains: _Object, name: str, make: Callable[[str, _Object], Domain]) -> None:
    """Add a domain; what cannot be its name is a fault of the file."""
    try:
        found.domains.append(make(name, domains.object(name)))
    except Conflict as error:
        domains.faults.append(error.message)


def _first(domains: _Object, found: Found) -> list[str]:
    names = domains.names()
    if len(names) > DOMAINS:
        found.warnings.append(f"{domains.where}: the first {DOMAINS} of {len(names)} are taken")
    return names[:DOMAINS]


def _domain(folder: Folder, name: str, said: _Object, found: Found) -> Domain:
    file: str = said.get("file", str, f"domains/{name}.md")
    where = folder.named(file)
    text = folder.optional(file, found, f"domain {name!r} has no rules")
    if text is None and not any(warning.startswith(where) for warning in found.warnings):
        found.warnings.append(f"{where}: there is no such file; domain {name!r} has no rules")
    return Domain(
        domain_name(name, said.where),
        is_active=_state(said, "active"),
        always_on=said.get("alwaysOn", bool, False),
        recall=kept_words(said.texts("recall"), said.where, found),
        exclude=kept_words(said.texts("exclude"), said.where, found),
        paths=kept_words(said.texts("paths"), said.where, found),
        rules=kept_rules(rules_in(text or ""), where, found),
        file=where,
    )


def _state(said: _Object, otherwise: str) -> bool:
    state = said.get("state", object, otherwise)
    if isinstance(state, bool):
        return state
    if state not in ("active", "inactive"):
        said.faults.append(f"{said.where}: state is active or inactive, not {json.dumps(state)[:60]}")
    return bool(state == "active")


def _read_optional(folder: Folder, file: str, found: Found, take: Any) -> None:
    """Take what an optional file says; one that is wrong is a warning, and all of it has its default."""
    text = folder.optional(file, found, "it is ignored")
    if text is None:
        return
    before = (list(found.star_commands), list(found.brackets))
    try:
        said = _Object(_parsed(text, folder.named(file)), folder.named(file))
        take(said, found)
        faults = said.faults
    except Conflict as error:
        faults = [error.message]
    if faults:
        found.star_commands, found.brackets = before
        found.warnings += [f"{fault}; the file is ignored" for fault in faults[:_FAULTS]]
    else:
        _warn_of_unknown(said, found)


def _star_commands(said: _Object, found: Found) -> None:
    for name in said.names():
        each = said.object(name)
        _add_star_command(found, name, each.get("description", str, ""), each.texts("rules"), each.where)


def _add_star_command(found: Found, name: str, description: str, rules: list[Any], where: str) -> None:
    known = name.strip().lower()
    if not STAR_COMMAND.fullmatch(known):
        found.warnings.append(
            f"{where}: {name[:60]!r} is left out: a star-command starts with a letter, then has letters, digits and _"
        )
        return
    texts = kept_rules([rule for rule in rules if isinstance(rule, str)], where, found)
    found.star_commands.append(StarCommand(known, " ".join(description.split())[:300], texts))


def _brackets(said: _Object, found: Found) -> None:
    thresholds, brackets = said.object("thresholds"), said.object("brackets")
    for name in BRACKETS:
        key = name.lower()
        after = thresholds.get(key, int, 0) if key in thresholds.value else None
        if after is not None and not 0 <= after < 2**31:
            thresholds.faults.append(f"{thresholds.where}: {key} must be a number of prompts, not {after}")
        if key in brackets.value or after is not None:
            _add_bracket(found, name, brackets.object(key), after)


def _add_bracket(found: Found, name: str, said: _Object, after: int | None) -> None:
    if name.upper() not in BRACKETS:
        found.warnings.append(f"{said.where}: is left out: the brackets are {', '.join(BRACKETS)}")
        return
    rules = [] if name.upper() == "CRITICAL" else kept_rules(said.texts("rules"), said.where, found)
    found.brackets.append(Bracket(name.upper(), after, said.get("enabled", bool, True), rules))

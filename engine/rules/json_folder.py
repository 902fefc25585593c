"""Reads `.opencarly/`: manifest.json, commands.json, context.json and rule files in Markdown; and `.carl/carl.json`."""

from __future__ import annotations

import json
from typing import Any

from engine.errors import Conflict
from engine.functions.knowledge.rule_files import rules_in

from .found import (
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
_KINDS = {str: "a text", bool: "true or false", list: "a list of texts", dict: "an object", int: "a whole number"}


def read(folder: Folder) -> Found:
    """What a folder with a manifest.json says; `Conflict` (409) where it is wrong, with the place."""
    found = Found(folder.shown)
    where = folder.named(MANIFEST)
    manifest = _Object(_parsed(folder.needed(MANIFEST), where), where)
    if manifest.value.get("version", 1) != 1:
        raise Conflict(f"{where}: version is 1, not {str(manifest.value['version'])[:40]!r}")
    found.devmode = manifest.get("devmode", bool, False)
    found.exclude = kept_words(manifest.texts("globalExclude"), where, found)
    found.stars_on = _is_active(manifest.object("commands"))
    found.brackets_on = _is_active(manifest.object("context"))
    domains = manifest.object("domains")
    for name in _first(domains, found):
        found.domains.append(_domain(folder, name, domains.object(name), found))
    _expect_names(found)
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
        each = domains.object(name)
        rules = [rule.get("text", "") if isinstance(rule, dict) else rule for rule in each.get("rules", list, [])]
        found.domains.append(
            Domain(
                domain_name(name, where),
                is_active=_state(each, "inactive"),
                always_on=each.get("always_on", bool, False) or name.upper() == "GLOBAL",
                recall=kept_words(each.texts("recall"), where, found),
                exclude=kept_words(each.texts("exclude"), where, found),
                rules=kept_rules([rule for rule in rules if isinstance(rule, str) and rule.strip()], where, found),
                file=where,
            )
        )
    _expect_names(found)
    commands = config.object("commands")
    for name, said in commands.value.items():
        rules = said if isinstance(said, list) else _Object(said, f"{commands.where}.{name}").texts("rules")
        _add_star_command(found, name, "", rules, commands.where)
    brackets = config.object("context_brackets")
    for name in brackets.value:
        _add_bracket(found, name, brackets.object(name), None)
    return found


class _Object:
    """An object of JSON whose values have the type that is asked for; else `Conflict` (409) says where not."""

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise Conflict(f"{where}: is an object, not {json.dumps(value)[:60]}")
        self.value: dict[str, Any] = value
        self.where = where

    def get(self, name: str, kind: type, otherwise: Any) -> Any:
        value = self.value.get(name, otherwise)
        # true is a whole number in Python, and none in JSON
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise Conflict(f"{self.where}: {name} is {_KINDS[kind]}, not {json.dumps(value)[:60]}")
        return value

    def texts(self, name: str) -> list[str]:
        values: list[Any] = self.get(name, list, [])
        wrong = next((value for value in values if not isinstance(value, str)), None)
        if wrong is not None:
            raise Conflict(f"{self.where}: {name} is a list of texts; {json.dumps(wrong)[:60]} is none")
        return values

    def object(self, name: str) -> _Object:
        return _Object(self.get(name, dict, {}), f"{self.where}: {name}")


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise Conflict(f"{where}:{error.lineno}:{error.colno}: is no JSON, {error.msg}") from error
    except RecursionError as error:
        raise Conflict(f"{where}: is nested too deeply") from error


def _first(domains: _Object, found: Found) -> list[str]:
    names = list(domains.value)
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
    state = said.value.get("state", otherwise)
    if isinstance(state, bool):
        return state
    if state not in ("active", "inactive"):
        raise Conflict(f"{said.where}: state is active or inactive, not {json.dumps(state)[:60]}")
    return bool(state == "active")


def _is_active(said: _Object) -> bool:
    return _state(said, "active")


def _expect_names(found: Found) -> None:
    names = [domain.name for domain in found.domains]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise Conflict(f"{found.source}: two domains have the name {twice!r}")


def _read_optional(folder: Folder, file: str, found: Found, take: Any) -> None:
    """Take what an optional file says; one that is wrong is a warning, and all of it has its default."""
    text = folder.optional(file, found, "it is passed over")
    if text is None:
        return
    before = (list(found.star_commands), list(found.brackets))
    try:
        take(_Object(_parsed(text, folder.named(file)), folder.named(file)), found)
    except Conflict as error:
        found.star_commands, found.brackets = before
        found.warnings.append(f"{error.message}; the file is passed over")


def _star_commands(said: _Object, found: Found) -> None:
    for name in said.value:
        each = said.object(name)
        _add_star_command(found, name, each.get("description", str, ""), each.texts("rules"), each.where)


def _add_star_command(found: Found, name: str, description: str, rules: list[Any], where: str) -> None:
    known = name.strip().lower()
    if not STAR_COMMAND.fullmatch(known):
        found.warnings.append(f"{where}: {name[:60]!r} is left out, a star-command is a letter, letters, digits and _")
        return
    texts = kept_rules([rule for rule in rules if isinstance(rule, str)], where, found)
    found.star_commands.append(StarCommand(known, " ".join(description.split())[:300], texts))


def _brackets(said: _Object, found: Found) -> None:
    thresholds, brackets = said.object("thresholds"), said.object("brackets")
    for name in BRACKETS:
        key = name.lower()
        after = thresholds.get(key, int, 0) if key in thresholds.value else None
        if after is not None and not 0 <= after < 2**31:
            raise Conflict(f"{thresholds.where}: {key} is a number of prompts, not {after}")
        if key in brackets.value or after is not None:
            _add_bracket(found, name, brackets.object(key), after)


def _add_bracket(found: Found, name: str, said: _Object, after: int | None) -> None:
    if name.upper() not in BRACKETS:
        found.warnings.append(f"{said.where}: is left out, the brackets are {', '.join(BRACKETS)}")
        return
    rules = [] if name.upper() == "CRITICAL" else kept_rules(said.texts("rules"), said.where, found)
    found.brackets.append(Bracket(name.upper(), after, said.get("enabled", bool, True), rules))

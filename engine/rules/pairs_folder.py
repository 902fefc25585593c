"""Reads `.carl/`: a manifest, rule files, `commands` and `context`, all of lines KEY=VALUE."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.errors import Conflict
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

MANIFEST = "manifest"
_KEY = re.compile(r"([A-Za-z0-9][A-Za-z0-9_. -]*)_(STATE|RECALL|EXCLUDE|ALWAYS_ON|PATHS)")
_RULE = re.compile(r"([A-Za-z0-9][A-Za-z0-9_. -]*)_RULE_(\d{1,9})")
_BRACKETS = ("FRESH", "MODERATE", "DEPLETED")
_SWITCH = re.compile(rf"({'|'.join(_BRACKETS)})_(?:RULES|ENABLED)")
_FAULTS = 20
"""Faults of a file that are told."""
# domains that are parts of the format
_CONTEXT, _COMMANDS, _GLOBAL = "CONTEXT", "COMMANDS", "GLOBAL"

Pairs = list[tuple[int, str, str]]
"""Lines of a file: the number, the key, the value."""


def read(folder: Folder) -> Found:
    """What a folder with such a manifest says; its brackets go by the context that is left.

    Raises `Conflict` (409) for a manifest that is wrong, with the file and all lines that are.
    """
    found = Found(folder.shown, basis="context")
    where = folder.named(MANIFEST)
    faults: list[str] = []
    said: dict[str, dict[str, str]] = {}
    order: list[str] = []
    for line, key, value in _pairs(folder.needed(MANIFEST), where, faults):
        parts = _KEY.fullmatch(key.upper())
        if key.upper() == "DEVMODE":
            found.devmode = _flag(value, f"{where}:{line}: DEVMODE", faults)
        elif key.upper() == "DOMAIN_ORDER":
            order = [name.strip().upper() for name in value.split(",") if name.strip()]
        elif key.upper() == "GLOBAL_EXCLUDE":
            found.exclude = kept_words(value.split(","), f"{where}:{line}", found)
        elif parts is None:
            found.warnings.append(f"{where}:{line}: {key[:60]!r} is ignored: unknown key")
        else:
            said.setdefault(parts[1], {})[parts[2]] = value
            _check(parts[2], value, f"{where}:{line}: {key}", faults)
    if faults:
        raise Conflict("\n".join(faults[:_FAULTS]))
    found.brackets_on = said.pop(_CONTEXT, {}).get("STATE", "active") == "active"
    found.stars_on = said.pop(_COMMANDS, {}).get("STATE", "active") == "active"
    names = [name for name in order if name in said] + [name for name in said if name not in order]
    if len(names) > DOMAINS:
        found.warnings.append(f"{where}: the first {DOMAINS} of {len(names)} domains are imported")
    found.domains = [_domain(folder, name, said[name], found) for name in dict.fromkeys(names[:DOMAINS])]
    _star_commands(folder, found)
    _brackets(folder, found)
    return found


def others_in(text: str, *patterns: re.Pattern[str]) -> list[str]:
    """The lines of a text that say something, and are neither rules nor one of the patterns, as far as the first `=`."""
    said = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    keys = [line.partition("=")[0].strip() for line in said]
    return [key for key in keys if not any(each.fullmatch(key.upper()) for each in (_RULE, *patterns))]


def rules_of(text: str) -> dict[str, list[str]]:
    """The rules in lines NAME_RULE_N=TEXT, by their names, each list in the order of the numbers."""
    numbered: dict[str, list[tuple[int, str]]] = {}
    for line in text.splitlines():
        key, _, value = line.partition("=")
        rule = _RULE.fullmatch(key.strip())
        if rule and value.strip():
            numbered.setdefault(rule[1].upper(), []).append((int(rule[2]), value.strip()))
    return {name: [text for _, text in sorted(rules, key=lambda rule: rule[0])] for name, rules in numbered.items()}


def _pairs(text: str, where: str, faults: list[str]) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        key, mark, value = line.partition("=")
        if mark and key.strip():
            yield number, key.strip(), value.strip()
        else:
            faults.append(f"{where}:{number}: a line is KEY=VALUE, not {line.strip()[:60]!r}")


def _check(kind: str, value: str, where: str, faults: list[str]) -> None:
    if kind == "STATE" and value not in ("active", "inactive"):
        faults.append(f"{where} is active or inactive, not {value[:60]!r}")
    if kind == "ALWAYS_ON":
        _flag(value, where, faults)


def _flag(value: str, where: str, faults: list[str]) -> bool:
    if value.lower() not in ("true", "false", ""):
        faults.append(f"{where} is true or false, not {value[:60]!r}")
    return value.lower() == "true"


def _name_others(file: str, others: list[str], found: Found) -> None:
    """Warn of lines of a file that were not taken."""
    if others:
        shown = ", ".join(repr(each[:40]) for each in others[:5]) + (", …" if len(others) > 5 else "")
        found.warnings.append(
            f"{file}: {shown} {'is' if len(others) == 1 else 'are'} ignored: unknown {'key' if len(others) == 1 else 'keys'}"
        )


def _domain(folder: Folder, name: str, said: dict[str, str], found: Found) -> Domain:
    where = folder.named(MANIFEST)
    file = name.lower()
    text = folder.optional(file, found, f"domain {name!r} has no rules")
    if text is None:
        file = f"{file}.env"
        text = folder.optional(file, found, f"domain {name!r} has no rules")
    if text is None:
        found.warnings.append(f"{folder.named(name.lower())}: there is no such file; domain {name!r} has no rules")
    rules = rules_of(text or "")
    others = [f"{other}_RULE_…" for other in rules if other != name] + others_in(text or "")
    _name_others(folder.named(file), others, found)
    return Domain(
        domain_name(name, where),
        is_active=said.get("STATE", "inactive") == "active",
        always_on=said.get("ALWAYS_ON", "").lower() == "true" or name == _GLOBAL,
        recall=kept_words(said.get("RECALL", "").split(","), where, found),
        exclude=kept_words(said.get("EXCLUDE", "").split(","), where, found),
        paths=kept_words(said.get("PATHS", "").split(","), where, found),
        rules=kept_rules(rules.get(name, []), folder.named(file), found),
        file=folder.named(file if text is not None else name.lower()),
    )


def _star_commands(folder: Folder, found: Found) -> None:
    text = folder.optional("commands", found, "it is ignored") or ""
    others = others_in(text)
    for name, rules in rules_of(text).items():
        if STAR_COMMAND.fullmatch(name.lower()):
            texts = kept_rules(rules, folder.named("commands"), found)
            found.star_commands.append(StarCommand(name.lower(), "", texts))
        else:
            others.append(name)
    _name_others(folder.named("commands"), others, found)


def _brackets(folder: Folder, found: Found) -> None:
    file = folder.named("context")
    text = folder.optional("context", found, "it is ignored") or ""
    rules = rules_of(text)
    switches = _switches(text, file, found)
    others = [f"{name}_RULE_…" for name in rules if name not in _BRACKETS] + others_in(text, _SWITCH)
    _name_others(file, others, found)
    for name in _BRACKETS:
        if name in rules or name in switches:
            texts = kept_rules(rules.get(name, []), file, found)
            found.brackets.append(Bracket(name, None, switches.get(name, True), texts))


def _switches(text: str, file: str, found: Found) -> dict[str, bool]:
    """Which brackets are switched on or off, by lines NAME_RULES=true, or NAME_ENABLED."""
    switches: dict[str, bool] = {}
    for number, line in enumerate(text.splitlines(), 1):
        key, _, value = line.partition("=")
        if switch := _SWITCH.fullmatch(key.strip().upper()):
            faults: list[str] = []
            is_on = _flag(value.strip(), f"{file}:{number}: {key.strip()}", faults)
            found.warnings += [f"{fault}; it is ignored" for fault in faults]
            if not faults:
                switches[switch[1]] = switches.get(switch[1], True) and (is_on or not value.strip())
    return switches

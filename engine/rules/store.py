"""Writes rules into the database: sets, domains, words, star-commands, brackets. What they mean is decided there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from engine.errors import NotFound, ValidationError
from engine.rules.folders import Bracket, Domain, Found, StarCommand, kept_rules, kept_words

if TYPE_CHECKING:
    from engine.db.database import Store

KINDS = {"recall": "recall", "exclude": "exclude", "paths": "path"}
"""The words of a domain: how they are called in a file, and in `rule_keywords`."""

_NEAREST = """
    select s.id
    from rule_sets as s
    join projects as j on j.id = s.project_id
    where j.root = :root or substr(:root, 1, length(rtrim(j.root, '/')) + 1) = rtrim(j.root, '/') || '/'
    order by length(j.root) desc
    limit 1
"""
_GLOBAL = "select id from rule_sets where project_id is null"


def sets_of(db: Store, root: str | None) -> list[int]:
    """The sets that hold in a folder, its own or that of the nearest folder above it first; of None the one of all alone."""
    near = [] if root is None else db.tuples(_NEAREST, {"root": root})
    return [row[0] for row in (*near, *db.tuples(_GLOBAL))]


def make_set(db: Store, root: str | None) -> tuple[int, bool]:
    """The set of the folder `root`, for None the one of all folders, made where there is none; and whether it is new."""
    if root is not None:
        make_project(db, root)
    project = None if root is None else db.value("select id from projects where root = ?", (root,))
    found = db.value("select id from rule_sets where project_id is ?", (project,))
    if found is not None:
        return int(found), False
    return int(db.value("insert into rule_sets (project_id) values (?) returning id", (project,))), True


def write_domain(db: Store, rule_set: int, domain: Domain, *, keep_words: bool = False) -> None:
    """Make a domain what `domain` says, with its words and rules; `keep_words`: its rules alone, if it is there already."""
    known = db.value("select id from rule_domains where rule_set_id = ? and name = ?", (rule_set, domain.name))
    if keep_words and known is not None:
        write_rules(db, known, domain.rules)
        return
    number = db.value(
        "insert into rule_domains (rule_set_id, name, is_active, always_on, file) values (?, ?, ?, ?, ?) "
        "on conflict (rule_set_id, name) do update set is_active = excluded.is_active, always_on = excluded.always_on, "
        "file = excluded.file returning id",
        (rule_set, domain.name, domain.is_active, domain.always_on, domain.file),
    )
    for words, kind in ((domain.recall, "recall"), (domain.exclude, "exclude"), (domain.paths, "path")):
        change_words(db, rule_set, number, kind, words, whole=domain.whole_words)
    write_rules(db, number, domain.rules)


def write_rules(db: Store, domain: int, rules: list[str]) -> None:
    """Make these the rules of a domain; raises `ValidationError` (400) for one that is empty or too long, and too many."""
    db.insert("verb_write_rules", domain_id=domain, rules=json.dumps(rules, ensure_ascii=False))


def change_words(
    db: Store, rule_set: int, domain: int | None, kind: str, words: list[str], *, whole: bool | None = None
) -> None:
    """Make these the words of a kind of a domain, or those that exclude all; `whole` None: whole words as those before."""
    check = Found("words")
    kept = kept_words(words, "words", check)
    if check.warnings:
        raise ValidationError(check.warnings[0])
    bindings = {"set": rule_set, "domain": domain, "kind": kind, "words": json.dumps(kept), "whole": whole}
    bindings["whole"] = db.value(
        "select coalesce(:whole, max(is_whole), 0) from rule_keywords where rule_set_id = :set and domain_id is :domain",
        {name: bindings[name] for name in ("whole", "set", "domain")},
    )
    db.execute(
        "delete from rule_keywords where rule_set_id = :set and domain_id is :domain and kind = :kind",
        {name: bindings[name] for name in ("set", "domain", "kind")},
    )
    db.execute(
        "insert into rule_keywords (rule_set_id, domain_id, kind, word, is_whole) "
        "select :set, :domain, :kind, value, :whole from json_each(:words) order by key",
        bindings,
    )


def write_star_command(db: Store, rule_set: int, command: StarCommand) -> None:
    """Make a star-command what `command` says."""
    number = db.value(
        "insert into star_commands (rule_set_id, name, description) values (?, ?, ?) "
        "on conflict (rule_set_id, name) do update set description = excluded.description returning id",
        (rule_set, command.name, command.description),
    )
    _write_texts(db, "star_command_rules", {"star_command_id": number}, command.rules)


def write_bracket(db: Store, rule_set: int, bracket: Bracket) -> None:
    """Make a bracket what `bracket` says."""
    db.execute(
        "insert into rule_brackets (rule_set_id, bracket, after_prompts, is_enabled) values (?, ?, ?, ?) "
        "on conflict (rule_set_id, bracket) do update set after_prompts = coalesce(excluded.after_prompts, after_prompts), "
        "is_enabled = excluded.is_enabled",
        (rule_set, bracket.name, bracket.after_prompts, bracket.is_enabled),
    )
    _write_texts(db, "bracket_rules", {"rule_set_id": rule_set, "bracket": bracket.name}, bracket.rules)


def _write_texts(db: Store, table: str, owner: dict[str, Any], texts: list[str]) -> None:
    """Make these the rules of a star-command or a bracket; the names of table and columns are ours."""
    check = Found("rules")
    kept = kept_rules(texts, "rules", check)
    if check.warnings:
        raise ValidationError(check.warnings[0])
    where = " and ".join(f"{name} = :{name}" for name in owner)
    columns, values = ", ".join(owner), ", ".join(f":{name}" for name in owner)
    db.execute(f"delete from {table} where {where}", owner)  # noqa: S608
    db.execute(
        f"insert into {table} ({columns}, ordinal, text) select {values}, key + 1, value from json_each(:texts)",  # noqa: S608
        {**owner, "texts": json.dumps(kept)},
    )


def domain_of(db: Store, root: str | None, name: str) -> dict[str, Any]:
    """The row of `rule_domain_list` of a domain, of the nearest set that has it; raises `NotFound` (404)."""
    for number in sets_of(db, root):
        row = db.row("select * from rule_domain_list where rule_set_id = ? and domain = ?", (number, name.lower()))
        if row is not None:
            return row
    raise NotFound(f"domain {name!r}: not found; 'engine rules list' lists the domains")


def override(db: Store, run: str, kind: str, name: str, is_on: bool | None) -> None:
    """Give a run devmode or a domain otherwise than its set has it; None takes that back. Raises `NotFound` (404)."""
    number = db.value("select id from runs where alias = ?", (run,))
    if number is None:
        raise NotFound(f"run {run!r}: there is no such run; 'engine runs' lists them")
    db.execute("delete from rule_overrides where run_id = ? and kind = ? and name = ?", (number, kind, name))
    if is_on is not None:
        db.execute("insert into rule_overrides values (?, ?, ?, ?)", (number, kind, name, is_on))


def explain(db: Store, prompt: str, *, run: str | None, root: str | None) -> dict[str, Any]:
    """What a prompt would load in a run, or in a first prompt in a folder, and why: `selection`, `findings` and `lines`.

    Nothing is stored. Raises `NotFound` (404) for a run that does not exist, and for a folder without rules.
    """
    with db.transaction():
        db.execute("savepoint explained")
        try:
            if root is not None:
                make_project(db, root)
            owner = db.row(
                "select id as run_id, project_id from runs where alias = ?"
                if run is not None
                else "select null as run_id, id as project_id from projects where root = ?",
                (run if run is not None else root,),
            )
            if owner is None:
                raise NotFound(f"run {run!r}: there is no such run; 'engine runs' lists them")
            db.insert("_explain_rules", **owner, prompt=prompt)
            selection = db.row(
                "select * from rule_selections where id = (select max(id) from rule_selections) and loop_id is null"
            )
            if selection is None:
                raise NotFound("there are no rules here; to create rules: engine init")
            bindings = (selection["id"],)
            findings = db.rows(
                "select kind as found, name, word, path from rule_findings where selection_id = ? order by ordinal",
                bindings,
            )
            lines = db.rows(
                "select l.part, l.label, l.number, coalesce(l.text, c.body) as text from rule_lines as l "
                "left join contents as c on c.id = l.content_id where l.selection_id = ? order by l.ordinal",
                bindings,
            )
        finally:
            db.execute("rollback to explained")
            db.execute("release explained")
    shown = ("prompts", "context_left", "bracket", "basis", "devmode", "room", "chars", "all_chars")
    return {
        "prompt": prompt,
        "run": run,
        **{name: selection[name] for name in shown},
        "findings": findings,
        "lines": lines,
    }


def make_project(db: Store, root: str) -> None:
    """Make the project of a folder, where there is none."""
    db.execute(
        "insert into projects (name, root, created_at) select :root, :root, now() "
        "where not exists (select 1 from projects where root = :root)",
        {"root": root},
    )

"""Completes what a command line takes: runs, turns, models, settings, providers, rules, paths; nothing where anything fails.

Names of a file are data: only bash gets those with other characters than a path has, and with each of these escaped.

spec: @completion
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Mapping, MutableMapping
from contextlib import redirect_stdout
from pathlib import Path

import typer

_MOST = 200
_SECONDS = 1.0
_PLAIN = re.compile(r"[\w./:@%+,=~^#-]*")
_ODD = re.compile(r"[^\w./:@%+,=~^-]")
_BREAKS = re.compile(r"[:=]+")

_RUNS = "select alias from runs where substr(alias, 1, length(:typed)) = :typed order by updated_at desc, id desc"
_LABELS = """
    select distinct l.value
    from runs as r
    join json_each(coalesce(r.labels, '[]')) as l
    where substr(l.value, 1, length(:typed)) = :typed
    order by 1
"""
_SETTINGS = """
    select name || '=' from settings where substr(name || '=', 1, length(:typed)) = :typed order by name
"""
_PATHS = """
    select e.path
    from run_views as v
    join entries as e on e.id = v.entry_id
    where v.run_id = (
            select id from runs where alias = coalesce(:run, alias) order by updated_at desc, id desc limit 1
        )
        and substr(e.path, 1, length(:typed)) = :typed
    order by e.path
"""
_PROPOSALS = """
    select path from open_proposals where run = coalesce(:run, run) and substr(path, 1, length(:typed)) = :typed
"""
_MODELS = """
    select name
    from (select alias as name from models union select model from provider_defaults)
    where substr(name, 1, length(:typed)) = :typed
    order by name
"""
_DOMAINS = """
    select distinct name from rule_domains where substr(name, 1, length(:typed)) = :typed order by name
"""
_STAR_COMMANDS = """
    select distinct name from star_commands where substr(name, 1, length(:typed)) = :typed order by name
"""

_TURNS = """
    select cast(turn as text)
    from past_turns
    where seen_at is not null
        and run = coalesce(:run, (select alias from runs order by role <> 'main', updated_at desc, id desc limit 1))
        and substr(turn, 1, length(:typed)) = :typed
    order by turn desc
"""

_PERSONAS = """
    select name from personas where substr(name, 1, length(:typed)) = :typed order by name
"""
_SKILLS = """
    select distinct name from _skills where substr(name, 1, length(:typed)) = :typed order by name
"""

_REASONS = """
    select distinct name
    from reason_subjects
    where run = coalesce(:run, (select alias from runs order by role <> 'main', updated_at desc, id desc limit 1))
        and name <> ''
        and name not glob 'command *'
        and substr(name, 1, length(:typed)) = :typed
    order by place, name
    limit 200
"""

Completer = Callable[[typer.Context, list[str], str], list[str]]


def _completer(query: str) -> Completer:
    """A completer that offers the first column of `query`, which may use :typed and :run."""

    def complete(ctx: typer.Context, args: list[str], incomplete: str) -> list[str]:  # noqa: ARG001 - Typer goes by the names
        try:
            names = _found(query, ctx, incomplete)
        except Exception:
            return []
        return [name for name in names if _is_offered(name)]

    return complete


complete_run = _completer(_RUNS)
complete_label = _completer(_LABELS)
complete_model = _completer(_MODELS)
complete_path = _completer(_PATHS)
complete_proposal = _completer(_PROPOSALS)
complete_turn = _completer(_TURNS)
complete_reason = _completer(_REASONS)
complete_domain = _completer(_DOMAINS)
complete_star_command = _completer(_STAR_COMMANDS)
complete_persona = _completer(_PERSONAS)
complete_skill = _completer(_SKILLS)
_complete_setting = _completer(_SETTINGS)


def complete_setting(ctx: typer.Context, args: list[str], incomplete: str) -> list[str]:
    """Settings, without a value."""
    return [name.removesuffix("=") for name in _complete_setting(ctx, args, incomplete)]


def complete_config(ctx: typer.Context, args: list[str], incomplete: str) -> list[str]:
    """Settings, and runs."""
    return [*_complete_setting(ctx, args, incomplete), *complete_run(ctx, args, incomplete)]


def complete_workflow(ctx: typer.Context, args: list[str], incomplete: str) -> list[str]:  # noqa: ARG001 - Typer goes by names
    """The workflows that are found by their names from here."""
    from engine.project.workspace import Workspace
    from engine.workflows.lists import listed

    from .databases import database_or_fresh

    try:
        with database_or_fresh(None, quietly=True) as database:
            names = [str(row["name"]) for row in listed(database, Workspace(Path.cwd()).root)]
    except Exception:
        return []
    return [name for name in names if name.startswith(incomplete) and _is_offered(name)]


def complete_effort(incomplete: str) -> list[str]:
    """How hard a model may be asked to think."""
    from engine.functions.values import EFFORTS

    return [effort for effort in EFFORTS if effort.startswith(incomplete)]


def complete_provider(incomplete: str) -> list[str]:
    """The names of providers and of other services that have keys."""
    from engine.keys.services import holders

    return [name for name in holders() if name.startswith(incomplete)]


def complete_model_provider(incomplete: str) -> list[str]:
    """The names of providers of models."""
    from engine.keys.providers import PROVIDERS

    return [name for name in PROVIDERS if name.startswith(incomplete)]


def complete_key_source(incomplete: str) -> list[str]:
    """A provider and a source of its key."""
    provider, mark, _ = incomplete.partition("=")
    if not mark:
        return [f"{name}=" for name in complete_provider(incomplete)]
    sources = (f"{provider}={source}" for source in ("env:", "file:", ".env", "project", "user"))
    return [source for source in sources if source.startswith(incomplete)]


def _found(query: str, context: typer.Context, typed: str) -> list[str]:
    from engine.db.query import answer

    from .databases import database_or_fresh, look_at
    from .environment import with_environment

    given = context.params.get("db")
    with look_at(Path(given)) if given else database_or_fresh(None, quietly=True) as database:
        bindings = {"typed": typed, "run": context.params.get("run")}
        used = {name: value for name, value in bindings.items() if f":{name}" in query}
        if query is _MODELS:
            with with_environment(database) as beside:
                return [str(row["name"]) for row in beside.rows(query, used)]
        return [str(row[0]) for row in answer(database, query, used, limit=_MOST, seconds=_SECONDS).rows]


def _is_offered(name: str) -> bool:
    """Whether the shell that asks can take this name."""
    return name.isprintable() if is_for_bash(os.environ) else bool(_PLAIN.fullmatch(name))


def is_for_bash(environ: Mapping[str, str]) -> bool:
    """Whether this process was started by bash to complete a word."""
    return environ.get("_ENGINE_COMPLETE") == "complete_bash"


def complete_for_bash(run: Callable[[], int], environ: MutableMapping[str, str]) -> int:
    """Run a completion, and print what it offers in the way that bash takes it; returns the exit code."""
    before = _join_words(environ)
    with redirect_stdout(io.StringIO()) as offered:
        code = run()
    for name in filter(None, offered.getvalue().splitlines()):
        typer.echo(_ODD.sub(r"\\\g<0>", name.removeprefix(before)))
    return code


def _join_words(environ: MutableMapping[str, str]) -> str:
    """Put together what bash parts at ':' and '=', as in known://plan: COMP_WORDS and COMP_CWORD are changed.

    Bash replaces only the last part by what is offered; what stands before it in the word is returned.
    """
    words = environ.get("COMP_WORDS", "").split("\n")
    place = environ.get("COMP_CWORD", "")
    if not place.isdecimal():
        return ""
    joined: list[str] = []
    last = before = ""
    for word in [*words, ""][: int(place) + 1]:
        before, last = last, word
        if joined and (_BREAKS.fullmatch(word) or _BREAKS.fullmatch(before)):
            joined[-1] += word
        else:
            joined.append(word)
    environ["COMP_WORDS"] = "\n".join(joined)
    environ["COMP_CWORD"] = str(len(joined) - 1)
    return joined[-1] if _BREAKS.fullmatch(last) else joined[-1].removesuffix(last)

"""`engine doctor`: checks what is installed and configured, and says how to get what is missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from engine.cli.files_argument import FilesArgument, places, print_reports
from engine.cli.options import DbOption, JsonOption
from engine.terminal.exit_codes import FAILED
from engine.terminal.printing import paint, print_json, visible
from engine.terminal.wrapping import line_width, wrapped

if TYPE_CHECKING:
    import engine
    from engine.keys.keys import Key

State = Literal["ok", "optional", "missing"]
_MOST_MODELS = 5
_MARGIN = 27
"""The state and the name of a check stand before its detail."""


@dataclass(frozen=True)
class Check:
    """One check: without a `missing` thing no prompt runs, without an `optional` one a feature; `fix` says how to get
    it.
    """

    name: str
    state: State
    detail: str
    fix: str | None = None


def doctor(files: FilesArgument = None, as_json: JsonOption = False, db: DbOption = None) -> None:
    """Check the installation and say what is missing. The exit code is 0 if you can run a prompt, else 1.

    It shows no keys and contacts only this machine. It finds Ollama, LM Studio, vLLM and llama.cpp on their usual
    ports. With FILE it checks these databases instead; the exit code is 1 if a database has a fault.

    \b
    Examples:
      engine doctor
      engine doctor data/*.db
      engine doctor --json | jq '.[] | select(.state != "ok")'
    """
    if files:
        _check_files(files, db, as_json=as_json)
        return
    checks = list(_checks(db))
    if as_json:
        print_json([asdict(check) for check in checks])
    else:
        width = line_width()
        colours = {"ok": "green", "optional": "yellow", "missing": "red"}
        for check in checks:
            told = check.detail + (f"; {check.fix}" if check.fix else "")
            head, *more = wrapped(told, width, " " * _MARGIN, " " * _MARGIN)
            state = paint(f"{check.state:9}", colours[check.state], stream=sys.stdout)
            typer.echo(state + visible("\n".join([f"{check.name:17} {head[_MARGIN:]}", *more])))
    if any(check.state == "missing" for check in checks):
        raise typer.Exit(FAILED)


def _checks(db: Path | None) -> Iterator[Check]:
    import platform
    import sqlite3

    import apsw

    yield Check("engine", "ok", _version("engine") or "not installed as a package")
    yield Check("python", "ok", platform.python_version())
    yield Check("sqlite", "ok", f"{apsw.sqlite_lib_version()} of apsw, {sqlite3.sqlite_version} of Python")
    yield _extra("models", "httpx2", "httpx2", "models of providers")
    yield _extra("local", "xllamacpp", "xllamacpp", "the local model")
    yield _extra("chat", "prompt_toolkit", "prompt_toolkit", "'engine chat'")
    yield _extra("web", "trafilatura", "trafilatura", "pages of the web and searches")
    yield _extra("pdf", "pypdf", "pypdf", "PDFs of the web")
    yield _extra("meaning", "wordllama", "wordllama", "finding by meaning")
    yield _extra("symbols", "tree_sitter_go", "tree-sitter-go", "summaries of sources other than Python")
    yield _extra("tokenizers", "tokenizers", "tokenizers", "exact counts of tokens")
    yield _extra("rpc", "websockets", "websockets", "runs for other programs: engine serve rpc")
    yield _extra("export", "duckdb", "duckdb", "views as Parquet or a DuckDB file: engine export")
    yield _extra("otel", "opentelemetry.sdk", "opentelemetry-sdk", "traces for a collector: engine trace export")
    yield _extra("inspector", "starlette", "starlette", "runs in the browser: engine web")
    yield _extra("ray", "ray", "ray", "workers on a cluster: engine fleet run --ray")
    yield _extra("sign", "cryptography", "cryptography", "signatures of runs: engine verify --sign")
    yield _extra("acp", "acp", "agent-client-protocol", "editors, by the Agent Client Protocol")
    yield _extra("mcp", "mcp", "mcp", "MCP servers")
    yield _weights()
    yield from _keys()
    yield from _neighbours(db)
    yield _configuration(db)
    yield from _servers(db)
    yield _program("git", "the files of a project are found without git")
    yield _program("bash", "commands run in sh instead")
    yield from _sandbox()
    yield from _trusted_folders()
    yield from _database(db)
    yield from _log(db)
    yield _model(db)


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version  # slow to import

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the package around it is not there
        return False


def _extra(name: str, module: str, package: str, purpose: str) -> Check:
    if not _is_there(module):
        from engine.system.installing import how_to_install

        return Check(f"extra {name}", "optional", f"{purpose}: not installed", how_to_install(name))
    return Check(f"extra {name}", "ok", f"{package} {_version(package) or ''}".strip())


def _weights() -> Check:
    from engine.models.weights import weights_path

    path = weights_path()
    if path.is_file():
        return Check("local weights", "ok", f"{path}, {path.stat().st_size / 1e6:.0f} MB")
    return Check("local weights", "optional", "not here", "engine models install local")


def _keys() -> Iterator[Check]:
    """Which providers have a key and where it comes from, and which files are passed over."""
    from engine.keys.keys import Keys
    from engine.keys.services import holders

    keys = Keys(files=True).at(Path.cwd())
    known = holders()
    found = [key for holder in known.values() if (key := keys.find(holder))]
    if found:
        yield Check("keys", "ok", ", ".join(_told(key) for key in found))
    else:
        yield Check("keys", "optional", "none", f"engine keys set {next(iter(known))}, or set a variable")
    for reason in keys.passed_over():
        yield Check("keys", "optional", reason)


def _told(key: Key) -> str:
    """Whose key it is, and where it comes from."""
    return f"{key.provider} ({key.variable + ' of ' if key.variable else ''}{key.source})"


def _neighbours(db: Path | None) -> Iterator[Check]:
    """The servers of models on this machine, and the command that names a model of a server that has no name yet."""
    from engine.cli.databases import database_or_fresh
    from engine.cli.environment import with_environment
    from engine.errors import EngineError
    from engine.models.neighbours import neighbours

    named: set[str] = set()
    with suppress(EngineError), database_or_fresh(db, quietly=True) as database, with_environment(database) as beside:
        named = {str(actual) for (actual,) in beside.tuples("select actual from models")}
    for each in neighbours():
        offered = ", ".join(each.models[:_MOST_MODELS]) + (", …" if len(each.models) > _MOST_MODELS else "")
        told = f"{each.url} answers (usually {each.usual}); {'models: ' + offered if offered else 'no model is loaded'}"
        has_name = named & each.names()
        yield Check("server", "ok" if has_name else "optional", told, None if has_name else each.command)


def _configuration(db: Path | None) -> Check:
    """Which files of settings there are, and whether they are understood."""
    from engine.config.configuration import place_of
    from engine.config.environment import slips
    from engine.errors import EngineError

    from .config import configured, folder_of

    try:
        places = [str(place) for layer in ("user", "project") if (place := place_of(layer, folder_of(db))).exists()]
        with configured(db) as beside:
            waiting = [row["name"] for row in beside.rows("select name from unconfirmed_settings")]
            wrong = slips(str(name) for (name,) in beside.tuples("select name from settings"))
            places += [
                str(source) for (source,) in beside.tuples("select source from setting_list where origin = 'env'")
            ]
    except EngineError as error:
        return Check("settings", "missing", error.message)
    found = ", ".join(places) or "defaults"
    if wrong:
        slip, meant = next(iter(wrong.items()))
        return Check(
            "settings", "optional", f"{found}; {slip} is not a variable of the engine", f"did you mean {meant}?"
        )
    if waiting:
        return Check("settings", "optional", f"{found}; ignored: {', '.join(waiting)}", "engine config --confirm")
    return Check("settings", "ok", found)


def _servers(db: Path | None) -> Iterator[Check]:
    """Which MCP servers are named, and whether each could be started; none is."""
    from engine.config.mcp_servers import counting
    from engine.errors import EngineError

    from .config import folder_of

    folder = folder_of(db)
    try:
        found = counting(folder)
    except EngineError as error:
        yield Check("MCP servers", "missing", error.message)
        return
    for each in found:
        name = f"MCP {each.name}"
        if not each.enabled:
            yield Check(name, "ok", f"switched off in {each.source}")
            continue
        try:
            server = each.usable(folder)
        except EngineError as error:
            yield Check(name, "optional", error.message)
            continue
        program = server.command[0] if server.command else None
        if program and "/" not in program and shutil.which(program) is None:
            yield Check(name, "optional", f"the program {program!r} was not found")
        else:
            yield Check(name, "ok", server.place(), None)


def _program(name: str, without: str) -> Check:
    path = shutil.which(name)
    if path is None:
        return Check(name, "optional", f"not found: {without}", f"install {name}")
    return Check(name, "ok", _first_line([path, "--version"]) or path)


def _sandbox() -> Iterator[Check]:
    """Which sandbox is in force, and what it stops: each attempt is made."""
    from engine.errors import EngineError
    from engine.sandbox import check_choice, find
    from engine.sandbox.trial import ATTEMPTS, try_out

    try:
        choice = check_choice(None) or "auto"
        found, reason = (None, "switched off") if choice == "off" else find(choice)
        stopped = try_out(found)
    except EngineError as error:
        yield Check("sandbox", "missing", error.message)
        return
    if found is None:
        state: State = "optional" if choice in ("auto", "off") else "missing"
        yield Check("sandbox", state, f"none, shell commands have all rights of your user ({reason})")
    else:
        yield Check("sandbox", "ok", found.name)
    for name, attempt in ATTEMPTS.items():
        if stopped[name]:
            yield Check("sandbox", "ok", f"stopped: {attempt}")
        else:
            yield Check("sandbox", "optional" if found is None else "missing", f"NOT stopped: {attempt}")


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.partition("\n")[0].strip()


def _database(given: Path | None) -> Iterator[Check]:
    """The database, and the modules that it has taken in."""
    import engine
    from engine.api.trust import trusted
    from engine.errors import EngineError
    from engine.schema.update import refusal
    from engine.system.locate import database_to_read

    try:
        path = database_to_read(given, Path.cwd())
    except EngineError as error:
        if given is None:
            yield Check("database", "ok", "none yet; 'engine run PROMPT' creates one here")
        else:
            yield Check("database", "missing", error.message)
        return
    try:
        with engine.open(path, read_only=True, config=True) as db:
            sound = db.value("pragma quick_check")
            runs, size = db.value("select count(*) from runs"), path.stat().st_size / 1e6
            modules = _modules(db)
            differs, unknown, digest = db.differs, db.unknown, db.unknown_digest
    except EngineError as error:
        yield Check("database", "missing", error.message)
        return
    if sound != "ok":
        yield Check("database", "missing", f"{path}: is damaged ({sound})", "restore a copy")
    elif unknown and trusted(path) != digest:
        yield Check("database", "missing", refusal(path, unknown))
    else:
        detail = f"{path}, {runs} run{'' if runs == 1 else 's'}, {size:.1f} MB"
        yield Check("database", "ok", f"{detail}; {differs}" if differs else detail)
    yield Check("modules", "ok", modules or "none yet; a module is added when it is first used")


def _modules(db: engine.Database) -> str:
    """The modules of a file, with their objects and kilobytes."""
    from engine.schema.build import installed
    from engine.schema.modules import present, sizes

    having = installed().having(present(db.connection)).modules
    return ", ".join(
        f"{name} ({size.objects} objects, {size.bytes / 1000:.0f} KB)"
        for name, size in sorted(sizes(db.connection, having).items())
    )


def _trusted_folders() -> Iterator[Check]:
    """The folders of ENGINE_TRUST, and why some do not count."""
    from engine.trust.trusted_folders import VARIABLE, named, reason_against

    for folder in named():
        reason = reason_against(folder)
        if reason is None:
            yield Check("trust", "ok", f"{VARIABLE}: {folder}: the databases in it may act")
        else:
            yield Check("trust", "optional", f"{VARIABLE}: {folder!r} {reason}, so it does not count")


def _log(given: Path | None) -> Iterator[Check]:
    """Whether a reader that never ends keeps the log of the database growing."""
    from engine.db.log_file import log_of
    from engine.errors import EngineError
    from engine.system.locate import database_to_read

    try:
        found = log_of(database_to_read(given, Path.cwd()))
    except EngineError:
        return
    if found.is_held_back:
        yield Check("log", "optional", found.told(), "end that process, or the transaction that it reads in")


def _model(given: Path | None) -> Check:
    """Whether there is a model for a prompt that names none."""
    import engine
    from engine.cli.environment import with_environment
    from engine.driving.model_choice import choose_model
    from engine.errors import EngineError
    from engine.system.locate import find_database

    path = given if given is not None and given.exists() else find_database(Path.cwd())
    try:
        with (
            engine.open(":memory:", config=True)
            if path is None
            else engine.open(path, read_only=True, config=True) as db,
            with_environment(db) as models,
        ):
            return Check("default model", "ok", choose_model(models, None, None, Path.cwd()))
    except EngineError as error:
        return Check("default model", "missing", error.message)


def _check_files(files: Sequence[Path], db: Path | None, *, as_json: bool) -> None:
    """Check databases and print how each is."""
    from engine.maintenance.checks import check as checked

    print_reports(map(checked, places(files, db)), as_json=as_json)

"""Opens engine files: for a program, for asyncio, and attached to an app's own connection.

spec: @opening @embedding
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any

import apsw

from engine.api.database import Database
from engine.arguments import expects
from engine.db.database import Synchronous
from engine.errors import ValidationError
from engine.schema.registration import Clock, register, system_clock
from engine.schema.update import Trust

if TYPE_CHECKING:
    from engine.mcp.servers import Server
    from engine.mcp.tool_servers import Servers
    from engine.tools.app_tools import AppTools
    from engine.tools.toolsets import Toolset
    from engine.tracing.live import Tracer

NO_SERVERS = "ENGINE_MCP"
"""The variable that, as off, leaves out the MCP servers of the configuration."""
_UNFINISHED = """
    select 1 from _background_processes where ended_at is null
    union all
    select 1 from effects where state in ('pending', 'started') and state = 'started' and kind = 'process'
    union all
    select 1 from process_claims where claimant is not null
    limit 1
"""


@expects(path="a path", read_only="True or False", config="True or False", clock="a function")
def open(  # noqa: A001 - engine.open reads like builtins.open
    path: str | PathLike[str],
    *,
    synchronous: Synchronous = "FULL",
    read_only: bool = False,
    trust: Trust = False,
    config: bool = False,
    clock: Clock = system_clock,
    tools: Iterable[Callable[..., Any] | Toolset] = (),
    mcp: Iterable[Server] = (),
    context: object = None,
    tracer: Tracer | None = None,
) -> Database:
    """Open the engine file at `path`; create it, migrate its tables and rebuild its views and triggers where needed.

    With `synchronous` FULL a power cut loses no commit; NORMAL is faster and may lose the last commits. With
    `read_only` the file is not written or rebuilt; `differs` of the result says how the file differs from this build.
    `trust` allows triggers and other objects on the engine's tables that belong neither to the engine nor to a plugin:
    True allows all of them, a digest only the objects with this digest. With `config` the configuration of this user
    is used, as on the command line: keys in `.env` and key stores, settings in `config.toml` and `engine.toml`.
    Without `config` none of these files is read. `clock` returns the Unix time in milliseconds. `tools` are functions
    that the models of its runs may call (`engine.tool`) and sets of them (`engine.Toolset`), `mcp` are servers whose
    tools and resources they may use (`engine.mcp.Server`); with `config` the servers of the user's configuration are
    added. A server is connected when a run works. `context` is an object of the app for its tools
    (`engine.Context.app`). `tracer` is an `engine.tracing.live.Tracer`, which sends traces of the runs; without it the
    variable ENGINE_TRACE can switch traces on.

    Raises `ValidationError` (400) for a file that is not a database, `PermissionDenied` (403) for objects that are not
    trusted, `Conflict` (409) for a file of another application, of a newer engine, or locked by another process, and
    `EngineError` for a file that is damaged or cannot be written; `TypeError` or `ValueError` for a function that
    cannot be a tool, and `ValidationError` for a tool with the name of another tool.
    """
    given = _given(tools, mcp, read_only)
    if synchronous not in ("FULL", "NORMAL"):
        raise ValidationError(f"synchronous must be FULL or NORMAL, not {synchronous!r}")
    if not isinstance(trust, bool | str):
        raise TypeError(f"trust must be True, False or a digest, not {trust!r}")
    own_tracer = None if tracer or read_only else _tracer()
    db = Database(path, synchronous=synchronous, read_only=read_only, clock=clock, trust=trust, config=config)
    db.app_context, db.tracer, db.sends_traces = context, tracer or own_tracer, own_tracer is not None
    if not read_only:
        _heal(db)
    if given or config:
        try:
            db.use_tools(_configured(db, given) if config and not read_only else given)
        except BaseException:
            db.close()
            raise
    return db


def _tracer() -> Tracer | None:
    """What sends traces, where the variable ENGINE_TRACE asks for it."""
    if not os.environ.get("ENGINE_TRACE"):
        return None
    from engine.tracing.live import of_environment

    return of_environment()


def _given(tools: Iterable[Callable[..., Any] | Toolset], mcp: Iterable[Server], read_only: bool) -> AppTools | None:
    """The functions and servers as tools; None where there are none."""
    if callable(tools) or isinstance(tools, str):
        raise TypeError(f"tools must be a list of functions, not {tools!r}")
    functions, servers = list(tools), list(mcp)
    if (functions or servers) and read_only:
        raise ValidationError(
            "tools: a database that is opened with read_only=True cannot run tools; leave out tools or read_only"
        )
    if not functions and not servers:
        return None
    from engine.tools.app_tools import AppTools

    return AppTools(functions, _servers(servers))


def _servers(servers: Iterable[Server]) -> Servers | None:
    """The servers of a handle; None where there are none."""
    given = list(servers)
    if not given:
        return None
    from engine.mcp.servers import Server
    from engine.mcp.tool_servers import Servers

    if wrong := next((each for each in given if not isinstance(each, Server)), None):
        raise TypeError(f"mcp must be a list of engine.mcp.Server, not of {type(wrong).__name__}")
    return Servers(given)


def _configured(db: Database, given: AppTools | None) -> AppTools | None:
    """The tools with the servers that this user's configuration names; a server of the app wins over one of its name."""
    from engine.config.configuration import names_servers

    if os.environ.get(NO_SERVERS) == "off" or not names_servers(db):
        return given
    from engine.config.mcp_servers import configured

    found, broken = configured(db)
    if not found and not broken:
        return given
    from engine.mcp.tool_servers import Servers
    from engine.tools.app_tools import AppTools

    own = list(given.servers.clients.servers.values()) if given and given.servers else []
    names = {server.name for server in own}
    servers = Servers(
        [*own, *(server for server in found if server.name not in names)],
        broken={name: reason for name, reason in broken.items() if name not in names},
    )
    if given is None:
        return AppTools((), servers)
    given.servers = servers
    return given


def _heal(db: Database) -> None:
    """Record processes as interrupted whose engine is dead; a file without an unfinished one pays for one look."""
    try:
        if db.value(_UNFINISHED):
            from engine.processes.stale import heal

            heal(db)
    except BaseException:
        db.close()
        raise


async def open_async(
    path: str | PathLike[str],
    *,
    synchronous: Synchronous = "FULL",
    read_only: bool = False,
    trust: Trust = False,
    config: bool = False,
    clock: Clock = system_clock,
    tools: Iterable[Callable[..., Any] | Toolset] = (),
    mcp: Iterable[Server] = (),
    context: object = None,
) -> Database:
    """`open` for asyncio: opening, which may create the file, is done in a thread.

    Use it with `async with await engine.open_async(path) as db:`, which closes the file in a thread too.
    """
    from engine.system.in_thread import in_thread

    return await in_thread(
        lambda: open(
            path,
            synchronous=synchronous,
            read_only=read_only,
            trust=trust,
            config=config,
            clock=clock,
            tools=tools,
            mcp=mcp,
            context=context,
        ),
        abandon=Database.close,
    )


@expects(path="a path", schema="a text")
def attach(
    connection: apsw.Connection, path: str | PathLike[str], schema: str = "engine", *, trust: Trust = False
) -> None:
    """Attach the engine file at `path`, under the name `schema`, to an app's own apsw connection, which may write to it.

    The file is created if it is missing. Two attached files in WAL mode are committed one after the other: after a power
    cut a transaction may be in one and not in the other. Raises like `open`.
    """
    if not isinstance(connection, apsw.Connection):
        raise TypeError(f"connection must be a connection of apsw, not {connection!r}")
    if not schema.isidentifier():
        raise ValidationError(f"schema {schema!r}: is not a valid name")
    open(path, trust=trust).close()
    register(connection)
    connection.execute(f'attach database ? as "{schema}"', (str(path),))

"""`engine serve rpc`: serves runs to other programs by JSON-RPC over WebSocket."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.databases import open_to_write, open_unasked, use_keys
from engine.cli.options import DbOption, KeyFromOption
from engine.terminal.printing import say, visible

if TYPE_CHECKING:
    from engine.api.database import Database


def rpc(
    root: Annotated[
        Path | None,
        typer.Option(
            "--root",
            metavar="FOLDER",
            readable=False,
            help="Serve this folder and its subfolders; default: the current folder.",
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", metavar="HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0: any free port.")
    ] = 3044,
    socket: Annotated[
        Path | None,
        typer.Option(
            "--socket", metavar="PATH", help="Listen on this Unix socket, which only you can open, instead of a port."
        ),
    ] = None,
    origin: Annotated[
        list[str] | None,
        typer.Option("--origin", metavar="URL", help="Let web pages of this origin connect, too. May be repeated."),
    ] = None,
    key_from: KeyFromOption = None,
    db: DbOption = None,
) -> None:
    """Let other programs use the engine by JSON-RPC over WebSocket.

    A program sends a token when it connects: "Authorization: Bearer TOKEN", or ?token=TOKEN in the address. While the
    server runs, the token is in .engine/rpc.json. To choose the token yourself, set ENGINE_RPC_TOKEN. The method
    'discover' lists all methods. Ctrl-C ends the server; you can resume unfinished runs.

    \b
    Examples:
      engine serve rpc
      engine serve rpc --root ~/work --port 0
      engine serve rpc --socket /tmp/engine.sock
      engine serve rpc --origin http://localhost:5173
    """
    from importlib.util import find_spec

    from engine.errors import EngineError, NotFound
    from engine.system.installing import how_to_install

    if find_spec("websockets") is None:
        raise EngineError(f"engine serve rpc needs the extra rpc; run: {how_to_install('rpc')}")
    from engine.rpc.serving import Place, serve

    top = root or Path.cwd()
    if not top.is_dir():
        raise NotFound(f"{top}: there is no such folder")
    # a person is asked about the file of this folder only, before clients come
    open_to_write(db, top).close()

    def open_database(folder: Path) -> Database:
        database = open_unasked(db, folder)
        use_keys(database, key_from)
        return database

    def told(url: str, said: Path | None) -> None:
        token = f"; the token is in {visible(str(said))}" if said else ""
        say(f"serving {visible(str(top.resolve()))} at {url}{token}")

    place = Place(host, port, socket, tuple(origin or ()))
    serve(open_database, top, place, told, os.environ.get("ENGINE_RPC_TOKEN") or None)

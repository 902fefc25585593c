"""`engine web`: runs in the browser.

spec: @inspector
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.databases import look_at, open_to_read, open_unasked
from engine.cli.options import DbOption
from engine.cli.run_argument import run_or_latest
from engine.functions.counts import counted
from engine.terminal.printing import print_text, say, visible

if TYPE_CHECKING:
    from engine.api.database import Database


def web(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE|FOLDER...",
            help="Databases, or folders that contain databases. Default: the database of this folder.",
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0: any free port.")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, but do not open a browser.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export", metavar="FOLDER", help="Write the pages of one run into FOLDER. RUN is the last argument."
        ),
    ] = None,
    db: DbOption = None,
) -> None:
    """Look at runs in the browser, and decide on proposals there.

    The first line of output is the address. It contains a token, so only you can open it. The pages update while runs
    work, even in other processes. Ctrl-C ends the server. With --export the pages are written to a folder, so that
    you can send them.

    \b
    Examples:
      engine web
      engine web ~/work --port 8080 --no-browser
      engine web --export pages demo
    """
    from engine.inspector.serving import expect_extra

    expect_extra()
    if export is not None:
        _export(export, files or [], db)
        return
    from engine.cli.files_argument import places
    from engine.inspector.serving import serve

    paths = list(places([Path(each) for each in files or []], db))
    if len(paths) == 1:
        look_at(paths[0]).close()  # what is wrong with it is said now; one of many says it on its page

    def to_write(path: Path) -> Database:
        return open_unasked(path, Path.cwd())

    def told(address: str) -> None:
        typer.echo(address)
        say(f"serving {', '.join(visible(str(path)) for path in paths[:5])}; Ctrl-C ends it", dim=True)
        if not no_browser:
            import webbrowser

            webbrowser.open(address)

    serve(paths, to_write, port, told)


def _export(folder: Path, named: list[str], db: Path | None) -> None:
    from engine.errors import ValidationError
    from engine.inspector.export import export_run

    if len(named) > 1:
        raise ValidationError("name one run to export: engine web --export FOLDER RUN")
    with open_to_read(db) as database:
        run = run_or_latest(database, named[0] if named else None)
        count = export_run(database, run, folder)
    print_text(f"{run}: {counted(count, 'page')} written; open {visible(str(folder / 'index.html'))}")

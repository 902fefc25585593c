"""The command line: `engine COMMAND`. Each command is in `engine.commands`; it parses, calls the API and prints.

Command modules import the engine where they use it, so that help and completion stay fast.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from .commands import config, doctor, files, lifecycle, look, models, packets, past, proposals, run, shell, sql, trust
from .commands.exits import FAILED, exit_code
from .commands.printing import say, visible
from .errors import EngineError, NotFound, ValidationError

_NAME = "engine"

app = typer.Typer(
    name=_NAME,
    rich_markup_mode=None,  # plain help: half the time, and it reads the same everywhere
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _command in (
    run.run,
    look.runs,
    look.show,
    look.log,
    packets.packet,
    past.context,
    past.diff,
    lifecycle.resume,
    lifecycle.abort,
    lifecycle.fork,
    lifecycle.purge,
    proposals.proposals,
    proposals.resolve,
    config.config,
    trust.trust,
):
    app.command()(_command)
app.add_typer(files.app, name="files")
app.command()(sql.sql)
app.command()(shell.shell)
app.add_typer(models.app, name="models")
app.command()(doctor.doctor)


@app.callback()
def _engine(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=lambda on: _version(on))
    ] = False,
) -> None:
    """An LLM agent engine that lives in one SQLite file.

    \b
    Examples:
      engine run "Which port does the server listen on?"
      engine log
      engine doctor
    """


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"{_NAME} {version(_NAME)}")
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, by default that of this process; return the exit code.

    An `EngineError` is printed as one line on stderr; with ENGINE_DEBUG=1 its traceback is shown.
    """
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        app(arguments, prog_name=_NAME)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    except BrokenPipeError:
        return _reader_is_gone()
    except FileNotFoundError as error:
        if error.filename is not None or os.environ.get("ENGINE_DEBUG"):
            raise
        say(f"{_NAME}: the folder that this was started in is gone; change to another one", "red")
        return exit_code(NotFound.status)
    except UnicodeEncodeError as error:
        say(f"{_NAME}: {ascii(error.object)[:80]} is not UTF-8 and cannot be stored; convert it first", "red")
        return exit_code(ValidationError.status)
    except EngineError as error:
        if os.environ.get("ENGINE_DEBUG"):
            raise
        say(f"{_NAME}: {visible(error.message)}", "red")
        return exit_code(error.status)
    return 0


def _open_streams() -> None:
    """Open /dev/null for each standard stream that the caller closed: printing to a missing stream raises."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - lives as long as the process


def _reader_is_gone() -> int:
    """End quietly when the reader of our output has closed it, as `head` does; Python's last flush goes to /dev/null."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED

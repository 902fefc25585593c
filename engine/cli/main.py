"""The command line: `engine COMMAND`. Each command is in `engine.commands`; it parses, calls the API and prints.

Command modules import the engine where they use it, so that help and completion stay fast.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from types import TracebackType
from typing import Annotated, Any

import typer

from engine.display.demo_mode import command
from engine.errors import EngineError, NotFound
from engine.plugin_places import count_configuration
from engine.system import secrets
from engine.terminal.exit_codes import FAILED, INTERRUPTED, exit_code
from engine.terminal.printing import print_error
from engine.version import version_line

from .completion import complete_for_bash, is_for_bash
from .groups import Grouped
from .values import take_as_given

_NAME = "engine"

app = typer.Typer(
    name=_NAME,
    cls=Grouped,
    rich_markup_mode=None,  # plain help: half the time, and it reads the same everywhere
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _engine(
    version: Annotated[  # noqa: ARG001 - its callback acts
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=lambda on: _version(on))
    ] = False,
    debug: Annotated[
        bool,
        typer.Option("--debug", help="If a command fails, show the traceback. ENGINE_DEBUG=1 has the same effect."),
    ] = False,
) -> None:
    """Run LLM agents and keep everything in one SQLite file.

    \b
    Examples:
      engine run "Which port is used?"
      engine log
      engine doctor
    """
    if debug:
        os.environ["ENGINE_DEBUG"] = "1"


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(version_line())
        raise typer.Exit


@cache
def command_line() -> Any:
    """The command line; a command is imported and made when it is called, completed or shown."""
    made = typer.main.get_command(app)
    take_as_given(made)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, by default that of this process, and return the exit code.

    The keys of the process are then hidden from others, and what libraries would warn of is not printed.
    An error is printed as one line on stderr; with --debug or ENGINE_DEBUG=1 its traceback is shown.
    """
    if arguments is None:
        secrets.hide()
        if not sys.warnoptions and not os.environ.get("ENGINE_DEBUG"):
            warnings.simplefilter("ignore")
        return complete()
    return _run(arguments)


def complete() -> int:
    """Run the command line of this process, or complete a word of it where a shell asks for that."""
    if is_for_bash(os.environ):
        return complete_for_bash(lambda: _run(None), os.environ)
    return _run(None)


def _run(arguments: Sequence[str] | None) -> int:
    count_configuration()
    with command():
        return _performed(arguments)


def _performed(arguments: Sequence[str] | None) -> int:
    _open_streams()
    for output in (sys.stdout, sys.stderr):
        if hasattr(output, "reconfigure"):
            output.reconfigure(errors="backslashreplace")
    try:
        command_line()(arguments, prog_name=_NAME)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else FAILED
    except KeyboardInterrupt:  # before the command line was read; afterwards each command sees to it
        return INTERRUPTED
    except BrokenPipeError:
        return _reader_is_gone()
    except Exception as error:
        if os.environ.get("ENGINE_DEBUG"):
            sys.excepthook = _show_without_secrets
            raise
        text, status = _told(error)
        print_error(secrets.scrubbed(text))
        return exit_code(status)
    return 0


def _show_without_secrets(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print a traceback whose messages hold no key."""
    import traceback

    sys.stderr.write(secrets.scrubbed("".join(traceback.format_exception(kind, error, trace))))


def _told(error: Exception) -> tuple[str, int]:
    """What happened and what to do about it, in a line, and the status of that."""
    match error:
        case EngineError():
            return error.message, error.status
        case FileNotFoundError(filename=None):
            return "the current folder no longer exists; change to another folder", NotFound.status
        case UnicodeEncodeError():
            return f"{ascii(error.object)[:80]} is not UTF-8 and cannot be stored; convert it first", 400
        case MemoryError():
            return "out of memory; ask for less at once", 500
        case OSError(strerror=str() as said, filename=name):
            return f"{name}: {said}" if name is not None else said, 500
        case _:
            first = str(error).partition("\n")[0][:300]
            return f"{type(error).__name__}: {first}; 'engine --debug …' shows where", 500


def _open_streams() -> None:
    """Open /dev/null for each standard stream that the caller closed: printing to a missing stream raises."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - lives as long as the process


def _reader_is_gone() -> int:
    """End quietly when the reader of our output has closed it, as `head` does; Python's last flush goes to /dev/null."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED

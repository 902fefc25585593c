"""What a line of `engine chat` does that begins with a slash: a command of the session, or one of the command line."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from engine.cli.run_argument import run_or_latest
from engine.cli.tree import COMMANDS
from engine.functions.counts import counted
from engine.models.availability import absolute_model
from engine.terminal.exit_codes import exit_code
from engine.terminal.hints import nearest
from engine.terminal.printing import print_error, say, shown_path, visible

if TYPE_CHECKING:
    from .session import Session

COMMAND = re.compile(r"/([a-z-]+)(?=\s|$)")
_NOT_HERE = frozenset({"chat"})
"""Commands of the command line that a session cannot be asked for."""


def perform(session: Session, text: str) -> None:
    """Do what the person typed: a command, or a prompt."""
    from engine.errors import EngineError

    if not text.strip():
        return
    if not COMMAND.match(text):
        session.give(text)
        return
    try:
        name, *words = shlex.split(text[1:])
        own = OWN.get(name)
        if own is not None:
            own[1](session, words)
        else:
            _call(session, name, words)
    except ValueError as error:  # a quote that is not closed
        print_error(f"{visible(text[:80])}: {str(error).lower()}")
        session.note(exit_code(400))
    except EngineError as error:
        session.fail(error)


def names() -> dict[str, str]:
    """All commands that a session takes, with what they do."""
    of_engine = {name: place.line for name, place in COMMANDS.items() if name not in _NOT_HERE}
    return {**{name: told for name, (told, _) in OWN.items()}, **{k: v for k, v in of_engine.items() if k not in OWN}}


def as_line(session: Session, name: str, words: Sequence[str]) -> list[str]:
    """The command line that a command stands for: with the --db of the session, and its run where it takes one first."""
    command, called, rest = _command(name, words)
    given = [] if session.given is None else ["--db", str(session.given)]
    run = [str(session.run)] if _takes_run(command) and not session.is_new else []
    return [*called, *given, *run, *rest]


def _command(name: str, words: Sequence[str]) -> tuple[Any, list[str], list[str]]:
    """The command that words name, its words, and the words behind it."""
    from engine.cli.main import command_line

    context: Any = None  # what click asks for, and these groups do not need
    called, rest = [name], [*words]
    command = command_line().get_command(context, name)
    while rest and hasattr(command, "get_command"):
        below = command.get_command(context, rest[0])
        if below is None:
            break
        command = below
        called.append(rest.pop(0))
    return command, called, rest


def _takes_run(command: Any) -> bool:
    """Whether the first word that a command takes is a run."""
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    return bool(arguments) and arguments[0].name == "run"


def _call(session: Session, name: str, words: list[str]) -> None:
    """Run a command of the command line; where it takes a run first, that of the session."""
    from engine.cli.main import main
    from engine.errors import NotFound, ValidationError

    if name not in names():
        raise ValidationError(
            f"/{name}: no such command; {nearest(name, names(), '/help lists them')}; to send it as a prompt, "
            "type a space first"
        )
    if _takes_run(_command(name, words)[0]) and session.is_new:
        raise NotFound(f"/{name}: there is no run yet; type a prompt to start one, or continue another with /run NAME")
    was_new = session.is_new
    session.note(main(as_line(session, name, words)))
    if session.is_new and not was_new:
        say("the run no longer exists; your next prompt starts a new run", "yellow")


def _help(_: Session, words: list[str]) -> None:
    from engine.cli.main import main

    if words:
        main([words[0].lstrip("/"), "--help"])
        return
    shown = names()
    width = max(map(len, shown)) + 1
    for name, told in shown.items():
        say(f"  /{name.ljust(width)}{told}")
    say(
        "\nWrite the options of a command after its name, without a RUN: /log --turn 2. /help NAME explains a command.",
        dim=True,
    )


def _model(session: Session, words: list[str]) -> None:
    if words:
        session.use_model(absolute_model(words[0]))
    say(f"model: {visible(session.model() or 'by the setting or the default')}; /models lists the models", dim=True)


def _effort(session: Session, words: list[str]) -> None:
    if words:
        session.use_effort(words[0])
    say(f"effort: {session.effort() or 'by the alias, the setting or the model itself'}", dim=True)


def _mode(session: Session, words: list[str]) -> None:
    from engine.errors import ValidationError

    if words and words[0] not in session.modes():
        raise ValidationError(
            f"/mode {words[0]}: type /mode act (asks before it changes anything), /mode accept-edits (changes "
            "files without "
            f"asking) or /mode ask (only reads){'' if session.allows_yolo else '; yolo needs engine chat --yolo'}"
        )
    session.mode = words[0] if words else session.mode
    say(f"mode: {session.mode}", dim=True)


def _status(session: Session, _: list[str]) -> None:
    for line in session.status():
        say(visible(line))


def _compact(session: Session, words: list[str]) -> None:
    """Summarize old results, except those with all the words."""
    from engine.driving.requests import carry_out
    from engine.errors import NotFound

    if session.is_new:
        raise NotFound("/compact: there is no run yet; type a prompt to start one")
    rows = session.db.rows("select path, tokens, body from results_in_full where run = ?", (session.run,))
    keep = [word.lower() for word in words]
    kept = [row for row in rows if keep and all(word in f"{row['path']} {row['body']}".lower() for word in keep)]
    gone = [row for row in rows if row not in kept]
    if not gone:
        say("nothing to summarize: no tool result is shown in full", dim=True)
        return
    moves = [{"verb": "set", "path": row["path"], "visibility": "summarized"} for row in gone]
    carry_out(session.db, str(session.run), moves)
    for row in gone[:_MOST_TOLD]:
        say(f"  {row['tokens']:>7,}  {shown_path(row['path'])}", dim=True)
    tokens = sum(row["tokens"] for row in gone)
    stays = f"; {counted(len(kept), 'result stays', 'results stay')} in full" if kept else ""
    say(f"{counted(len(gone), 'result')} summarized from now on: {counted(tokens, 'token')} freed{stays}", dim=True)


def _run(session: Session, words: list[str]) -> None:
    from engine.errors import ValidationError

    if len(words) != 1:
        raise ValidationError("/run NAME continues that run; /runs lists the runs, /new starts a new one")
    session.go_on(run_or_latest(session.db, words[0]))
    say(session.summary(), dim=True)
    session.tell_unfinished()


def _new(session: Session, words: list[str]) -> None:
    session.begin(words[0] if words else None)
    say(session.summary(), dim=True)


def _clear(_: Session, __: list[str]) -> None:
    import sys

    if not sys.stderr.isatty():
        return
    from prompt_toolkit.output import create_output

    output = create_output(stdout=sys.stderr)
    output.erase_screen()
    output.cursor_goto(0, 0)
    output.flush()


def _resume(session: Session, _: list[str]) -> None:
    from engine.errors import NotFound

    if session.db.value("select 1 from open_prompts where run = ?", (session.run,)) is None:
        raise NotFound("nothing to resume; type a prompt to continue the run")
    session.drive()


def _quit(session: Session, _: list[str]) -> None:
    session.is_over = True


_MOST_TOLD = 12
"""Results that are named when they are summarized."""
OWN: dict[str, tuple[str, Callable[[Session, list[str]], None]]] = {
    "help": ("List the commands; /help NAME explains one.", _help),
    "model": ("Show or change the model: /model NAME.", _model),
    "effort": ("Show or change how hard the model thinks: /effort high.", _effort),
    "reasoning": ("The same as /effort.", _effort),
    "mode": ("Show or change the mode: /mode act, ask or accept-edits; Shift-Tab does the same.", _mode),
    "compact": ("Make room: summarize old results, except those with your words: /compact parser.", _compact),
    "status": ("Say where the run stands: its model, tokens, cost and open decisions.", _status),
    "run": ("Continue another run: /run NAME.", _run),
    "new": ("Start a new run with the next prompt: /new, /new NAME.", _new),
    "resume": ("Continue a prompt that was stopped or waits for a decision.", _resume),
    "clear": ("Clear the screen.", _clear),
    "quit": ("Leave; the run stays as it is. Ctrl-D does the same.", _quit),
}
"""The commands of the session itself."""

__all__ = ["COMMAND", "OWN", "as_line", "names", "perform"]

"""`engine chat`: prompts and answers in one session at the terminal.

spec: @chat
"""

from __future__ import annotations

import errno
import termios
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.completion import complete_persona, complete_run
from engine.cli.databases import open_to_write, use_keys
from engine.cli.options import DbOption, DemoOption, EffortOption, KeyFromOption, ModelOption, RootOption
from engine.display import demo_mode as hiding
from engine.models.availability import absolute_model
from engine.terminal.exit_codes import INTERRUPTED
from engine.terminal.interrupt import Interrupt
from engine.terminal.jobs import ending_with_an_error, stay_attached
from engine.terminal.printing import one_line, say, visible
from engine.terminal.questions import at_terminal
from engine.terminal.screen import screen
from engine.terminal.wrapping import wrapped

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.chat.session import Session


def chat(
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="NAME",
            help="Continue the run of this name, or start a new run with this name.",
            autocompletion=complete_run,
        ),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Start a new run. With --run you choose its name.")] = False,
    root: RootOption = None,
    model: ModelOption = None,
    act: Annotated[
        bool | None,
        typer.Option(
            "--act/--ask",
            help="With --act the model may propose changes; with --ask it only reads. Default: as for the last prompt.",
        ),
    ] = None,
    yolo: Annotated[bool, typer.Option("--yolo", help="Accept every proposal, including shell commands.")] = False,
    persona: Annotated[
        str | None,
        typer.Option(
            "--persona",
            metavar="NAME",
            help="The persona of the model, for a new run.",
            autocompletion=complete_persona,
        ),
    ] = None,
    effort: EffortOption = None,
    demo: DemoOption = False,
    key_from: KeyFromOption = None,
    db: DbOption = None,
) -> None:
    """Talk with an agent at the terminal, prompt by prompt.

    The chat continues the latest run of this folder; --new starts a new run. Enter sends a prompt. While the model
    works, Enter queues the prompt. Alt-Enter starts a new line. Shift-Tab switches the mode: ask, act or accept-edits.
    @PATH shows a file to the model, !LINE runs a shell command, and #TEXT stores a note for the model. Ctrl-R searches
    earlier prompts. Esc Esc takes the run back to an earlier prompt, which you can then change. Ctrl-O shows long
    output in full. Ctrl-C stops the model and moves queued prompts back into the input line. Ctrl-D leaves. /help
    lists commands such as /model, /runs and /undo.

    Without a terminal, each line of stdin is a prompt or a command. To continue a prompt on the next line, end the
    line with a backslash. Answers go to stdout. The exit code is 0, or the exit code of the first prompt or command
    that failed.

    \b
    Examples:
      engine chat
      engine chat < prompts.txt
      engine chat --new --ask --model openai/gpt-5
      engine chat --run review
    """
    from engine.chat.session import Session
    from engine.terminal.driver import quieten_libraries

    plain = not at_terminal()
    if not plain:
        expect_library()
    quieten_libraries()
    if demo:
        hiding.begin_here()
    with open_to_write(db) as database, ending_with_an_error(database):
        use_keys(database, key_from)
        session = Session(database, db, root or Path.cwd(), yolo=yolo, persona=persona)
        if new:
            session.begin(run)
        else:
            session.take_up(run)
        if model is not None:
            session.use_model(absolute_model(model))
        if effort is not None:
            session.use_effort(effort)
        if act is not None and not (act and yolo):
            session.mode = "act" if act else "ask"
        if plain:
            _take_lines(session)
        else:
            _greet(session)
            _talk(session)
        _leave(database, db)
        raise typer.Exit(INTERRUPTED if session.is_told_to_end else session.failed if plain else 0)


def _take_lines(session: Session) -> None:
    """Do what the lines of stdin say until they end. Raises `ValidationError` (400) where there are none."""
    from engine.chat.commands import perform
    from engine.chat.lines import Lines
    from engine.errors import ValidationError

    lines = Lines()
    try:
        while not (session.is_over or session.is_told_to_end):
            perform(session, lines.read())
    except EOFError:
        if not lines.count:
            raise ValidationError(
                "stdin has no prompt; pipe one prompt per line, or run engine chat in a terminal"
            ) from None
    except KeyboardInterrupt:
        session.is_told_to_end = True


def _greet(session: Session) -> None:
    """Say with which run the session goes on, and where that stands."""
    text = f"{session.summary()}; /help lists the commands, Ctrl-D leaves"
    size = screen()
    for line in wrapped(visible(text), size and size[0] - 1, "", "  "):
        say(line, dim=True)
    if last := session.last_prompt():
        say(f"last: {one_line(last['prompt'], 200)}", dim=True)
        if last["answer"]:
            say(f"      {one_line(last['answer'], 200)}", dim=True)
    session.tell_unfinished()


def expect_library() -> None:
    """Raise `EngineError` where the library for chats is not installed."""
    from importlib.util import find_spec

    if find_spec("prompt_toolkit") is None:
        from engine.errors import EngineError
        from engine.system.installing import how_to_install

        raise EngineError(f"the library for chats is not installed; run: {how_to_install('chat')}")


def _talk(session: Session) -> None:
    """Talk until the person leaves, or the terminal is gone."""
    from engine.chat.app import Chat

    try:
        Chat(session).run()
    except (OSError, termios.error) as error:
        if error.args[:1] != (errno.EIO,):
            raise
        session.is_told_to_end = True


def _leave(db: Database, given: Path | None) -> None:
    """End the commands in the background that the session has kept."""
    with Interrupt() as interrupt:
        stay_attached(db, given, interrupt, wait=False)

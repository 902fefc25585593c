"""Reads what a person types in `engine chat`: several lines, with the prompts of the file as history, and completed."""

from __future__ import annotations

import asyncio
import errno
import signal
import sys
import termios
from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from engine.cli.groups import CLICK
from engine.terminal.printing import visible

from .chat_commands import MODES, OWN, as_line, names

try:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.filters import Condition
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.output import create_output
except ImportError as error:
    from engine.errors import EngineError
    from engine.system.installing import how_to_install

    raise EngineError(f"the library for chats is not installed; run: {how_to_install('chat')}") from error

if TYPE_CHECKING:
    from .chat_session import Session

_MOST = 1_000
"""Prompts of the file that the history has."""
_LONGEST = 100_000
"""Characters of one; a longer one is not brought back."""
_PROMPTS = f"""
    select l.prompt
    from loops as l
    join runs as r on r.id = l.run_id
    where r.role = 'main' and length(l.prompt) <= {_LONGEST}
    order by l.id desc
    limit {_MOST}
"""  # noqa: S608 - numbers of ours


_AS_OPTION = {"model": "--model", "run": "--run", "effort": "--effort", "reasoning": "--effort"}
"""Commands of the session that take what an option of `engine run` takes."""


class Reader:
    """Reads prompts and commands at the terminal; what it draws goes to stderr.

    It is a context manager in which SIGTERM and SIGHUP tell the session to end, whatever it is at.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._before: dict[signal.Signals, Any] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        """That of the prompt, while it waits."""
        self._prompts: PromptSession[str] = PromptSession(
            history=_Prompts(session),
            completer=_Completer(session),
            complete_while_typing=Condition(self._is_typing_a_command),
            key_bindings=_keys(),
            multiline=True,
            prompt_continuation="... ",
            enable_suspend=True,
            enable_open_in_editor=True,
            output=create_output(stdout=sys.stderr),
        )

    def __enter__(self) -> Reader:
        for number in (signal.SIGTERM, signal.SIGHUP):
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN:
                self._before[number] = before
                signal.signal(number, self._end)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def read(self) -> str:
        """What the person sends. Raises `KeyboardInterrupt` for Ctrl-C, `EOFError` for Ctrl-D and where the session ends."""
        try:
            text = self._prompts.prompt(
                visible(f"{self._session.run or 'new'} {self._session.mode}> "), pre_run=self._begin
            )
        except EOFError:
            if self._prompts.app.input.closed:
                self._hang_up()
            raise
        except (OSError, termios.error) as error:
            if error.args[:1] != (errno.EIO,):
                raise
            self._hang_up()
            raise EOFError from error
        finally:
            self._loop = None
        if self._session.is_told_to_end:
            raise EOFError
        return text

    def _is_typing_a_command(self) -> bool:
        text = self._prompts.default_buffer.text
        return text.startswith("/") and not any(each.isspace() for each in text)

    def _begin(self) -> None:
        self._loop = asyncio.get_running_loop()

    def _end(self, *_: object) -> None:
        """Have the session end: at its prompt with the terminal as it was before, else between two steps."""
        self._session.is_told_to_end = True
        if self._loop is None:
            raise KeyboardInterrupt
        self._loop.call_soon_threadsafe(self._leave)

    def _leave(self) -> None:
        if self._prompts.app.is_running and not self._prompts.app.is_done:
            self._prompts.app.exit(exception=EOFError)

    def _hang_up(self) -> None:
        """The terminal is gone. The SIGHUP that tells of it may come later."""
        self._session.is_told_to_end = True
        self._before[signal.SIGHUP] = signal.SIG_IGN
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


class _Prompts(History):
    """The prompts of the file, the latest first; the file keeps them, and so nothing else does."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def load_history_strings(self) -> Iterable[str]:
        """The prompts that were given before this session."""
        return [str(row["prompt"]) for row in self._session.db.rows(_PROMPTS)]

    def store_string(self, string: str) -> None:
        """Keep nothing: a prompt is stored with its run."""


class _Completer(Completer):
    """Completes commands and what the command line can complete of their words."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002 - of the library
        """The completions of the word before the cursor."""
        text = document.text_before_cursor
        if not text.startswith("/"):
            return
        *before, typed = text[1:].split(" ")
        if not before:
            found = [(name, told) for name, told in names().items() if name.startswith(typed)]
        else:
            found = [(each, "") for each in self._words(before, typed)]
        for word, told in found:
            yield Completion(word, start_position=-len(typed), display_meta=told)

    def _words(self, before: list[str], typed: str) -> list[str]:
        name = before[0]
        if name in _AS_OPTION:
            return _completions([*as_line(self._session, "run", []), _AS_OPTION[name]], typed)
        if name in OWN:
            words: Iterable[str] = {"mode": MODES, "help": names()}.get(name, ())
            return [each for each in words if each.startswith(typed)]
        return _completions(as_line(self._session, name, before[1:]), typed) if name in names() else []


def _completions(words: list[str], typed: str) -> list[str]:
    """What may stand behind `words` of a command line and begins with `typed`; nothing where anything fails."""
    from engine.cli.main import command_line

    line = command_line()
    shells = import_module(f"{CLICK}.shell_completion")
    try:
        found = shells.get_completion_class("zsh")(line, {}, "engine", "").get_completions([*words], typed)
    except Exception:
        return []
    return [str(each.value) for each in found]


def _keys() -> KeyBindings:
    """Enter sends, Alt-Enter and Enter behind a backslash begin a line."""
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None
        elif buffer.document.current_line_before_cursor.endswith("\\") and buffer.document.is_cursor_at_the_end:
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return keys

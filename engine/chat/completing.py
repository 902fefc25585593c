"""Completes what is typed in a chat: commands, their words, and behind an @ the files and entries that join a prompt.

spec: @chat_keys
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import History as Histories

from engine.cli.groups import CLICK
from engine.terminal.drawing.folding import cut
from engine.terminal.drawing.look import Line, Look, Span
from engine.terminal.printing import one_line, visible

from .commands import OWN, as_line, names
from .places import places_like

if TYPE_CHECKING:
    from .session import Session

_MOST = 1_000
"""Prompts of the file that the history has."""
_LONGEST = 100_000
"""Characters of one; a longer one is not brought back."""
PROMPTS = f"""
    select l.prompt, r.alias as run
    from loops as l
    join runs as r on r.id = l.run_id
    where r.role = 'main' and length(l.prompt) <= {_LONGEST}
    order by l.id desc
    limit {_MOST}
"""  # noqa: S608 - numbers of ours
_SHOWN = 8
_TYPED_S, _ASKED_S = 0.02, 5.0
"""How long the screen waits for a list of files: while a word is typed, and after Tab."""
_AS_OPTION = {"model": "--model", "run": "--run", "effort": "--effort", "reasoning": "--effort"}
"""Commands of the session that take what an option of `engine run` takes."""


class History(Histories):
    """The prompts of the file, the latest first; the file keeps them, and so nothing else does."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def load_history_strings(self) -> Iterable[str]:
        """The prompts that were given before this session."""
        return [str(row["prompt"]) for row in self._session.db.rows(PROMPTS)]

    def store_string(self, string: str) -> None:
        """Keep nothing: a prompt is stored with its run."""


class Completions(Completer):
    """Completes commands and what the command line can complete of their words, files and entries."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """The completions of the word before the cursor."""
        text, word = document.text_before_cursor, _word(document)
        if word.startswith("@"):
            wait_s = _ASKED_S if complete_event.completion_requested else _TYPED_S
            for path, told in places_like(self._session, word[1:], wait_s):
                yield Completion(f"@{path}", start_position=-len(word), display_meta=told)
            return
        if not text.startswith("/"):
            return
        *before, typed = text[1:].split(" ")
        if not before:
            found = [(name, told) for name, told in names().items() if name.startswith(typed)]
        else:
            found = [(each, "") for each in self._words(before, typed)]
        for each, told in found:
            yield Completion(each, start_position=-len(typed), display_meta=told)

    def _words(self, before: list[str], typed: str) -> list[str]:
        name = before[0]
        if name in _AS_OPTION:
            return _completions([*as_line(self._session, "run", []), _AS_OPTION[name]], typed)
        if name in OWN:
            words: Iterable[str] = {"mode": self._session.modes(), "help": names()}.get(name, ())
            return [each for each in words if each.startswith(typed)]
        return _completions(as_line(self._session, name, before[1:]), typed) if name in names() else []


def _word(document: Document) -> str:
    """The word that is typed."""
    text = document.text_before_cursor
    return text.rsplit(None, 1)[-1] if text and not text[-1].isspace() else ""


def completion_lines(buffer: Buffer, look: Look) -> list[Line]:
    """The completions around the one that is chosen, a line each."""
    state = buffer.complete_state
    if state is None or not state.completions:
        return []
    at = state.complete_index
    first = max(min((at or 0) - _SHOWN // 2, len(state.completions) - _SHOWN), 0)
    shown = state.completions[first : first + _SHOWN]
    wide = min(max(len(_text(each)) for each in shown), look.width // 2)
    lines = [_line(each, wide, look, is_chosen=number == at) for number, each in enumerate(shown, first)]
    rest = len(state.completions) - len(shown)
    return [*lines, [Span(f"  {look.mark('more')} {rest} more", "dim")]] if rest else lines


def _line(completion: Completion, wide: int, look: Look, *, is_chosen: bool) -> Line:
    name = Span(one_line(_text(completion), wide).ljust(wide), "reverse" if is_chosen else "info")
    told = one_line(completion.display_meta_text, 200)
    return cut([Span("  "), name, Span(f"  {told}", "dim")], look.width - 1, look.mark("more"))


def _text(completion: Completion) -> str:
    return visible(completion.text)


def _completions(words: Sequence[str], typed: str) -> list[str]:
    """What may stand behind `words` of a command line and begins with `typed`; nothing where anything fails."""
    from engine.cli.main import command_line

    line = command_line()
    shells = import_module(f"{CLICK}.shell_completion")
    try:
        found = shells.get_completion_class("zsh")(line, {}, "engine", "").get_completions([*words], typed)
    except Exception:
        return []
    return [str(each.value) for each in found]


__all__ = ["PROMPTS", "Completions", "History", "completion_lines"]

"""What becomes of a line that was sent: a prompt, a command, a command of the shell, or a note. What waits is asked about.

spec: @chat @chat_keys
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.errors import EngineError
from engine.terminal.drawing.look import Span
from engine.terminal.editor_and_pager import edited, paged
from engine.terminal.narrating import here
from engine.terminal.notifying import LONG_S, notify
from engine.terminal.printing import say, visible

from .commands import COMMAND, perform
from .decisions import Decisions
from .notes import join_places, keep_pending, note_fact, run_shell

if TYPE_CHECKING:
    from .app import Chat

PICKERS = {"runs": "runs", "model": "models", "help": "helps", "rewind": "go_back"}
"""Commands that open a list when nothing stands behind them, and who makes it."""


class Sender:
    """Does what the person sends in one chat."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self._later: set[int] = set()
        """The proposals that the person decides on later."""
        self._asked: set[int] = set()
        self._since: float | None = None

    def begin(self) -> None:
        """Ask about what is open already."""
        self.look()

    def send(self, text: str) -> None:
        """Do what a line says."""
        chat = self._chat
        if not text.strip():
            return
        chat.buffer.append_to_history()
        chat.buffer.reset()
        try:
            if COMMAND.match(text):
                self._command(text)
            elif text.startswith("!") and text[1:].strip():
                run_shell(chat, text[1:].strip())
            elif text.startswith("#") and text[1:].strip():
                note_fact(chat, text[1:].strip())
            else:
                self.prompt(text)
        except EngineError as error:
            self.fail(error)
            if chat.session.is_new or not chat.buffer.text:
                chat.fill(text)

    def prompt(self, text: str) -> None:
        """Give a prompt to the run; while it works the prompt waits in line."""
        from engine.models.protocol import storable

        chat = self._chat
        waits = chat.worker.is_busy
        loop = chat.session.store(text)
        chat.ends.given(loop, storable(text), waits=waits)
        keep_pending(chat.session)
        for wrong in join_places(chat.session, text):
            chat.note(wrong, "warn")
        if not waits:
            self._since = time.monotonic()
        chat.go(loop)
        chat.refresh()

    def resume(self) -> None:
        """Go on with a prompt that was stopped, and ask again about what waits."""
        chat = self._chat
        session = chat.session
        self._later.clear()
        if session.db.value("select 1 from open_prompts where run = ?", (session.run,)) is None:
            chat.note("nothing to resume; type a prompt to continue the run", "warn")
            return
        chat.go()
        self.look()

    def fail(self, error: EngineError) -> None:
        """Tell an error."""
        from engine.terminal.printing import shown_error

        self._chat.note(f"engine: {shown_error(error.message)}", "bad")

    def look(self) -> None:
        """Ask about what waits for a decision, and tell a person who looks elsewhere."""
        chat = self._chat
        session = chat.session
        if isinstance(chat.panel, Decisions):
            chat.panel.refresh()
            if chat.panel.is_over:
                chat.open(None)
        if chat.panel is None and not session.is_new:
            panel = Decisions(session.db, str(session.run), self._decided, chat.fill)
            open_now = {row["proposal_id"] for row in panel.rows}
            if open_now - self._later:
                chat.open(panel)
                if open_now - self._asked:
                    notify(session.db, f"{session.run}: waits for your decision")
                self._asked |= open_now
        if self._since is not None and not chat.worker.is_busy:
            took, self._since = time.monotonic() - self._since, None
            if took > LONG_S:
                notify(session.db, f"{session.run}: has ended")
            self._tell_unfinished()

    def panel_key(self, name: str) -> bool:
        """Let the panel take a key; False: it did not."""
        chat = self._chat
        panel = chat.panel
        if panel is None:
            return False
        try:
            used = panel.key(name, chat.buffer.text)
        except EngineError as error:
            self.fail(error)
            used = True
        if used and isinstance(panel, Decisions):
            if panel.wanted:
                wanted, panel.wanted = panel.wanted, ""
                chat.in_terminal(lambda: self._whole(panel, wanted))
            if panel.is_over and chat.panel is panel:
                self._later |= {row["proposal_id"] for row in panel.rows}
                if panel.rows:
                    chat.note("it waits for a decision; /resume asks again, /proposals lists what is open", "warn")
                chat.open(None)
        elif used and chat.panel is panel and getattr(panel, "is_over", False):
            chat.open(None)
        chat.app.invalidate()
        return used

    def show_whole(self) -> None:
        """Show in the pager what is folded on the screen: thoughts, outputs and changes, as `engine log --full` has them."""
        session = self._chat.session
        if session.is_new:
            self._chat.note("nothing was done yet")
        else:
            self._chat.in_terminal(lambda: perform(session, "/log --full"))

    def next_mode(self) -> None:
        """Go to the next mode; accept-edits holds for the prompt that is worked on, too."""
        session = self._chat.session
        modes = session.modes()
        at = modes.index(session.mode) if session.mode in modes else 0
        session.mode = modes[(at + 1) % len(modes)]
        self._chat.app.invalidate()

    def _decided(self) -> None:
        self._chat.go()

    def _whole(self, panel: Decisions, wanted: str) -> None:
        """Show a proposal in the pager, or hand its text to the editor."""
        from pathlib import PurePosixPath

        from .decisions import whole_lines

        proposal = panel.proposal
        if wanted == "view":
            look = here()
            paged([look.ansi(line) for line in whole_lines(proposal, look)])
            return
        text = self._chat.session.db.value(
            "select c.body from proposals as p join contents as c on c.id = p.content_id where p.id = ?",
            (proposal["proposal_id"],),
        )
        changed = edited(str(text), PurePosixPath(proposal["target"] or "").name)
        if changed is None or changed == text:
            say("nothing was changed", dim=True)
            return
        panel.replace(changed)

    def _command(self, text: str) -> None:
        chat = self._chat
        look = here()
        name, _, rest = text[1:].strip().partition(" ")
        chat.show([[Span(f"{look.mark('prompt')} ", "mark"), Span(visible(text.strip()), "info")]], "prompt")
        if name in PICKERS and not rest.strip():
            self._pick(name)
        elif name == "resume" and not rest.strip():
            self.resume()
        elif name in ("quit", "exit"):
            chat.leave()
        else:
            chat.in_terminal(lambda: self._perform(text))

    def _pick(self, name: str) -> None:
        from . import pickers

        pick: Callable[[Chat], None] = getattr(pickers, PICKERS[name])
        pick(self._chat)

    def _perform(self, text: str) -> None:
        session = self._chat.session
        perform(session, text.strip())
        if session.is_over:
            self._chat.leave()
        self._later.clear()

    def _tell_unfinished(self) -> None:
        """Say so where a prompt was stopped, and what goes on with it."""
        text = self._chat.session.unfinished()
        if text and self._chat.panel is None:
            self._chat.note(text, "warn")


__all__ = ["Sender"]

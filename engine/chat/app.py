"""The screen of a chat: what the run does above, the line that is typed below, and a line that says where all stands.

What stays is printed once, above the rest, so that the terminal's own scrolling, search and copying work. The rest is drawn
by prompt_toolkit, which sends only what differs; it serves a terminal inline, where textual takes the whole screen.

spec: @chat_screen
"""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition

from engine.display.statuses import status_words
from engine.terminal.drawing.folding import folded
from engine.terminal.drawing.look import Line, Look, Span
from engine.terminal.drawing.telling import Telling
from engine.terminal.narrating import here
from engine.terminal.printing import one_line

from .completing import Completions, History
from .ends import Ends
from .keys import keys
from .modes import guarded, interruptible
from .output import Held
from .panels import Panel, Picker
from .parts import ChatScreen
from .sending import Sender
from .status import Stands, branch_of, stands
from .worker import Worker

if TYPE_CHECKING:
    from .session import Session

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_FASTEST_S, _WHEEL_S, _SLOWEST_S = 1 / 15, 1 / 8, 1 / 3
_SOON_S = 0.1
"""After which the parts are imported that the first prompt needs: the first frame is there then."""
_SHARE = 12
"""Drawing takes at most this part of the time."""
_LEAVING_S = 2.0
"""How soon the second Ctrl-C leaves."""


class Chat(ChatScreen):
    """One chat at the terminal."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.panel: Panel | None = None
        self.telling = Telling(status_words(session.db), here, None)
        self.worker = Worker(session.db, self._stir, yolo=session.allows_yolo)
        self.ends = Ends(session, self.telling)
        self.sender = Sender(self)
        self.output = Held.here()
        self.buffer = Buffer(
            multiline=True,
            history=History(session),
            completer=Completions(session),
            complete_while_typing=Condition(self._completes),
            on_text_changed=lambda _: self._typed(),
        )
        self.app: Application[None] = Application(
            layout=self._layout(),
            key_bindings=keys(self),
            output=self.output,
            erase_when_done=True,
            enable_page_navigation_bindings=False,
            mouse_support=False,
        )
        self.app.ttimeoutlen, self.app.timeoutlen = 0.05, 0.4
        self.branch = branch_of(session.root)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_stirred = False
        self._timer: asyncio.TimerHandle | None = None
        self._moving: list[Line] = []
        self._stood = Stands()
        self._queue: list[Any] = []
        self._spent = 0.0
        self._struck = -_LEAVING_S
        self.draft = ""
        self.is_ahead = True
        """Whether what is read was typed before the screen was there: the terminal has made a line feed of its Enter."""

    def run(self) -> None:
        """Talk until the person leaves."""
        self.refresh()
        before = {number: signal.getsignal(number) for number in _SIGNALS}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, self._end)
        try:
            with guarded():
                self.app.run(pre_run=self._begin, handle_sigint=True, set_exception_handler=False)
        except EOFError:
            self.session.is_told_to_end = self.session.is_told_to_end or self.app.input.closed
        finally:
            self._loop = None
            if not self.session.is_told_to_end:
                for number, handler in before.items():
                    signal.signal(number, handler)
            self.worker.close()
            self._print_rest()

    # -- what happens

    def refresh(self) -> None:
        """Read where the run stands."""
        session = self.session
        self._stood = stands(session.db, None if session.is_new else session.run)
        self._queue = [] if session.is_new else [row for row in session.queue() if not self.ends.is_told(row["loop"])]

    def show(self, lines: list[Line], kind: str = "note") -> None:
        """Let lines stand above what moves."""
        self.telling.say(lines, kind)
        self.draw()

    def note(self, text: str, style: str = "dim") -> None:
        """Say something to the person."""
        look = here()
        self.show([line for part in text.split("\n") for line in folded([Span(part, style)], look.width - 1)])

    def open(self, panel: Panel | None) -> None:
        """Let a panel take the keys, or nothing any more."""
        if panel is not None and panel.searches:
            self.draft = self.buffer.text
            self.buffer.reset()
        elif self.panel is not None and self.panel.searches:
            self.fill(self.draft)
            self.draft = ""
        self.panel = panel
        self.app.invalidate()

    def fill(self, text: str) -> None:
        """Put a text into the line."""
        self.buffer.text = text
        self.buffer.cursor_position = len(text)

    def go(self, loop: int | None = None) -> None:
        """Have the run driven on."""
        if self.telling.activity == "":
            self.telling.activity = "starting"
        self.ends.watch(str(self.session.run))
        self.worker.go(str(self.session.run), loop)
        self.draw()

    def interrupt(self) -> None:
        """Ctrl-C: close what is open, stop the turn and give the queue back, clear the line, or, the second time, leave."""
        again = time.monotonic() - self._struck < _LEAVING_S
        self._struck = time.monotonic()
        if self.worker.is_busy and not again:
            self.worker.stop()
            self.telling.activity = "stopping; Ctrl-C again leaves"
            taken = self.take_back_all()
            if taken:
                self.fill("\n\n".join(filter(None, [*taken, self.buffer.text])))
            self.draw()
        elif self.worker.is_busy or (again and not self.buffer.text):
            self.leave()
        elif self.buffer.text:
            self.buffer.reset()
            self._struck = -_LEAVING_S
        else:
            self.note("Ctrl-C again, Ctrl-D or /quit leaves")

    def take_back(self) -> bool:
        """Put the prompt that was queued last back into the line."""
        rows = self._own_queue()
        if not rows:
            return False
        row = rows[-1]
        self.session.take_back(row["loop"])
        self.ends.forget(row["loop"])
        self.fill(row["prompt"])
        self.refresh()
        return True

    def take_back_all(self) -> list[str]:
        """Take all prompts of this session out of the line; returns them."""
        rows = self._own_queue()
        for row in rows:
            self.session.take_back(row["loop"])
            self.ends.forget(row["loop"])
        self.refresh()
        return [row["prompt"] for row in rows]

    def _own_queue(self) -> list[Any]:
        self.refresh()
        return [row for row in self._queue if row["loop"] in self.ends.own]

    def leave(self) -> None:
        """End the session."""
        if self.app.is_running and not self.app.is_done:
            self.app.exit()

    def in_terminal(self, act: Callable[[], None]) -> None:
        """Do something that prints, asks or shows by itself; what is typed meanwhile is for the chat, which comes back."""
        self._frame()
        self.app.renderer.erase(leave_alternate_screen=False)
        self.output.flush()
        with interruptible():
            act()
        self.refresh()
        self.draw()

    # -- what is drawn

    def draw(self) -> None:
        """Draw a frame soon."""
        if self._loop is not None and self._timer is None:
            self._timer = self._loop.call_later(min(max(_FASTEST_S, self._spent * _SHARE), _SLOWEST_S), self._frame)

    def _begin(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._break)
        self.sender.begin()
        self.draw()
        self._loop.call_later(_SOON_S, self._settle)

    def _settle(self) -> None:
        self.is_ahead = False
        self.worker.warm()

    def _break(self, _: asyncio.AbstractEventLoop, told: dict[str, Any]) -> None:
        """Something failed while a key or a frame was worked on: the session ends with it."""
        error = told.get("exception")
        if self.app.is_running and not self.app.is_done and isinstance(error, Exception):
            self.app.exit(exception=error)

    def _end(self, *_: object) -> None:
        """SIGTERM or SIGHUP: end the session, with the terminal as it was before."""
        self.session.is_told_to_end = True
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self.leave)

    def _stir(self) -> None:
        """Something was told; called in the thread of the worker."""
        if not self._is_stirred and self._loop is not None:
            self._is_stirred = True
            with suppress(RuntimeError):  # the session is over
                self._loop.call_soon_threadsafe(self.draw)

    def _frame(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        if self.app.is_done:
            return
        began = time.thread_time()
        self._is_stirred = False
        self._hear()
        stay = self.telling.take()
        self._moving = self.telling.moving(self._room()) if self.worker.is_busy else []
        look = here()
        with self.output.frame():
            if stay:
                self.app.renderer.erase(leave_alternate_screen=False)
                self.output.write_raw("".join(f"{look.ansi(line)}\x1b[K\r\n" for line in stay))
            self.app._redraw()
        self._spent = time.thread_time() - began
        if self.worker.is_busy and self._loop is not None:
            self._timer = self._loop.call_later(_WHEEL_S, self._frame)

    def _hear(self) -> None:
        """Take what the worker has told."""
        is_news = False
        # looked at first: what a worker that rests has told is all there, of one that ends meanwhile the rest may come
        is_idle = not self.worker.is_busy
        told = self.worker.told
        while told:
            event = told.popleft()
            is_news = is_news or event["type"] not in ("delta", "text", "thought", "output", "partial")
            self.ends.hear(event)
        while self.worker.failed:
            error = self.worker.failed.popleft()
            self.telling.rest()
            self.telling.say([[Span(f"engine: {one_line(error.message, 2_000)}", "bad")]])
        if is_idle and self.telling.activity:
            self.telling.rest()
            self.ends.rested()
            is_news = True
        if is_news:
            self.refresh()
            self.sender.look()

    def _print_rest(self) -> None:
        """Print what has not been drawn when the session ended."""
        self._hear()
        self.telling.rest()
        look = here()
        for line in self.telling.take():
            sys.stderr.write(look.ansi(line) + "\n")
        sys.stderr.flush()

    def _typed(self) -> None:
        if isinstance(self.panel, Picker):
            self.panel.search(self.buffer.text)


__all__ = ["Chat", "Look"]

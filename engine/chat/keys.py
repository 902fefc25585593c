"""What each key does in a chat.

spec: @chat_keys
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_toolkit.filters import Condition
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

if TYPE_CHECKING:
    from .app import Chat

_PANEL_KEYS = ("up", "down", "pageup", "pagedown", "c-f")


def keys(chat: Chat) -> KeyBindings:
    """The keys of a chat, besides those of every line that is typed."""
    found = KeyBindings()
    has_panel = Condition(lambda: chat.panel is not None)
    is_deciding = Condition(lambda: chat.panel is not None and not chat.panel.searches)
    has_queue = Condition(lambda: chat.panel is None and not chat.buffer.text and bool(chat._queue))
    completes = Condition(lambda: chat.buffer.complete_state is not None)

    @found.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if chat.panel is not None and chat.sender.panel_key("enter"):
            return
        if buffer.complete_state and buffer.complete_state.current_completion:
            buffer.complete_state = None
        elif buffer.document.current_line_before_cursor.endswith("\\") and buffer.document.is_cursor_at_the_end:
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            chat.sender.send(buffer.text)

    @found.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @found.add("c-j")
    def _(event: KeyPressEvent) -> None:
        if chat.is_ahead:
            chat.sender.send(event.current_buffer.text)
        else:
            event.current_buffer.insert_text("\n")

    @found.add("c-c")
    @found.add(Keys.SIGINT)
    def _(event: KeyPressEvent) -> None:
        if chat.panel is not None and not chat.worker.is_busy and chat.sender.panel_key("c-c"):
            return
        chat.interrupt()

    @found.add("c-d", filter=Condition(lambda: not chat.buffer.text))
    def _(event: KeyPressEvent) -> None:
        chat.leave()

    @found.add("escape", filter=has_panel, eager=True)
    def _(event: KeyPressEvent) -> None:
        chat.sender.panel_key("escape")

    @found.add("escape", "escape", filter=~has_panel)
    def _(event: KeyPressEvent) -> None:
        from .pickers import go_back

        go_back(chat)

    @found.add("c-r", filter=~has_panel)
    def _(event: KeyPressEvent) -> None:
        from .pickers import earlier_prompts

        earlier_prompts(chat)

    @found.add("c-o", filter=~has_panel)
    def _(event: KeyPressEvent) -> None:
        chat.sender.show_whole()

    @found.add("s-tab")
    def _(event: KeyPressEvent) -> None:
        chat.sender.next_mode()

    @found.add("up", filter=has_queue)
    def _(event: KeyPressEvent) -> None:
        chat.take_back()

    for each in _PANEL_KEYS:

        @found.add(each, filter=has_panel & ~completes)
        def _(event: KeyPressEvent, name: str = each) -> None:
            chat.sender.panel_key(name)

    @found.add(Keys.Any, filter=is_deciding & Condition(lambda: not chat.buffer.text))
    def _(event: KeyPressEvent) -> None:
        if not chat.sender.panel_key(event.data):
            event.current_buffer.insert_text(event.data)

    @found.add("c-l")
    def _(event: KeyPressEvent) -> None:
        event.app.renderer.clear()

    return found


__all__ = ["keys"]

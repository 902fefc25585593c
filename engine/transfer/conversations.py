"""Conversations, in the Python API: the messages of another library into a run, and a run as such messages.

spec: @messages
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from engine.arguments import expects
from engine.errors import NotFound, ValidationError
from engine.functions.compact import to_json
from engine.handle import Handle

if TYPE_CHECKING:
    from os import PathLike

    Form = Literal["openai", "anthropic", "pydantic_ai"]


class Conversations(Handle):
    """The methods of `Database` that take conversations in and give them out."""

    @expects(run="a text", form="a text or None", root="a path or None")
    def import_messages(
        self,
        run: str,
        messages: Iterable[Any] | str | bytes,
        *,
        form: Form | None = None,
        root: str | PathLike[str] | None = None,
    ) -> int:
        """Add the messages of a conversation to `run`, which is made if it is new; returns how many prompts they have.

        `messages` are those of OpenAI's chat completions, of Anthropic's API or of pydantic-ai: dicts, the objects of these
        libraries, or the JSON of a list. `form` says which ("openai", "anthropic", "pydantic_ai"; default: as they look).
        `root` is the folder that a new run works in (default: none). Later prompts see the messages as earlier turns. No
        tool is called. Text, thoughts and calls of tools with their results are taken; a system message becomes the run's
        `system_prompt`. If nobody has answered the last message, the next `resume` does.

        Raises `ValidationError` (400) for a message that cannot be taken, which it names, and `Conflict` (409) while a
        prompt of the run has not ended. Nothing is changed then.
        """
        given = _json_of(messages)
        with self.transaction():
            if root is not None:
                _works_in(self, run, root)
            before = self.value("select next_loop from runs where alias = ?", (run,)) or 1
            self.insert("verb_import_messages", run=run, form=form, messages=given)
            return int(self.value("select next_loop from runs where alias = ?", (run,))) - int(before)

    @expects(run="a text", form="a text")
    def messages(self, run: str, form: Form = "openai") -> list[dict[str, Any]]:
        """The conversation of `run` as messages: of OpenAI's chat completions, of Anthropic's API or of pydantic-ai.

        They are dicts of JSON values; pydantic-ai's `ModelMessagesTypeAdapter.validate_python` makes its objects of them.
        Commands of the model are calls of tools, with what came of them. The run's `system_prompt` is the first message, but
        for Anthropic, whose API takes it as the field `system`. A turn that is not over is left out. Raises `NotFound` (404)
        for an unknown run, `ValidationError` (400) for an unknown form.
        """
        items = self.value("select items from _conversations where run = ?", (run,))
        if items is None:
            raise NotFound(f"run {run!r}: there is no such run; see 'engine runs'")
        found: list[dict[str, Any]] = json.loads(self.value("select messages_write(?, ?)", (items, form)))
        return found


def _works_in(db: Handle, run: str, root: str | PathLike[str]) -> None:
    """A new run works in the folder `root`; a run that is there keeps its own, which must be that one."""
    from engine.project.root_names import note_root
    from engine.project.workspace import Workspace

    Workspace(Path(root))
    db.insert("verb_set", run=run, path=f"run://{run}", attributes=json.dumps({"root": str(Path(root).resolve())}))
    note_root(db, run, root)


def _json_of(messages: Any) -> str:
    """The JSON of messages; those that are objects of a library are written as it writes them."""
    if isinstance(messages, bytes):
        try:
            return messages.decode()
        except UnicodeDecodeError as error:
            raise ValidationError("messages: not UTF-8; nothing was imported") from error
    if isinstance(messages, str):
        return messages
    if not isinstance(messages, Iterable):
        raise TypeError(f"messages must be a list, or the JSON of one, not {messages!r:.60}")
    listed = dict(messages) if isinstance(messages, Mapping) else [_plain(each) for each in messages]
    try:
        return to_json(listed)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationError(f"messages: not JSON ({error}); nothing was imported") from error


def _plain(message: Any) -> Any:
    if hasattr(message, "model_dump"):
        return message.model_dump(mode="json", exclude_none=True)
    if hasattr(message, "parts") and hasattr(message, "kind"):
        from pydantic_core import to_jsonable_python

        return to_jsonable_python(message)
    return message

"""What a tool knows of the call that it works for: `engine.Context`, and what it may raise.

spec: @tool_context @tool_asks
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from engine.tools.tables import ToolTables

App = TypeVar("App")


@dataclass(frozen=True, kw_only=True)
class Context(Generic[App]):
    """Facts about the call of a tool. A tool gets it if it has a parameter with this annotation, which models do not see:
    `def refund(order: str, context: engine.Context[Shop]) -> str`.

    `run` is the name of the run, `loop` the number of the prompt, `prompt` its text, `turn` the number of the turn
    (None: the call comes from outside a turn), `command_id` the number of the command in `command_results`.
    `request_id` stays the same if the call is repeated after a retry, a kill or a resume; use it as an idempotency
    key. `app` is the object that the app gave as `context=` to `open`, `run` or `resume`. `db` reads the file, and
    writes the app's tables together with the result of the tool. `approved_by` says who accepted the call (None:
    nobody was asked).
    """

    run: str
    loop: int | None
    prompt: str | None
    turn: int | None
    command_id: int
    request_id: str
    app: App
    db: ToolTables
    approved_by: str | None = None
    _tell: Callable[[str], None] = field(default=lambda _: None, repr=False)

    def tell(self, text: str) -> None:
        """Report progress: `on_event` gets an event of the type progress."""
        self._tell(str(text))


class Retry(Exception):  # noqa: N818 - an outcome, not a defect
    """Raised by a tool: the model reads `message`, and may call the tool again in another way. It does not count as a
    strike.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NeedsApproval(Exception):  # noqa: N818 - an outcome, not a defect
    """Raised by a tool if a person must decide on the call; the person sees `reason`. If it is accepted, the tool is
    called again, with `context.approved_by`. Writes through `context.db` before the exception are not stored.
    """

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


def is_context(hint: Any) -> bool:
    """Whether a type hint is `Context`, or one of it with the type of the app's object."""
    return hint is Context or getattr(hint, "__origin__", None) is Context

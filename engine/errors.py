"""Errors of the engine: each carries the HTTP status that SQL, Python and the CLI share."""

from __future__ import annotations

from typing import Any


class EngineError(Exception):
    """The engine refuses a request or cannot carry it out.

    `status` is the HTTP status code that the database gives to the same failure;
    `str(error)` is ``"STATUS what happened, to what, and what to do next"``.
    """

    status: int = 500

    def __init__(self, message: str, status: int | None = None) -> None:
        if status is not None:
            self.status = status
        self.message: str = message
        super().__init__(f"{self.status} {message}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Come out of a pickle, and so from another process, as it went in: kinds differ in what they are made from."""
        return _as_it_was, (type(self), self.args, self.__dict__)


class ValidationError(EngineError):
    """400: an argument or a text is invalid."""

    status: int = 400


class PermissionDenied(EngineError):  # noqa: N818 - a field term
    """403: the caller may not do this."""

    status: int = 403


class NotFound(EngineError):  # noqa: N818
    """404: the run, file, model or other thing does not exist."""

    status: int = 404


class NoOutput(EngineError):  # noqa: N818
    """406: the prompt has no output, or an output that does not fit the type."""

    status: int = 406


class Conflict(EngineError):  # noqa: N818
    """409: the current state of the run, file or database does not allow it."""

    status: int = 409


class LeaseHeld(Conflict):
    """409: another process works on the run, so this process did not."""


class LeaseLost(Conflict):
    """409: another process has taken over the run."""


class NeedsModule(Conflict):
    """409: a module is needed that the file has not taken in. A handle of the engine takes it in and tries again."""

    def __init__(self, module: str) -> None:
        super().__init__(
            f"this needs the module {module}, which the file does not have; install it with db.install({module!r})"
        )
        self.module: str = module


class Overflow(EngineError):  # noqa: N818
    """413: a text, a value or a project is too large."""

    status: int = 413


_BY_STATUS = {kind.status: kind for kind in (ValidationError, PermissionDenied, NotFound, NoOutput, Conflict, Overflow)}


def _as_it_was(kind: type[EngineError], args: tuple[Any, ...], state: dict[str, Any]) -> EngineError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


def error_for(status: int, message: str) -> EngineError:
    """The error class that stands for `status`, carrying `message`; `EngineError` itself for any other status."""
    return _BY_STATUS.get(status, EngineError)(message, status)

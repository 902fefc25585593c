"""Takes values of a command line as they are, where nothing has to be read out of them.

Newer versions of typer import pydantic to read any value, one that is not given included. That takes longer than most
commands.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

_CHECKED = ("exists", "readable", "writable", "resolve_path", "allow_dash")
"""What may be asked of a path; one of which nothing is asked is made of its text."""


def take_as_given(command: Any) -> None:
    """Let the parameters of a command, and of those below it, have typer read only what has to be read."""
    listed = command.get_params

    def get_params(context: Any) -> list[Any]:
        found: list[Any] = listed(context)
        for each in found:
            # older versions of typer read by click
            reader = getattr(each, "get_runtime_param", None)
            if reader is not None and hasattr(each, "type_descriptor") and not isinstance(reader, _Given):
                each.get_runtime_param = _Given(each)
        return found

    command.get_params = get_params
    for below in getattr(command, "commands", {}).values():
        take_as_given(below)


class _Given:
    """Reads the values of one parameter in the place of typer, and asks it where it has to."""

    def __init__(self, parameter: Any) -> None:
        self._of_typer = parameter.get_runtime_param
        self._several = parameter.multiple or parameter.nargs == -1
        self._kind = parameter.type_descriptor.annotation
        asked = parameter.type_descriptor.parameter_info
        self._is_path = self._kind is Path and asked.file_okay and asked.dir_okay
        self._is_path = self._is_path and not any(getattr(asked, each) for each in _CHECKED)
        self._is_read = asked.parser is not None

    def __call__(self) -> Self:
        return self

    def coerce(self, value: Any, **asked: Any) -> Any:
        """What the command gets: nothing, a default, a text and a path stay what they are; raises as typer does."""
        if not self._is_read:
            if self._several and not value:
                return ()
            if self._several and self._kind == list[str] and isinstance(value, tuple):
                return list(value)
            if not self._several and (value is None or type(value) is self._kind):
                return value
            if not self._several and self._is_path and isinstance(value, str):
                return Path(value)
        return self._of_typer().coerce(value, **asked)

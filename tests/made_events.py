"""What is made of the events in `engine/events.py`: the classes of `engine/stream_events.py`, and the table of the contract.

They are called in comments that Cog reads: `make spec` writes both anew, `make check` says where they differ.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, get_args

from engine import events
from tests.spec_tables import table


class _Key(NamedTuple):
    name: str
    kind: str
    is_optional: bool


def classes() -> str:
    """A dataclass for each event, what tells them apart, and their union."""
    kinds = get_args(events.StreamDict)
    named = {_type(kind): _class(kind) for kind in kinds}
    lines = [line for kind in kinds for line in _dataclass(kind)]
    lines += [
        "",
        "",
        "_CLASSES: dict[str, Any] = {",
        *(f'    "{type_}": {name},' for type_, name in named.items()),
        "}",
    ]
    lines += ["", "StreamEvent = (", f"    {next(iter(named.values()))}"]
    lines += [*(f"    | {name}" for name in [*named.values()][1:]), ")"]
    return "".join(f"{line}\n" for line in lines)


def event_table() -> str:
    """The types of events with their keys, those that may be missing in brackets."""
    rows = (
        (f"`{_type(kind)}`", f"`{_class(kind)}`", _names(kind), _meaning(kind)) for kind in get_args(events.StreamDict)
    )
    return table("type, class, keys, meaning", rows)


def _type(kind: Any) -> str:
    return str(re.sub(r".*'(\w+)'.*", r"\1", _arguments(kind)["type"]))


def _class(kind: Any) -> str:
    return f"{kind.__name__.removesuffix('Dict')}Event"


def _arguments(kind: Any) -> dict[str, str]:
    return {name: each.__forward_arg__ for name, each in kind.__annotations__.items()}


def _keys(kind: Any) -> Iterator[_Key]:
    """The keys that only this kind has: all but `type`, `id` and `run`."""
    for name, argument in _arguments(kind).items():
        if name not in ("type", "id", "run"):
            bare = re.sub(r"^NotRequired\[(.*)\]$", r"\1", argument)
            yield _Key(name, bare, bare != argument)


def _dataclass(kind: Any) -> Iterator[str]:
    yield from ("", "", "@dataclass(frozen=True, slots=True, kw_only=True)", f"class {_class(kind)}(Told):")
    first, *rest = (inspect.getdoc(kind) or "").split("\n")
    yield f'    """{first}' if rest else f'    """{first}"""'
    yield from (f"    {line}".rstrip() for line in rest)
    if rest:
        yield '    """'
    yield from ("", f'    type: ClassVar[Literal["{_type(kind)}"]] = "{_type(kind)}"')
    for key in _keys(kind):
        yield f"    {key.name}: {key.kind} | None = None" if key.is_optional else f"    {key.name}: {key.kind}"


def _names(kind: Any) -> str:
    return ", ".join(f"[{key.name}]" if key.is_optional else key.name for key in _keys(kind))


def _meaning(kind: Any) -> str:
    return " ".join((inspect.getdoc(kind) or "").split())

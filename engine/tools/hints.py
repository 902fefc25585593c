"""Type hints as kinds of arguments."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from . import checked, kinds
from .kinds import Kind

_PLAIN: dict[object, Kind] = {
    str: kinds.TEXT,
    int: kinds.WHOLE,
    float: kinds.NUMBER,
    bool: kinds.FLAG,
    None: kinds.NOTHING,
    type(None): kinds.NOTHING,
    Any: kinds.ANYTHING,
    object: kinds.ANYTHING,
    list: kinds.listing(kinds.ANYTHING),
    dict: kinds.mapping(kinds.ANYTHING),
}
_LISTS: dict[object, Callable[[Any], object]] = {
    list: list,
    Sequence: list,
    Iterable: list,
    set: set,
    AbstractSet: set,
    frozenset: frozenset,
}
_SUPPORTED = (
    "str, int, float, bool, list[T], set[T], tuple[T, ...], dict[str, T], Literal, Enum, T | None, unions, TypedDict, "
    "dataclasses, Annotated[T, 'description'] and models of pydantic"
)


class UnsupportedHint(TypeError):  # noqa: N818 - an outcome, not a defect
    """A type hint that no JSON can be read into; the message says which and what there is instead."""


def kind_of(hint: object, inside: tuple[object, ...] = ()) -> Kind:
    """The kind of an argument with this hint; raises `UnsupportedHint`. `inside` are the classes that it is part of."""
    if checked.is_checked(hint):
        return _checked(hint, inside)
    if get_origin(hint) is Annotated:
        kind, described = kind_of(get_args(hint)[0], inside), description_of(hint)
        told = {"description": described} if described else {}
        return dataclasses.replace(kind, schema=kind.schema | told)
    try:
        if hint in _PLAIN:
            return _PLAIN[hint]
    except TypeError:  # not hashable, so none of them
        pass
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (NotRequired, Required):
        return kind_of(arguments[0], inside)
    if origin is Literal:
        return _literal(hint, arguments)
    if origin in (Union, types.UnionType):
        return kinds.union([kind_of(each, inside) for each in arguments])
    if origin in _LISTS and len(arguments) == 1:
        return kinds.listing(kind_of(arguments[0], inside), _LISTS[origin])
    if origin is tuple and len(arguments) == 2 and arguments[1] is ...:
        return kinds.listing(kind_of(arguments[0], inside), tuple)
    if origin in (dict, Mapping) and len(arguments) == 2 and arguments[0] is str:
        return kinds.mapping(kind_of(arguments[1], inside))
    for wrapped in ("__supertype__", "__value__"):  # NewType, type aliases
        if not isinstance(hint, type) and hasattr(hint, wrapped):
            return kind_of(getattr(hint, wrapped), inside)
    if isinstance(hint, type):
        return _of_class(hint, inside)
    raise _unsupported(hint)


def description_of(hint: object) -> str | None:
    """The first text in the `Annotated` of a hint, or the description of a field of pydantic; None without one."""
    if get_origin(hint) is not Annotated:
        return None
    said = (each if isinstance(each, str) else getattr(each, "description", None) for each in get_args(hint)[1:])
    return next((each for each in said if isinstance(each, str)), None)


def _checked(hint: object, inside: tuple[object, ...]) -> Kind:
    try:
        return checked.checked(hint, lambda: kind_of(get_args(hint)[0], inside))
    except ValueError as error:
        raise UnsupportedHint(str(error)) from None


def _of_class(hint: type, inside: tuple[object, ...]) -> Kind:
    if hint in inside:
        raise UnsupportedHint(f"{hint.__name__} contains itself, which is not possible in a schema of arguments")
    if issubclass(hint, enum.Enum):
        return _enum(hint)
    if typing.is_typeddict(hint):
        return _typed_dict(hint, (*inside, hint))
    if dataclasses.is_dataclass(hint):
        return _dataclass(hint, (*inside, hint))
    raise _unsupported(hint)


def _unsupported(hint: object) -> UnsupportedHint:
    name = getattr(hint, "__qualname__", None) if isinstance(hint, type) else None
    return UnsupportedHint(f"{name or hint!s} is not a supported type hint; use one of {_SUPPORTED}")


def _literal(hint: object, values: tuple[object, ...]) -> Kind:
    if not all(value is None or isinstance(value, str | int) for value in values):
        raise _unsupported(hint)
    if any(isinstance(value, enum.Enum) for value in values):
        raise UnsupportedHint(f"{hint!s}: a Literal cannot hold members of an enum; use the enum, or texts")
    return kinds.choice([(value, value) for value in values])


def _enum(hint: type[enum.Enum]) -> Kind:
    """By their values where all of them are texts or whole numbers, else by their names."""
    members = list(hint)
    if not members:
        raise UnsupportedHint(f"{hint.__name__} has no members")
    plain = all(type(member.value) in (str, int) for member in members)
    return kinds.choice([(member.value if plain else member.name, member) for member in members])


def _typed_dict(hint: type, inside: tuple[object, ...]) -> Kind:
    hints = get_type_hints(hint, include_extras=True)
    named: frozenset[str] = getattr(hint, "__required_keys__", frozenset())
    # hints that are texts were not looked into when the class was made
    required = [
        name
        for name, each in hints.items()
        if get_origin(each) is Required or (name in named and get_origin(each) is not NotRequired)
    ]
    return kinds.record(_fields(hints, inside), required, dict)


def _dataclass(hint: type, inside: tuple[object, ...]) -> Kind:
    hints = get_type_hints(hint, include_extras=True)
    given = [field for field in dataclasses.fields(hint) if field.init]
    fields = _fields({field.name: hints[field.name] for field in given}, inside)
    missing = dataclasses.MISSING
    required = [field.name for field in given if field.default is missing and field.default_factory is missing]
    return kinds.record(fields, required, lambda values: hint(**values))


def _fields(hints: Mapping[str, object], inside: tuple[object, ...]) -> dict[str, Kind]:
    return {name: kind_of(hint, inside) for name, hint in hints.items()}

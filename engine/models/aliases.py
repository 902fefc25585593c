"""Aliases of models: rows of `models` that a person or an app adds and removes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.errors import Conflict, NotFound, ValidationError

if TYPE_CHECKING:
    from engine.db.database import Store

_MOST_DOLLARS = 1e6


def add_alias(
    db: Store,
    alias: str,
    actual: str,
    *,
    context: int | None = None,
    max_output: int | None = None,
    native: bool = False,
    profile: str = "full",
    images: bool | None = None,
    effort: str | None = None,
    options: str | None = None,
    price: tuple[float, float, float | None] | None = None,
) -> None:
    """Make `alias` mean the model with the name `actual`, as `full_name` gives it, whatever it meant before.

    `context` and `max_output` are tokens, None: as the provider says; `options` are settings of the model as a JSON object;
    `price` is one of `parsed_price`. Raises `ValidationError` (400) for an empty alias and for settings that are none.
    """
    if not alias.strip():
        raise ValidationError("the alias is empty; give it a name, such as fast")
    db.execute(
        "insert into models (alias, actual, context_length, max_output, tool_calling, profile, images, effort, "
        "options, price_input, price_output, price_cached, created_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, now()) "
        "on conflict (alias) do update set actual = excluded.actual, context_length = excluded.context_length, "
        "max_output = excluded.max_output, tool_calling = excluded.tool_calling, profile = excluded.profile, "
        "images = excluded.images, effort = excluded.effort, options = excluded.options, "
        "price_input = excluded.price_input, "
        "price_output = excluded.price_output, price_cached = excluded.price_cached, origin = excluded.origin",
        (
            alias,
            actual,
            context,
            max_output,
            "native" if native else "xml",
            profile,
            images,
            effort,
            options,
            *(price or (None, None, None)),
        ),
    )


def parsed_price(text: str) -> tuple[float, float, float | None]:
    """US dollars per million tokens of packets, answers and cached tokens; None: as much as the others of a packet.

    Raises `ValidationError` (400) for what is no price.
    """
    try:
        given, answer, *cached = (float(each.strip().removeprefix("$")) for each in text.split("/"))
    except ValueError:
        given, answer, cached = -1.0, -1.0, []
    if len(cached) > 1 or not all(0 <= each <= _MOST_DOLLARS for each in (given, answer, *cached)):
        raise ValidationError(
            f"price {text[:80]!r}: write the price as IN/OUT or IN/OUT/CACHED, in US dollars per million tokens, "
            "such as 0.25/2"
        )
    return given, answer, cached[0] if cached else None


def remove_alias(db: Store, alias: str) -> str:
    """Remove an alias; runs that used it keep their history. Returns its origin: `client` or `environment`.

    Raises `NotFound` (404) for an unknown one, `Conflict` (409) for one that is built in.
    """
    with db.transaction():
        origin = db.value("select origin from models where alias = ?", (alias,))
        if origin is None:
            raise NotFound(f"model {alias!r}: there is no such alias; 'engine models' lists them")
        if origin == "built-in":
            raise Conflict(f"model {alias!r}: is built in and cannot be removed")
        db.execute("delete from models where alias = ?", (alias,))
    return str(origin)

"""Lists of models for `engine models`: the aliases with what each lacks here, and what a provider offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.models.availability import keys_here, problem
from engine.terminal.hints import nearest

from .environment import with_environment

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row


def listed(db: Database) -> list[Row]:
    """The rows of `models`, with the models of the environment and the default of each provider that has a key.

    Each has `usable` (yes, no) and a `hint` of what is missing.
    """
    from engine.driving.model_choice import ready_defaults, ready_providers

    with with_environment(db) as beside:
        rows = beside.rows(
            "select m.alias, m.actual, m.context_length, m.max_output, m.tool_calling, s.images, m.effort, "
            "m.options, m.origin, p.price_input, p.price_output, p.price_cached "
            "from models as m join model_sights as s on s.alias = m.alias "
            "left join model_prices as p on p.model = m.alias order by m.alias"
        )
        keys = keys_here()
        named = {row["actual"] for row in rows}
        defaults = [each for each in ready_defaults(beside, ready_providers(keys)) if each not in named]
    rows += [
        {**dict.fromkeys(rows[0] if rows else ()), "alias": each, "actual": each, "origin": "key"} for each in defaults
    ]
    for row in rows:
        hint = problem(row["actual"], keys)
        row |= {"price": _price(row), "usable": "no" if hint else "yes", "hint": hint}
    return rows


def _price(row: Row) -> str | None:
    """The price of an alias as `--price` takes it."""
    given, answer, cached = row.pop("price_input"), row.pop("price_output"), row.pop("price_cached")
    if given is None:
        return None
    return "/".join(f"{each:.6g}" for each in ([given, answer] if cached == given else [given, answer, cached]))


def offered(provider: str) -> list[Row]:
    """The models that a provider offers; raises `NotFound` (404) for no provider, `ModelError` where it does not tell."""
    from engine.errors import NotFound
    from engine.keys.providers import PROVIDERS
    from engine.models.providers import endpoint
    from engine.models.served import offered_models

    if provider not in PROVIDERS:
        hint = nearest(provider.lower(), PROVIDERS, f"the providers are {', '.join(PROVIDERS)}")
        raise NotFound(f"there is no provider {provider!r}; {hint}")
    return offered_models(endpoint(PROVIDERS[provider], keys_here()))

"""Lists of models for `engine models`: the aliases with what each lacks here, and what a provider offers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from .shared import absolute_model, nearest

if TYPE_CHECKING:
    from engine.api.database import Database
    from engine.db.database import Row
    from engine.keys.keys import Keys


@contextmanager
def with_environment(db: Database) -> Iterator[Database]:
    """A database in memory with the models of `db` and of the environment, and with the settings that are in force."""
    import engine
    from engine.config.configuration import copy_settings, load, project_folder
    from engine.driving.model_choice import sync_environment_models

    with engine.open(":memory:", config=True) as beside:
        columns = {row["name"] for row in beside.rows("select name from pragma_table_info('models')")} - {"id"}
        for row in db.rows("select * from models"):
            beside.execute("delete from models where alias = ?", (row["alias"],))
            beside.insert("models", **{name: value for name, value in row.items() if name in columns})
        copy_settings(db, beside)
        load(beside, project_folder(db.path))
        sync_environment_models(beside)
        yield beside


def listed(db: Database) -> list[Row]:
    """The rows of `models`, with the models of the environment and the default of each provider that has a key.

    Each has `usable` (yes, no) and a `hint` of what is missing.
    """
    from engine.driving.model_choice import ready_defaults, ready_providers

    with with_environment(db) as beside:
        rows = beside.rows(
            "select m.alias, m.actual, m.context_length, m.max_output, m.tool_calling, s.images, m.effort, m.origin, "
            "p.price_input, p.price_output, p.price_cached from models as m join model_sights as s on s.alias = m.alias "
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


def problem(actual: str, keys: Keys | None = None) -> str | None:
    """Why a model cannot be used here, and what to do about it; None where it can be. The model is not called."""
    from engine.errors import EngineError
    from engine.models import LOCAL_NAMES, resolve_model

    if actual in LOCAL_NAMES:
        return _problem_of_local()
    try:
        absolute_model(actual)
        resolve_model(actual, keys or keys_here())
    except EngineError as error:
        return error.message
    return _problem_of_runtime() if actual.startswith("gguf:") else None


def keys_here() -> Keys:
    """The keys for a run in the present folder."""
    from engine.keys.keys import Keys

    return Keys(files=True).at(Path.cwd())


def _problem_of_local() -> str | None:
    from engine.models.weights import weights_path

    missing = None if weights_path().is_file() else "its weights are not here; run: engine models install local"
    return _problem_of_runtime() or missing


def _problem_of_runtime() -> str | None:
    from importlib.util import find_spec

    from engine.system.installing import how_to_install

    return None if find_spec("xllamacpp") else f"its runtime is not installed; run: {how_to_install('local')}"


__all__ = ["keys_here", "listed", "offered", "problem", "with_environment"]

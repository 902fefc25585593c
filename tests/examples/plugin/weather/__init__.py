"""A plugin: a tool that asks for the weather, and house rules for what an agent may do in bad weather."""

from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

from jinja2 import BaseLoader, PackageLoader

from engine.functions import Function
from engine.plugins import EffectHandler, Projection, hookimpl

SKIES = {"Basel": "rain", "Chur": "sun"}


def _ask_the_sky(effect: Mapping[str, Any]) -> Mapping[str, Any]:
    """Look a place up; one that nobody knows is not found."""
    place = str(effect["detail"]).split('"')[3]
    if place == "Atlantis":
        raise LookupError("the sea is too deep")
    if place not in SKIES:
        return {"state": "failed", "outcome": "not_found", "message": f"no weather for {place}"}
    return {"state": "resolved", "message": f"{place}: {SKIES[place]}", "detail": {"sky": SKIES[place]}}


def _weather_icon(sky: str | None) -> str | None:
    return None if sky is None else {"rain": "☔", "sun": "☀"}.get(sky, "?")


@hookimpl
def engine_functions() -> Iterable[Function]:
    """One function that the SQL file uses."""
    return (Function("weather_icon", 1, _weather_icon),)


@hookimpl
def engine_sql() -> Iterable[tuple[str, str]]:
    """What every file has, and a module."""
    names = ("weather_offer.sql", "weather.sql")
    return [(name, files(__name__).joinpath(name).read_text("utf-8")) for name in names]


@hookimpl
def engine_templates() -> BaseLoader:
    """The document of the tool and the section of the packet."""
    return PackageLoader(__name__)


def _short(path: str, body: str) -> str | None:
    """A place with its icon; of a sky that nobody knows the engine's own summary."""
    return f"{path.removeprefix('weather://')} {_weather_icon(body)}" if body in SKIES.values() else None


def _whole(path: str, body: str) -> str:
    """The sky in a sentence."""
    return f"Over {path.removeprefix('weather://')} there is {body}."


@hookimpl
def engine_projections() -> Mapping[str, Projection]:
    """How a packet shows the sky in full view, and in short."""
    return {"weather": Projection(visible=_whole, summarized=_short)}


@hookimpl
def engine_effects() -> Mapping[str, EffectHandler]:
    """What performs an effect of kind weather."""
    return {"weather": _ask_the_sky}

"""Whether a model can be used here, and what it lacks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.keys.keys import Keys


def absolute_model(name: str) -> str:
    """A model's name, with an absolute path to its script, recording or weights, so that it is valid in any folder.

    Raises `NotFound` (404) where that file is missing.
    """
    from engine.errors import NotFound

    form, _, rest = name.partition(":")
    if form == "gguf":
        from engine.models.gguf import split_name

        weights, window = split_name(name)
        return f"gguf:{weights.expanduser().absolute()}" + (f"#{window}" if window else "")
    if form not in {"scripted", "replay"}:
        return name
    path, mark, run = rest.rpartition("#") if form == "replay" else (rest, "", "")
    if not Path(path).is_file():
        raise NotFound(f"model {name!r}: there is no file {path!r}")
    return f"{form}:{Path(path).absolute()}{mark}{run}"


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

"""Embedders: what makes vectors of texts, so that they can be found by their meaning.

A plugin brings one by the hook `engine_embedders`. Without one it is wordllama, from the extra `meaning`, which has its
weights in its package and needs no network; without that, words alone are searched.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from engine import plugins
from engine.errors import EngineError
from engine.functions.counts import counted
from engine.system.installing import how_to_install

MOST_NUMBERS = 8192
"""How many numbers a vector may have."""


class EmbedderFailed(EngineError):  # noqa: N818 - as the others
    """500: an embedder raised an error, or returned something else than a vector a text."""


def missing() -> str:
    """What is said where no embedder is installed."""
    return f"search by meaning is not installed: {how_to_install('meaning')}"


class Embedder(Protocol):
    """Makes vectors of texts. Its name stands for what it makes: another model or length of vectors has another name."""

    name: str

    def missing(self) -> str | None:
        """What this embedder needs and lacks; None where it can be used."""

    def embed(self, texts: Sequence[str]) -> Iterable[Sequence[float]]:
        """A vector for each text, in their order, all of the same length."""


class _WordLlama:
    """Static vectors of 256 numbers, made on the processor: about 1,000 texts of 1,000 characters a second."""

    name = "wordllama-256"

    def missing(self) -> str | None:
        return None if find_spec("wordllama") else missing()

    def embed(self, texts: Sequence[str]) -> Iterable[Sequence[float]]:
        found: Iterable[Sequence[float]] = _word_llama().embed(list(texts), norm=True)
        return found


def embedder() -> Embedder | None:
    """The embedder that is used: the first of the plugins' that can be, else wordllama; None where there is none."""
    return next((each for each in (*plugins.embedders(), _WordLlama()) if each.missing() is None), None)


def vectors(embedder: Embedder, texts: Sequence[str]) -> list[array[float]]:
    """The vectors of `texts`, each of length 1; that of a text in which the embedder sees nothing is all 0.

    Raises `EmbedderFailed` (500) for an embedder that fails, or returns something else than a vector a text.
    """
    try:
        found = [_unit(array("f", vector)) for vector in embedder.embed(texts)]
    except Exception as error:
        raise EmbedderFailed(f"embedder {embedder.name!r}: {type(error).__name__}: {str(error)[:200]}") from error
    if len(found) != len(texts) or len({len(each) for each in found}) > 1:
        raise EmbedderFailed(
            f"embedder {embedder.name!r}: {counted(len(texts), 'text')} became {counted(len(found), 'vector')}, "
            "or vectors of different lengths"
        )
    if found and not 0 < len(found[0]) <= MOST_NUMBERS:
        raise EmbedderFailed(
            f"embedder {embedder.name!r}: a vector must have 1 to {MOST_NUMBERS} numbers, not {len(found[0])}"
        )
    return found


def _unit(vector: array[float]) -> array[float]:
    length = math.sqrt(math.fsum(number * number for number in vector))
    if not 0 < length < math.inf:
        return array("f", bytes(4 * len(vector)))
    return array("f", [number / length for number in vector])


@cache
def _word_llama() -> Any:
    library = import_module("wordllama")
    # its own default looks for the folder of its weights under another name
    return library.WordLlama.load(cache_dir=Path(str(library.__file__)).parent, disable_download=True)

"""Counts the tokens of a text with a tokenizer. Where there is none, the engine estimates them.

| setting `tokenizer` | counts with |
|---|---|
| empty | the tokenizer that a plugin has for the model, or for `local` the local model's own; else tokens are estimated |
| `none` | no tokenizer: tokens are estimated |
| `local` | the local model's own tokenizer |
| `tiktoken`, `tiktoken:ENCODING` | tiktoken with the model's encoding or the one named; it may download its tables once |
| `tokenizers:FILE` | a tokenizer.json, read by the package tokenizers |

A library is imported only where the setting names it.

spec: @tokenizers
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine import plugins
from engine.errors import NotFound, ValidationError
from engine.models import LOCAL_NAMES
from engine.system.installing import how_to_install

Count = Callable[[str], int]
"""Returns the number of tokens of a text."""


def counter(setting: str, model: str) -> Count | None:
    """The token counter for the model with the actual name `model`; None where tokens are estimated.

    Raises `ValidationError` (400) for a setting of no known form, `NotFound` (404) where its library, tables or file are
    missing.
    """
    kind, _, detail = setting.strip().partition(":")
    match kind.lower():
        case "none" if not detail:
            return None
        case "" if not detail:
            return plugins.tokenizer(model) or (local_counter() if model in LOCAL_NAMES else None)
        case "local" if not detail:
            return local_counter()
        case "tiktoken":
            return _tiktoken(detail, model.rpartition("/")[2])
        case "tokenizers" if detail:
            return _tokenizers(str(Path(detail).expanduser()))
    raise ValidationError(
        f"setting tokenizer: {setting!r} is not one of none, local, tiktoken, tiktoken:ENCODING, tokenizers:FILE"
    )


def local_counter() -> Count | None:
    """The local model's own tokenizer, or None where the model is not installed."""
    from engine.models import local

    if not local.is_installed():
        return None
    from engine.models.local_tokens import count_local

    return count_local


def _tiktoken(encoding: str, model: str) -> Count:
    try:
        import tiktoken
    except ImportError as error:
        raise NotFound(f"setting tokenizer: tiktoken is not installed; run: {how_to_install('tokenizers')}") from error
    try:
        table = tiktoken.get_encoding(encoding) if encoding else _encoding_of(tiktoken, model)
    except Exception as error:  # whatever its download of the tables raises
        reason = str(error).partition("\n")[0]
        raise NotFound(f"setting tokenizer: tiktoken has no tables for {encoding or model!r}: {reason}") from error
    return lambda text: len(table.encode(text, disallowed_special=()))


def _encoding_of(tiktoken: Any, model: str) -> Any:
    try:
        return tiktoken.encoding_for_model(model)
    except KeyError:
        return tiktoken.get_encoding("o200k_base")


def _tokenizers(file: str) -> Count:
    try:
        from tokenizers import Tokenizer  # type: ignore[import-not-found, unused-ignore]
    except ImportError as error:
        raise NotFound(
            f"setting tokenizer: tokenizers is not installed; run: {how_to_install('tokenizers')}"
        ) from error
    try:
        table = Tokenizer.from_file(file)
    except Exception as error:  # the library raises plain exceptions
        raise NotFound(f"setting tokenizer: {file!r} is not a tokenizer.json: {error}") from error
    return lambda text: len(table.encode(text, add_special_tokens=False).ids)

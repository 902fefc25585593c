"""Reads the header of a GGUF file: the window of its model, its chat template, its special tokens.

The format is GGUF, versions 2 and 3, little-endian: a magic word, counts, metadata as pairs of a name and a typed value,
then the place of each tensor. Only what the engine needs is kept.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine.errors import NotFound, ValidationError

MOST_TOKENS = 32_768
"""The longest window that is used where none is given: the memory that a window takes grows with its length."""
FULL_FROM = 8192
"""The shortest window, in tokens, with which a model gets full packets: the text of the system takes about half of it."""

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_STRING, _ARRAY = 8, 9
_SIZES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_CONTROL, _OWN = 3, 4
# runs of blanks are tokens of some models' own, and no marks
_BLANK = " \t\r\n\u2581"
_MOST = 1 << 24
_KEPT = ("general.architecture", "tokenizer.chat_template", "tokenizer.ggml.tokens", "tokenizer.ggml.token_type")


@dataclass(frozen=True)
class Gguf:
    """What a file says of its model: the longest window that it was trained for, in tokens, and its special tokens."""

    path: Path
    trained: int
    specials: tuple[str, ...]


def split_name(name: str) -> tuple[Path, int | None]:
    """The file and the window of a model's name, ``gguf:FILE`` or ``gguf:FILE#TOKENS``."""
    path, mark, tokens = name.removeprefix("gguf:").rpartition("#")
    if mark and tokens.isascii() and tokens.isdigit():
        return Path(path), int(tokens)
    return Path(name.removeprefix("gguf:")), None


def window_of(name: str) -> int:
    """The window of a model in tokens, of its name or of its file.

    Raises what `read_gguf` raises, and `ValidationError` (400) for one that is longer than that of its training.
    """
    path, tokens = split_name(name)
    file = read_gguf(path)
    if tokens is not None and tokens > file.trained:
        raise ValidationError(
            f"model {name!r}: its context window has {file.trained} tokens, which is less than {tokens}"
        )
    return tokens or min(file.trained, MOST_TOKENS)


def read_gguf(path: Path) -> Gguf:
    """Read the header of a file.

    Raises `NotFound` (404) where there is none, and `ValidationError` (400) for one that is no GGUF file, was cut off,
    holds no language model, or has no chat template.
    """
    try:
        state = path.stat()
    except OSError as error:
        raise NotFound(f"model {f'gguf:{path}'!r}: there is no file {str(path)!r}") from error
    return _read(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=8)
def _read(path: Path, size: int, _mtime_ns: int) -> Gguf:
    name = repr(f"gguf:{path}")
    try:
        with path.open("rb") as file:
            if file.read(4) != _MAGIC:
                raise ValidationError(f"model {name}: the file is not a GGUF file")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                values = _Reader(data).metadata()
    except (struct.error, IndexError) as error:
        raise ValidationError(f"model {name}: the file ends early, at {size} bytes; download it again") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ValidationError(f"model {name}: the file cannot be read: {error}") from error
    trained = values.get(f"{values.get('general.architecture')}.context_length")
    if not isinstance(trained, int) or not values.get("tokenizer.ggml.tokens"):
        raise ValidationError(
            f"model {name}: the file contains no language model: its context window or its tokens are missing"
        )
    if not values.get("tokenizer.chat_template"):
        raise ValidationError(
            f"model {name}: the file has no chat template; use an instruct or chat version of the model"
        )
    types = values.get("tokenizer.ggml.token_type", [])
    pairs = zip(values["tokenizer.ggml.tokens"], types, strict=False)
    return Gguf(
        path,
        trained,
        tuple(token for token, kind in pairs if kind in (_CONTROL, _OWN) and len(token.strip(_BLANK)) > 1),
    )


class _Reader:
    """Reads values one after the other. Raises `struct.error` or `IndexError` at the end of the file."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = len(_MAGIC)

    def metadata(self) -> dict[str, Any]:
        """The metadata that the engine keeps, and the windows; checks that the tensors lie within the file."""
        version = self._number("I")
        if version not in _VERSIONS:
            raise ValueError(f"its version is {version}, not one of {_VERSIONS}")
        tensors, pairs = self._number("Q"), self._number("Q")
        if max(tensors, pairs) > _MOST:
            raise ValueError(f"it states {tensors} tensors and {pairs} values")
        found = {}
        for _ in range(pairs):
            name, kind = self._text(), self._number("I")
            value = self._value(kind)
            if name in _KEPT or name.endswith(".context_length"):
                found[name] = value
        self._check_tensors(tensors)
        return found

    def _check_tensors(self, count: int) -> None:
        last = 0
        for _ in range(count):
            self._text()
            self._skip(8 * self._number("I") + 4)
            last = max(last, self._number("Q"))
        if self._at + last >= len(self._data):
            raise IndexError("a tensor begins behind the end")

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._text()
        if kind == _ARRAY:
            kind, count = self._number("I"), self._number("Q")
            if count > _MOST:
                raise ValueError(f"it states an array of {count} values")
            if kind in (_STRING, _ARRAY):
                return [self._value(kind) for _ in range(count)]
            begin = self._at
            self._skip(struct.calcsize(f"<{count}{_code(kind)}"))
            return list(struct.unpack(f"<{count}{_code(kind)}", self._data[begin : self._at]))
        return self._number(_code(kind))

    def _number(self, code: str) -> Any:
        (value,) = struct.unpack_from(f"<{code}", self._data, self._at)
        self._at += struct.calcsize(f"<{code}")
        return value

    def _text(self) -> str:
        length = self._number("Q")
        begin = self._at
        self._skip(length)
        return self._data[begin : self._at].decode("utf-8", "replace")

    def _skip(self, count: int) -> None:
        self._at += count
        if self._at > len(self._data):
            raise IndexError("behind the end")


def _code(kind: int) -> str:
    if kind not in _SIZES:
        raise ValueError(f"it holds a value of the unknown type {kind}")
    return _SIZES[kind]

"""Vectors of texts as BLOBs of 32-bit floats, little-endian: how near two of them are.

What is no vector, of another length than the other one or not finite, is near nothing: NULL.
"""

from __future__ import annotations

import math
import sys
from array import array
from functools import lru_cache
from operator import mul
from typing import Any


def vectors_cosine(one: Any, other: Any) -> float | None:
    """The cosine between two vectors, -1 to 1; NULL where they have not the same length, or one is none.

    It has six digits, as 32-bit floats know no more: a cosine that equals a limit reaches it.
    """
    if not isinstance(one, bytes) or not isinstance(other, bytes) or len(one) != len(other) or len(one) % 4:
        return None
    left, (right, length) = _floats(one), _measured(other)
    lengths = length * math.hypot(*left)
    if not 0 < lengths < math.inf:
        return None
    cosine: float = sum(map(mul, left, right)) / lengths
    return round(max(-1.0, min(1.0, cosine)), 6)


def vectors_apart(one: Any, other: Any) -> int | None:
    """In how many bits two BLOBs of the same length differ, which is near where `vectors_cosine` is; else NULL."""
    if not isinstance(one, bytes) or not isinstance(other, bytes) or len(one) != len(other):
        return None
    return (int.from_bytes(one, "little") ^ int.from_bytes(other, "little")).bit_count()


def packed(numbers: array[float]) -> bytes:
    """The BLOB of a vector."""
    if sys.byteorder == "big":
        numbers = array("f", numbers)
        numbers.byteswap()
    return numbers.tobytes()


def signs(numbers: array[float]) -> bytes:
    """A bit for each number of a vector: whether it is above 0."""
    bits = sum(1 << place for place, number in enumerate(numbers) if number > 0)
    return bits.to_bytes((len(numbers) + 7) // 8, "little")


def _floats(blob: bytes) -> array[float]:
    found = array("f")
    found.frombytes(blob)
    if sys.byteorder == "big":
        found.byteswap()
    return found


@lru_cache(maxsize=4)
def _measured(blob: bytes) -> tuple[array[float], float]:
    """A vector and its length; that of a query is asked for again and again."""
    found = _floats(blob)
    return found, math.hypot(*found)

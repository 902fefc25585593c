"""How near two vectors are.

A cosine that equals a limit reaches it, although vectors are kept as 32-bit floats.

spec: @answer_cache @discovery
"""

from __future__ import annotations

import math
import random
from array import array

import pytest

from engine.functions.discovery.vectors import packed, vectors_cosine


def vector(*numbers: float) -> bytes:
    return packed(array("f", numbers))


@pytest.mark.parametrize("cosine", [0.2, 0.5, 0.7, 0.85, 0.9, 0.99, 1.0, -0.5, -1.0, 0.0])
def test_a_cosine_that_equals_a_limit_reaches_it(cosine: float) -> None:
    chance = random.Random(4)
    beside = math.sqrt(1 - cosine * cosine)
    for _ in range(200):
        turn, long = chance.uniform(0, 2 * math.pi), chance.uniform(0.001, 1000)
        one = (math.cos(turn), math.sin(turn))
        other = (cosine * one[0] - beside * one[1], cosine * one[1] + beside * one[0])
        assert vectors_cosine(vector(*one), vector(*(long * each for each in other))) == cosine


def test_a_vector_is_as_near_to_itself_as_can_be() -> None:
    chance = random.Random(7)
    for size in (1, 2, 64, 256, 384):
        numbers = [chance.gauss(0, 1) for _ in range(size)]
        assert vectors_cosine(vector(*numbers), vector(*(each * 3 for each in numbers))) == 1.0

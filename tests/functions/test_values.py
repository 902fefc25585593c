"""A value is of its kind and within its bounds, or it is said what it has to be.

spec: @functions @settings
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.functions.values import value_error


@pytest.mark.parametrize(
    ("value", "kind", "least", "most"),
    [
        (None, "whole", 1, None),
        ("any\0thing", "text", 1, None),
        ("äh", "text", None, 3),
        (1, "flag", None, None),
        ("false", "flag", None, None),
        (5, "whole", 1, None),
        ("5", "whole", 1, 5),
        (5.0, "whole", 1, None),
        ("0.75", "number", 0, 1),
        ("1e3", "number", None, 1000),
        (-3, "number", None, None),
        ("act", "mode", None, None),
        ("my_own-1", "sandbox", None, None),
    ],
)
def test_what_fits_is_no_error(value: str | float | None, kind: str, least: float | None, most: float | None) -> None:
    assert value_error(value, kind, least, most) is None


@pytest.mark.parametrize(
    ("value", "kind", "least", "most", "said"),
    [
        ("x", "number", 0, 1, "must be a number from 0 to 1, not 'x'"),
        (7, "number", 0, 1, "must be a number from 0 to 1, not 7"),
        (2.5, "whole", 1, None, "must be a whole number from 1 on, not 2.5"),
        (1e20, "whole", 1, None, "must be a whole number from 1 on, not 1e+20"),
        ("1e3", "whole", 1, None, "must be a whole number from 1 on, not '1e3'"),
        (" 3", "whole", None, 9, "must be a whole number up to 9, not ' 3'"),
        ("", "number", None, None, "must be a number, not ''"),
        ("maybe", "flag", None, None, "must be 0 or 1, not 'maybe'"),
        (float("inf"), "number", 0, None, "must be a number from 0 on, not inf"),
        ("nan", "number", None, None, "must be a number, not 'nan'"),
        ("1_000", "number", None, None, "must be a number, not '1_000'"),
        ("٣", "whole", None, None, "must be a whole number, not '٣'"),
        ("Ask", "mode", None, None, "must be ask or act, not 'Ask'"),
        ("", "sandbox", None, None, "must be auto, require, off or the name of a sandbox, not ''"),
        ("a\0", "text", None, 10, "contains a NUL character, which is not allowed"),
        ("äh", "text", None, 2, "has 3 bytes, but at most 2 are allowed; put it into a file"),
    ],
)
def test_what_does_not_fit_is_told(
    value: str | float, kind: str, least: float | None, most: float | None, said: str
) -> None:
    assert value_error(value, kind, least, most) == said


@given(value=st.text() | st.floats() | st.integers(), kind=st.sampled_from(["flag", "whole", "number", "text"]))
def test_any_value_is_judged_without_raising(value: str | float, kind: str) -> None:
    said = value_error(value, kind, 0, 10)
    assert said is None or kind == "text" or repr(value) in said

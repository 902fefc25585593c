"""Functions are called by anybody's SQL: values that one does not take are refused, with its name, and end nothing else.

spec: @functions @wrong_arguments
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from fresh import fresh
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
from engine.functions.catalogue import own_functions

SHAPES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.text(max_size=3), st.sampled_from(["id", "a", "names"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=6),
        st.dictionaries(
            st.sampled_from(["id", "a", "names", "boxes", "name", "fields", "properties", "action", "type", "text"]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=8,
)
VALUES = st.one_of(
    SHAPES.map(json.dumps), st.none(), st.integers(-2, 9), st.floats(-1, 9), st.sampled_from([b"", b"x"])
)


@pytest.mark.parametrize("function", own_functions(), ids=lambda function: function.name)
@settings(max_examples=40)
@given(data=st.data())
def test_values_of_any_shape_are_taken_or_refused(function: Any, data: st.DataObject) -> None:
    """`relations_text('[{"id":"a"}]', 5)` was a bare KeyError."""
    count = function.arguments if function.arguments >= 0 else data.draw(st.integers(0, 3))
    values = data.draw(st.lists(VALUES, min_size=count, max_size=count))
    with suppress(engine.ValidationError):
        function.call(*values)


def test_a_refusal_names_the_function() -> None:
    with fresh() as db:
        for call, name in (
            ('relations_text(\'[{"id":"a"}]\', 5)', "relations_text"),
            ("text_slice(1, 2, 3)", "text_slice"),
            ("token_estimate(1, 5e-324)", "token_estimate"),
            ("passages_find('[[[1]]]', 'x', 2)", "passages_find"),
            (f"relations_text('{'[' * 100_000}', 1)", "relations_text"),
        ):
            with pytest.raises(engine.ValidationError, match=rf"400 {name}\(\) cannot use the values"):
                db.value(f"select {call}")

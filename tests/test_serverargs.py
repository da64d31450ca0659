"""Values of server arguments are what Python makes of them."""

from __future__ import annotations

import ast
import warnings

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from explain.serverargs import find_server_args

LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
NEAR = st.text(st.sampled_from("0123456789+-.e[] _'\"\\n\u0660TrueNx"), min_size=1, max_size=8)


def value_of(text: str) -> object:
    """As `ast` reads it, the text itself where it cannot."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = ast.literal_eval(text)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return text
    return value if isinstance(value, str | int | float | bool | None | list | dict) else text


@given(LITERALS.map(repr) | NEAR.map(str.strip))
@example("007")
@example("'a' 'b'")
@example("[1, 2, 4.5]")
@example("[1,]")
@example("-1")
@example("<LoadFormat.AUTO: 'auto'>")
@pytest.mark.filterwarnings("ignore")
def test_a_value_is_what_python_makes_of_it(text: str) -> None:
    found = find_server_args(f"server_args=ServerArgs(first={text}, last=1)")
    if found is not None and "first" in found and "last" in found and len(found) == 2:
        assert repr(found["first"]) == repr(value_of(text.strip()))

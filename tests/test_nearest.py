"""Known messages that an unknown one is like, and where they differ."""

from __future__ import annotations

import pytest

from explain.nearest import marked, nearest_words
from explain.render import terminal
from tests.helpers import explain_text, matcher


@pytest.mark.parametrize(
    ("template", "message", "shown"),
    [
        ("a lamp is red", "a lamp is red", "a lamp is red"),
        ("a lamp is red", "a lamp is green", "a lamp is [-red-]{+green+}"),
        ("a lamp is red", "a big lamp is red now", "a {+big+} lamp is red {+now+}"),
        ("a big lamp is red", "a lamp is", "a [-big-] lamp is [-red-]"),
        ("lamp {name} has {watts:int} W", "lamp x7 has 40 W", "lamp x7 has 40 W"),
        ("lamp {name} has {watts:int} W", "lamp x7 had 40 V", "lamp x7 [-has-]{+had+} 40 [-W-]{+V+}"),
        ("limit 576 of 12", "limit 192 of 8", "limit 192 of 8"),
        ("set {{x}} to y", "set {x} to z", "set {x} to [-y-]{+z+}"),
        ("one\ntwo", "one three\nfour", "one [-two-]{+three four+}"),
    ],
)
def test_the_differing_part_is_marked(template: str, message: str, shown: str) -> None:
    assert marked(template, message) == shown


def test_records_and_templates_are_found() -> None:
    shared = matcher()
    message = "Not enough memory left. Please try to increase the --mem-fraction-static or lower it."
    found = nearest_words(shared.sites, shared.catalogue, "RuntimeError", message)
    assert found[0].startswith("Not enough memory {+left+}. Please try to increase {+the+} --mem-fraction-static")
    assert found[0].endswith("(record kv-pool-no-memory-left)")
    assert any("pool_configurator.py, __post_init__" in one for one in found[1:]) and len(found) <= 3


@pytest.mark.parametrize("message", ["'model.layers.0.foo.weight'", "x", "zzz yyy xxx www vvv", "of the to in is"])
def test_nothing_is_near_what_says_nothing(message: str) -> None:
    shared = matcher()
    assert nearest_words(shared.sites, shared.catalogue, "ValueError", message) == ()


def test_the_marks_are_explained_where_they_stand() -> None:
    report = explain_text(
        "ValueError: Weight output_partition_size = 192 is not divisible by weight quantity block_m = 1"
    )
    text = terminal.render(report, width=90, color=False)
    assert "[-quantization-]{+quantity+}" in text and "are the words of the known message" in text


def test_hostile_messages_are_compared_in_bounded_time() -> None:
    shared = matcher()
    nearest_words(shared.sites, shared.catalogue, None, "weight memory \x1b[31m{[-+]} " * 20_000)
    assert len(marked("{a}" * 500 + "x", "y " * 100_000)) < 10_000

"""Every carrier's samples, and nothing taken off what nothing carried."""

from __future__ import annotations

import pytest

from explain.carriers import CARRIERS, ansi, escaped
from explain.carriers.memory import Memory
from explain.model import Stripped

SAMPLES = [
    pytest.param(carrier, raw, expected, id=f"{carrier.NAME}-{number}")
    for carrier in CARRIERS
    for number, (raw, expected) in enumerate(carrier.SAMPLES)
]


@pytest.mark.parametrize(("carrier", "raw", "expected"), SAMPLES)
def test_sample(carrier, raw: str, expected: tuple[Stripped, ...]) -> None:
    assert tuple(carrier.strip(raw, Memory())) == expected
    assert raw[0] in carrier.STARTS


@pytest.mark.parametrize(
    ("carrier", "raw", "expected"), [(one, *sample) for one in (ansi, escaped) for sample in one.SAMPLES]
)
def test_sample_of_what_stands_anywhere(carrier, raw: str, expected: tuple[Stripped, ...]) -> None:
    assert tuple(carrier.strip(raw)) == expected

"""Ordinary lines cost nothing: no literal of ours stands in them."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from tests.bench import inputs
from tests.helpers import matcher


@pytest.mark.parametrize("carrier", [inputs.plain, inputs.docker_json, inputs.cri, inputs.ray])
def test_the_scanner_is_silent_on_ordinary_serving(carrier) -> None:  # type: ignore[no-untyped-def]
    lines = carrier(inputs.serving_lines(random.Random(7)))
    data = "\n".join(islice(lines, 5_000)).encode()
    assert {data[max(end - 30, 0) : end] for _, end in matcher().scanner.find(data)} == set()


def test_the_scanner_is_silent_on_progress_bars() -> None:
    data = "\n".join(islice(inputs.start_up(random.Random(7)), 0, 200, 2)).encode()
    assert {data[max(end - 30, 0) : end] for _, end in matcher().scanner.find(data)} == set()

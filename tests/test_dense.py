"""Lines that are taken many at once, or not read at all, leave the same report as lines that are read one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from explain.engine import Explainer, explain_sources
from explain.model import Report
from explain.repeats import Known, Repeats
from explain.values import replace
from explain.windows import Here, RawLine
from tests.bench import inputs
from tests.bench.__main__ import literals
from tests.helpers import Text, matcher
from tests.scoring import cases

LOGS = Path(__file__).parent / "logs"


def mixture(seed: int, size: int = 500_000) -> str:
    """Failures of all kinds between ordinary lines, dense stretches of one kind, and near-misses."""
    dice = random.Random(seed)
    kinds = [
        inputs.serving_lines(dice),
        inputs.known_warnings(dice),
        inputs.different_tracebacks(dice),
        inputs.near_misses(literals())(dice),
        inputs.docker_json(inputs.serving_lines(dice)),
    ]
    pastes = [path.read_text("utf-8") for path in sorted(LOGS.glob("*.log"))]
    pastes += [case["log"] for _, case in cases()]
    parts: list[str] = []
    length = 0
    while length < size:
        if dice.random() < 0.3:
            part = dice.choice(pastes).rstrip("\n")
        else:
            lines = dice.choice(kinds)
            part = "\n".join(next(lines) for _ in range(dice.randrange(1, 300)))
        parts.append(part)
        length += len(part)
    return "\n".join(parts) + "\n"


def told(text: str, sizes: list[int]) -> Report:
    shared = matcher()
    shared.forget()
    report = explain_sources([Text(text, sizes=sizes)], shared.catalogue, shared.sites, matcher=shared)
    return replace(report, stats=replace(report.stats, seconds=0.0))


@pytest.mark.parametrize("seed", range(6))
def test_lines_taken_at_once_tell_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = mixture(seed)
    dice = random.Random(seed)
    sizes = [dice.randrange(1_000, 200_000) for _ in range(9)]
    taken: list[int] = []
    several = Explainer._several

    def watched(self: Explainer, stream: object, here: Here) -> tuple[int, int] | None:
        found = several(self, stream, here)  # type: ignore[arg-type]
        if found is not None:
            taken.append(found[1])
        return found

    monkeypatch.setattr(Explainer, "_several", watched)
    fast = told(text, sizes)
    assert sum(taken) > 300, "nothing was taken at once: this test shows nothing"

    monkeypatch.setattr(Explainer, "_several", lambda self, stream, here: None)
    monkeypatch.setattr(Explainer, "_plain", lambda self, raw: None)
    assert told(text, sizes) == fast


def lines_of(text: bytes) -> Iterator[RawLine]:
    offset = 0
    for number, data in enumerate(text.splitlines(), 1):
        yield RawLine(number, data, False, offset)
        offset += len(data) + 1


def held(repeats: Repeats, data: bytes) -> RawLine:
    """The first line of `data`, whose shape is known and which waits to be counted."""
    first, *_ = lines_of(data)
    shape = None
    while shape is None:
        shape = repeats.worth_deciding(first)
    repeats.learn(shape, Known("pool", ""))
    assert repeats.take(first)
    return first


def test_a_run_ends_at_the_first_line_of_an_unknown_shape_and_holds_the_last_of_its_own() -> None:
    counted: list[int] = []
    repeats = Repeats(lambda lines: counted.extend(number for _, number, _ in lines), lambda raw: None)
    data = b"".join(b"[2026-11-30 08:00:0%d] a pool is full: %d\n" % (n, n * 7) for n in range(6))
    data += b"[2026-11-30 08:00:07] something else\n"
    first = held(repeats, data)
    start = len(first.data) + 1
    assert repeats.run(Here(data, start, 2, 0, 1, len(data), 40)) == (data.index(b"[2026-11-30 08:00:07"), 5)
    assert counted == [1, 2, 3, 4, 5] and repeats.held is not None and repeats.held.number == 6
    assert repeats.run(Here(data, data.index(b"[2026-11-30 08:00:07"), 7, 0, 6, len(data), 40)) is None


def test_a_run_takes_no_more_lines_than_are_read_for_certain() -> None:
    repeats = Repeats(lambda lines: None, lambda raw: None)
    data = b"[2026-11-30 08:00:00] a pool is full: 1\n" * 50
    first = held(repeats, data)
    assert repeats.run(Here(data, len(first.data) + 1, 2, 0, 1, len(data), 7)) == (8 * (len(first.data) + 1), 7)

"""How far the clocks of several nodes are apart, from what all nodes do at the same moment.

SGLang prints local time without an offset: a node in another time zone, or with a wrong clock, seems to fail
hours earlier or later. All ranks leave the set-up of their process group together, and finish capture
together; the times they print for it tell the difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from explain.model import MemoryStep
from explain.times import read_time, seconds_between

TOGETHER = ("distributed", "graph_end")
"""Steps that end on all ranks at once."""
NOTICED = 60.0
"""Smaller differences may be real ones."""
AGREE = 30.0


Told = tuple[int, int, Mapping[str, Any], Sequence[MemoryStep]]
"""One start: its source, how many starts came before, its arguments, its memory steps."""


def offsets_of(starts: Sequence[Told]) -> dict[int, float]:
    """Seconds by which the clock of a source is ahead of that of the first source of its server.

    Sources whose clock agrees, or cannot be compared, are left out.
    """
    firsts: dict[object, Told] = {}
    found: dict[int, float] = {}
    for start in starts:
        source, number, args, steps = start
        nodes, address = args.get("nnodes"), args.get("dist_init_addr")
        if not address or not isinstance(nodes, int) or nodes < 2:
            continue
        first = firsts.setdefault((address, number), start)
        if first[0] == source or source in found:
            continue
        apart = _apart(first[3], steps)
        # Two steps at most are compared, so their mean is as good as a median.
        mean = sum(apart) / len(apart) if apart else 0.0
        if apart and max(apart) - min(apart) <= AGREE and abs(mean) >= NOTICED:
            found[source] = mean
    return found


def _apart(first: Sequence[MemoryStep], other: Sequence[MemoryStep]) -> list[float]:
    differences = []
    for step in TOGETHER:
        times = [
            next((one.place.time for one in steps if one.step == step and one.place.time), None)
            for steps in (first, other)
        ]
        apart = seconds_between(times[0], times[1])
        if apart is not None:
            differences.append(apart)
    return differences


def shifted(time: str, seconds: float) -> str:
    """A printed time moved by `seconds`; as it is where it has no date."""
    moment = read_time(time) if seconds else None
    if moment is None:
        return time
    from datetime import timedelta

    return (moment - timedelta(seconds=seconds)).isoformat(sep=" ")

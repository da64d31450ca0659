"""How GPU memory was shared out, by SGLang's own accounting, and which share leaves how much.

Where the figures come from (releases 0.4.0 to 0.5.23, `profile_max_num_token` in `model_runner.py`, since
0.5.19 `_profile_available_bytes` in `mem_cache/kv_cache_configurator.py`): with `before` the memory that was
free when the weights began to load (the least of all ranks), `after` what was free when they were loaded, and
the fraction `--mem-fraction-static`,

    pool = after - before * (1 - fraction)

so what stays free behind the pool, for graphs and activations, is

    left = before * (1 - fraction)

less the small buffers of the pool itself, and no fraction below `1 - after / before` leaves any pool. All
three figures stand in the log: `Load weight begin`, `Load weight end`, `Memory pool end`. Changing the
fraction by `d` moves `d * before` GB between `pool` and `left`.
"""

from __future__ import annotations

import math

from explain.model import LaunchContext, MemoryStep
from explain.serverargs import number_of
from explain.values import dataclass

BIG_GPU = 60.0
RESERVE = {True: 5.0, False: 2.5}
"""GB to leave behind the pool on a big GPU and on a smaller one, for graphs and activations."""
STEP = 0.01
SMALLEST_POOL = 1.0
SPARE = 2.0
"""GB that activations need beside captured graphs."""


@dataclass(frozen=True, slots=True)
class Headroom:
    """The memory of the tightest rank, in GB; None where the log does not say.

    `before` is the least of all ranks, `weights` what that rank's took. `left` is what was free behind the pool;
    `wanted` what should be; `graph` what was free when graphs were captured. `lower` is a fraction that leaves
    `wanted`, with `left_then`; `higher` one that gives a larger pool and still leaves the reserve, with
    `pool_then`. Both None where there is none. `room` is the largest pool that leaves the reserve.
    """

    rank: str
    fraction: float | None
    before: float
    after: float | None = None
    weights: float | None = None
    pool: float | None = None
    left: float | None = None
    graph: float | None = None
    wanted: float | None = None
    lower: float | None = None
    left_then: float | None = None
    higher: float | None = None
    pool_then: float | None = None
    room: float | None = None
    smallest: float | None = None
    can_lower: bool | None = None
    can_raise: bool | None = None
    """Whether there is such a lower, such a higher fraction; None where the log does not tell."""


def headroom_of(context: LaunchContext, missing: float = 0.0) -> Headroom | None:
    """The figures of the tightest rank; None where the log does not show how loading began.

    `missing` is what an allocation asked for in vain, in GB: that much more is wanted.
    """
    begun = _smallest(_first_of_each(context, "weights_begin"))
    if begun is None or begun.available is None or begun.available <= 0:
        return None
    before = begun.available
    ends = _last_before_pool(context, "weights_end")
    ended = _smallest(ends)
    pooled = _smallest(_first_of_each(context, "pool_end"))
    graph = _smallest(_first_of_each(context, "graph_begin"))
    after = ended.available if ended else None
    # Beside `before` only the weights of the same rank are a true figure: ranks may differ.
    own = next((one for one in ends if (one.place.source, one.rank) == (begun.place.source, begun.rank)), None)
    weights = round(before - own.available, 2) if own is not None and own.available is not None else None
    left = pooled.available if pooled else None
    sizes = [pool.size for pool in context.pools if pool.size > 0]
    tightest = pooled or ended or begun
    fraction = number_of(context.server_args, "mem_fraction_static")
    if fraction is not None and not 0 < fraction < 1:
        fraction = None
    reserve = max(RESERVE[before >= BIG_GPU], _graphs(context) + SPARE)
    wanted = max(reserve, missing + 1.0, (left if left is not None else 0.0) + missing + 1.0)
    smallest = 1 - after / before if after is not None else None
    lower = left_then = higher = pool_then = room = None
    if fraction is not None:
        now = left if left is not None else before * (1 - fraction)
        lower = _floor(fraction - max((wanted - now) / before, STEP))
        if lower <= 0 or (smallest is not None and lower <= smallest + SMALLEST_POOL / before):
            lower = None  # weights and the wanted rest do not fit beside a pool
        else:
            left_then = round(now + (fraction - lower) * before, 1)
    if after is not None:
        room = round(after - reserve, 1)
        highest = _floor(1 - reserve / before)
        if room >= SMALLEST_POOL and (fraction is None or highest > fraction):
            higher = highest
            pool_then = round(after - before * (1 - highest), 1)
    return Headroom(
        rank=tightest.rank,
        fraction=fraction,
        before=before,
        after=after,
        weights=weights,
        pool=min(sizes) if sizes else None,
        left=left,
        graph=graph.available if graph else None,
        wanted=round(wanted, 1),
        lower=lower,
        left_then=left_then,
        higher=higher,
        pool_then=pool_then,
        room=room,
        smallest=math.ceil(smallest * 1000) / 1000 if smallest is not None else None,
        can_lower=lower is not None if fraction is not None and after is not None else None,
        can_raise=higher is not None if fraction is not None and after is not None else None,
    )


def _graphs(context: LaunchContext) -> float:
    """What captured graphs took on the rank where they took most; 0 where the log does not say."""
    taken: dict[tuple[str, str], float] = {}
    for one in context.memory:
        if one.step == "graph_end" and one.used is not None and one.used > 0:
            key = (one.place.source, one.rank)
            taken[key] = taken.get(key, 0.0) + one.used
    return max(taken.values(), default=0.0)


def _floor(fraction: float) -> float:
    """Rounded down to hundredths: never less memory than computed."""
    return math.floor(round(fraction * 100, 6)) / 100


def _first_of_each(context: LaunchContext, step: str) -> list[MemoryStep]:
    found: dict[tuple[str, str], MemoryStep] = {}
    for one in context.memory:
        if one.step == step and one.available is not None:
            found.setdefault((one.place.source, one.rank), one)
    return list(found.values())


def _last_before_pool(context: LaunchContext, step: str) -> list[MemoryStep]:
    """The step of each rank before its pool: a draft model may have loaded behind the first one."""
    found: dict[tuple[str, str], MemoryStep] = {}
    done: set[tuple[str, str]] = set()
    for one in context.memory:
        key = (one.place.source, one.rank)
        if one.step == "pool_end":
            done.add(key)
        elif one.step == step and one.available is not None and key not in done:
            found[key] = one
    return list(found.values())


def _smallest(steps: list[MemoryStep]) -> MemoryStep | None:
    return min(steps, key=lambda step: step.available or 0.0, default=None)

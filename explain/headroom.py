"""How GPU memory was shared out, by SGLang's own accounting, and which share leaves how much.

Where the figures come from (releases 0.4.0 to 0.5.23: `profile_max_num_token` in `model_runner.py`, from 0.5.9 in
`model_runner_kv_cache_mixin.py`; `_profile_available_bytes` from 0.5.14, since 0.5.18 in
`mem_cache/kv_cache_configurator.py`): with `before` the memory that was free when the weights began to load (the
least of all ranks), `after` what was free when they were loaded, and the fraction `--mem-fraction-static`,

    pool = after - before * (1 - fraction)

so what stays free behind the pool, for graphs and activations, is

    left = before * (1 - fraction)

less the buffers that come with the pool, and no fraction below `1 - after / before` leaves any pool. All three
figures stand in the log: `Load weight begin`, `Load weight end`, `Memory pool end`. Changing the fraction by `d` moves
`d * before` GB between `pool` and `left`. What differs between releases:

- to 0.5.4 the model runner multiplies the fraction it was given: by 0.95, later 0.90, for multimodal models (to
  0.4.7), by 0.85 for the `aiter` attention backend and contexts above 8192. The printed fraction is the one before
  that, so `d` moves less: `d * before * share`, with the share read off the pool that was made;
- from 0.5.14 a draft model is loaded before the pool is sized, before that behind it: what was free when the last
  weights were loaded *before the pool* counts, and what is free behind the last pool, a draft model's too;
- from 0.5.18 a multimodal model's later allocations are taken from the pool as well: `left` is then larger;
- `--max-total-tokens` may have made the pool smaller than the fraction allows: then a lower fraction frees nothing
  until it is below what the pool took, and a higher one adds nothing;
- with pools sized behind graph capture (`SGLANG_ENABLE_POST_CAPTURE_KV_SIZING`, from 0.5.16) the first figure of the
  pool is an upper bound of addresses, not memory, and is not read.
"""

from __future__ import annotations

import math

from explain.model import LaunchContext, MemoryStep
from explain.registry import registry, releases_of
from explain.serverargs import number_of
from explain.values import dataclass

BIG_GPU = 60.0
RESERVE = {True: 5.0, False: 2.5}
"""GB to leave behind the pool on a big GPU and on a smaller one, for graphs and activations."""
STEP = 0.01
SMALLEST_POOL = 1.0
SPARE = 2.0
"""GB that activations need beside captured graphs."""
HIGHEST = 0.98
TIGHT = 0.5
"""The part of the reserve that is left where all of it leaves no pool: it works, with small chunks and graphs."""
LEAST_SHARE = 0.85
LAST_SHARED = "0.5.4"
"""The last release whose model runner multiplies the fraction it was given, and the least factor."""


@dataclass(frozen=True, slots=True)
class Headroom:
    """The memory of the tightest rank, in GB; None where the log does not say.

    `before` is the least of all ranks, `weights` what that rank's took. `left` is what was free behind the pool;
    `wanted` what should be; `graph` what was free when graphs were captured. `lower` is a fraction that leaves
    `wanted`, with `left_then`; `higher` one that gives a larger pool and still leaves the reserve, with
    `pool_then`. Both None where there is none. `room` is the largest pool that leaves the reserve. Where it leaves
    none, `tight` is the fraction that leaves half of it, with `tight_pool` and `tight_left`.
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
    tight: float | None = None
    tight_pool: float | None = None
    tight_left: float | None = None
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
    pooled = _smallest(_last_of_each(context, "pool_end"))
    graph = _smallest(_first_of_each(context, "graph_begin"))
    after = ended.available if ended else None
    # Beside `before` only the weights of the same rank are a true figure: ranks may differ.
    own = next((one for one in ends if (one.place.source, one.rank) == (begun.place.source, begun.rank)), None)
    weights = round(before - own.available, 2) if own is not None and own.available is not None else None
    left = pooled.available if pooled else None
    pool = _pool(context)
    tightest = pooled or ended or begun
    fraction = number_of(context.server_args, "mem_fraction_static")
    if fraction is not None and not 0 < fraction < 1:
        fraction = None
    reserve = max(RESERVE[before >= BIG_GPU], _graphs(context) + SPARE)
    wanted = math.ceil(round(max(reserve, (left if left is not None else 0.0) + missing + 1.0) * 10, 6)) / 10
    smallest = 1 - after / before if after is not None else None
    lower = left_then = higher = pool_then = tight = tight_pool = None
    room = round(after - reserve, 1) if after is not None else None
    share = _share(context, fraction, before, after, pool)
    capped = number_of(context.server_args, "max_total_tokens") is not None and left is not None
    if fraction is not None:
        now = left if left is not None else before * (1 - fraction * share)
        lower, left_then = _lower(fraction, before, now, wanted, share, capped)
        if lower <= 0 or (smallest is not None and lower * share <= smallest + SMALLEST_POOL / before):
            lower = left_then = None  # weights and the wanted rest do not fit beside a pool
    if after is not None and room is not None and not capped:
        highest = _highest(fraction, before, left, reserve, share)
        made = after - before * (1 - highest * share)
        if pool is not None and fraction is not None:
            made = min(made, pool + (highest - fraction) * before * share)
        if room >= SMALLEST_POOL and made >= SMALLEST_POOL and (fraction is None or highest > fraction):
            higher, pool_then = highest, round(made, 1)
        elif left is None:
            tight = _highest(fraction, before, None, reserve * TIGHT, share)
            tight_pool = round(after - before * (1 - tight * share), 1)
            if tight_pool < SMALLEST_POOL or (fraction is not None and tight <= fraction):
                tight = tight_pool = None
    return Headroom(
        rank=tightest.rank,
        fraction=fraction,
        before=before,
        after=after,
        weights=weights,
        pool=pool,
        left=left,
        graph=graph.available if graph else None,
        wanted=wanted,
        lower=lower,
        left_then=left_then,
        higher=higher,
        pool_then=pool_then,
        room=room,
        smallest=math.ceil(smallest * 1000) / 1000 if smallest is not None else None,
        tight=tight,
        tight_pool=tight_pool,
        tight_left=round(before * (1 - tight * share), 1) if tight is not None else None,
        can_lower=lower is not None if fraction is not None and after is not None else None,
        can_raise=higher is not None if fraction is not None and after is not None else None,
    )


def _lower(
    fraction: float, before: float, now: float, wanted: float, share: float, capped: bool
) -> tuple[float, float]:
    """A fraction that leaves what is wanted, and what is then free.

    Where the tokens were capped, the pool does not shrink before the fraction is below what it took.
    """
    lower = _floor(fraction - max((wanted - now) / (before * share), STEP))
    if capped:
        lower = min(lower, _floor(1 - wanted / before))
        return lower, math.floor(before * (1 - lower) * 10) / 10
    return lower, round(now + (fraction - lower) * before * share, 1)


def _highest(fraction: float | None, before: float, left: float | None, reserve: float, share: float) -> float:
    """The largest fraction that leaves the reserve, measured from what was left where that is known."""
    if fraction is None or left is None:
        return min(_floor((1 - reserve / before) / share), HIGHEST)
    return min(_floor(fraction + (left - reserve) / (before * share)), HIGHEST)


def _share(
    context: LaunchContext, fraction: float | None, before: float, after: float | None, pool: float | None
) -> float:
    """By what the model runner multiplied the fraction that was printed; 1 in releases that do not."""
    numbers = releases_of(context.sglang_version)
    if fraction is None or (numbers and min(numbers) > registry().versions.index(LAST_SHARED)):
        return 1.0
    if pool is None or after is None:
        aiter = "aiter" in (context.attention_backend, context.server_args.get("attention_backend"))
        return LEAST_SHARE if numbers and aiter else 1.0
    return min(1.0, max(LEAST_SHARE, (1 - (after - pool) / before) / fraction))


def _pool(context: LaunchContext) -> float | None:
    """What the KV pools took on the rank where they took least: several where layers or models differ."""
    sizes: dict[tuple[str, str], float] = {}
    for one in context.pools:
        if one.size > 0:
            key = (one.place.source, one.rank)
            sizes[key] = sizes.get(key, 0.0) + one.size
    return round(min(sizes.values()), 2) if sizes else None


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


def _last_of_each(context: LaunchContext, step: str) -> list[MemoryStep]:
    found = {(one.place.source, one.rank): one for one in context.memory if one.step == step}
    return [one for one in found.values() if one.available is not None]


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

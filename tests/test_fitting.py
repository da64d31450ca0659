"""Solutions fitted to the server: conditions, figures, what is dropped and why."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explain.applied import note_on
from explain.conditions import Facts, holds
from explain.fitting import fitted
from explain.headroom import RESERVE, SMALLEST_POOL, headroom_of
from explain.model import Finding, LaunchContext, MemoryStep, Place, Pool, Record
from tests.contexts.servers import KNOWN, Server, graphs_do_not_fit, no_pool, weights_too_large
from tests.helpers import explain_text, matcher

HERE = Place("log", 1)
FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*\w")
GPUS = {
    "hopper": "NVIDIA H100", "ampere": "NVIDIA A100", "ada": "NVIDIA L40S", "blackwell": "NVIDIA B200",
    "turing": "Tesla T4", "volta": "Tesla V100",
}  # fmt: skip


@cache
def fitted_records() -> tuple[Record, ...]:
    catalogue = matcher().catalogue
    return tuple(record for number in range(len(catalogue)) if (record := catalogue.record(number)).fits)


def ladder(before: float, after: float, fraction: float, lost: float = 0.4) -> LaunchContext:
    """A context whose figures follow SGLang's accounting."""
    left = before * (1 - fraction) - lost
    pool = after - before * (1 - fraction)
    steps = [("weights_begin", before), ("weights_end", after)]
    pools: tuple[Pool, ...] = ()
    if pool > 0 and left > 0:
        steps += [("pool_end", left), ("graph_begin", left)]
        pools = (Pool("", 1000, round(pool, 2), None, HERE),)
    return LaunchContext(
        server_args={**KNOWN, "mem_fraction_static": fraction},
        memory=tuple(MemoryStep(step, "", round(gb, 2), None, HERE) for step, gb in steps),
        pools=pools,
    )


def finding_of(record: Record, captures: Mapping[str, str]) -> Finding:
    return Finding(
        role="cause", kind="message", count=1, ranks=(), first=HERE, last=HERE, exception=None, message="",
        captures=captures, frame=None, site=None, confidence=1.0, record=record,
    )  # fmt: skip


# ------------------------------------------------------------------ memory


@given(
    before=st.floats(8, 180),
    weights=st.floats(0.05, 0.98),
    fraction=st.floats(0.3, 0.97),
    lost=st.floats(0, 2),
    missing=st.floats(0, 4),
)
def test_the_suggested_fraction_leaves_what_is_promised(
    before: float, weights: float, fraction: float, lost: float, missing: float
) -> None:
    """By the server's own sums: pool = after - before * (1 - f), left = before * (1 - f) - lost."""
    after = before * (1 - weights)
    context = ladder(before, after, round(fraction, 3), lost)
    found = headroom_of(context, missing)
    assert found is not None and found.wanted is not None
    small = 0.05  # the log prints two decimals
    if found.lower is not None:
        shown = any(step.step == "pool_end" for step in context.memory)
        left = before * (1 - found.lower) - (lost if shown else 0)
        assert left >= found.wanted - small
        assert abs(left - (found.left_then or 0)) <= 0.1 + small
        assert after - before * (1 - found.lower) >= SMALLEST_POOL - small
        assert found.lower < round(fraction, 3)
    if found.higher is not None:
        assert before * (1 - found.higher) >= RESERVE[before >= 60] - small
        assert abs(after - before * (1 - found.higher) - (found.pool_then or 0)) <= 0.1 + small
        assert found.higher > round(fraction, 3)


def test_a_draft_model_does_not_hide_the_weights_of_the_target() -> None:
    context = ladder(78.0, 40.0, 0.9)
    later = (MemoryStep("weights_begin", "", 6.0, None, HERE), MemoryStep("weights_end", "", 5.0, None, HERE))
    found = headroom_of(replace(context, memory=(*context.memory, *later)))
    assert found is not None and (found.before, found.after) == (78.0, 40.0)


def test_graphs_that_do_not_fit() -> None:
    (server,) = graphs_do_not_fit("0.5.10")
    first = explain_text(server.text).findings[0]
    assert first.solutions[0].startswith("Set `--mem-fraction-static 0.9")
    assert "instead of 3.5 GB" in first.solutions[0] and "48.0 of 78.0 GB" in first.solutions[0]


def test_a_pool_that_is_too_small_and_one_that_cannot_be() -> None:
    (small,), (none,) = no_pool("0.5.18"), weights_too_large("0.5.18")
    first = explain_text(small.text).findings[0]
    assert first.solutions[0].startswith("Raise `--mem-fraction-static` to 0.93 (it is 0.6)")
    first = explain_text(none.text).findings[0]
    assert first.solutions[0].startswith("Reduce what the weights take: they left 2.0 of 78.0 GB")
    assert any("at its limit" in one.reason for one in first.dropped)


@pytest.mark.parametrize(
    ("release", "flag"), [("0.5.2", "--cuda-graph-max-bs "), ("0.5.23", "--cuda-graph-max-bs-decode ")]
)
def test_the_flag_is_the_one_that_the_release_has(release: str, flag: str) -> None:
    (server,) = graphs_do_not_fit(release)
    solutions = explain_text(server.text).findings[0].solutions
    assert any(flag in one for one in solutions[:2])


def test_what_is_already_so_is_dropped_with_the_reason() -> None:
    server = Server("0.5.10", disable_custom_all_reduce=True)
    server.start()
    server.say("Scheduler hit an exception: Traceback (most recent call last):")
    server.bare('  File "/x/sglang/srt/managers/scheduler.py", line 1, in f')
    server.bare("    raise RuntimeError()")
    record = next(record for record in fitted_records() if record.slug == "graph-capture-custom-all-reduce-failed")
    context = LaunchContext(server_args={"disable_custom_all_reduce": True})
    _, dropped = fitted(finding_of(record, {}), context)
    assert [one.reason for one in dropped] == ["you already have `--disable-custom-all-reduce`"]


# ------------------------------------------------------------------ without fits


@pytest.mark.parametrize(
    ("solution", "context", "note"),
    [
        ("Add `--disable-radix-cache`.", LaunchContext(server_args={"disable_radix_cache": True}),
         "you already have `--disable-radix-cache`"),
        ("Add `--disable-radix-cache`.", LaunchContext(server_args={"disable_radix_cache": False}), None),
        ("Set --page-size 64.", LaunchContext(server_args={"page_size": 64}), "you already have `--page-size 64`"),
        ("Set --page-size 64, or 16.", LaunchContext(server_args={"page_size": 64}), None),
        ("Lower --page-size 64.", LaunchContext(server_args={"page_size": 64}), None),
        ("Remove `--enable-mixed-chunk`.", LaunchContext(server_args={"enable_mixed_chunk": False}),
         "`--enable-mixed-chunk` is not set here"),
        ("Remove `--enable-mixed-chunk`.", LaunchContext(server_args={"enable_mixed_chunk": True}), None),
        ("Start without `--enable-hierarchical-cache`.", LaunchContext(server_args={"enable_hierarchical_cache": False}),
         "`--enable-hierarchical-cache` is not set here"),
        ("Start without `--enable-hierarchical-cache`.", LaunchContext(server_args={"enable_hierarchical_cache": True}), None),
        ("Test without CUDA graph (`--disable-cuda-graph`).", LaunchContext(server_args={"disable_cuda_graph": False}), None),
        ("Turn off `--enable-lora`.", LaunchContext(server_args={"enable_lora": None}), "`--enable-lora` is not set here"),
        ("Upgrade to 0.5.13 or later: it was fixed.", LaunchContext(sglang_version="0.5.13"), "this is SGLang 0.5.13 already"),
        ("Upgrade to 0.5.13 or later: it was fixed.", LaunchContext(sglang_version="0.5.12"), None),
        ("Upgrade to 0.5.13 or later: it was fixed.", LaunchContext(sglang_version="0.5.12 to 0.5.14"), None),
        ("Upgrade to 0.5.13 or later, or drop the cache.", LaunchContext(sglang_version="0.5.20"), None),
        ("Upgrade past 0.5.6 (PR 14464).", LaunchContext(sglang_version="0.5.6"), None),
        ("Upgrade past 0.5.6 (PR 14464).", LaunchContext(sglang_version="0.5.6.post1"), "this is SGLang 0.5.6.post1 already"),
        ("Upgrade to 0.5.13 or later.", LaunchContext(), None),
        ("Lower `--chunked-prefill-size` to 4096 or 2048.", LaunchContext(server_args={"chunked_prefill_size": 2048}),
         "`--chunked-prefill-size` is 2048 already"),
        ("Lower `--chunked-prefill-size` to 4096 or 2048.", LaunchContext(server_args={"chunked_prefill_size": 4096}), None),
        ("Lower `--chunked-prefill-size` to 2048.", LaunchContext(server_args={"chunked_prefill_size": -1}), None),
        ("Raise --watchdog-timeout to 1200.", LaunchContext(server_args={"watchdog_timeout": 1800.0}),
         "`--watchdog-timeout` is 1800.0 already"),
        ("Raise --watchdog-timeout to 1200.", LaunchContext(server_args={"watchdog_timeout": 300}), None),
        ("Lower --mem-fraction-static by 0.05.", LaunchContext(server_args={"mem_fraction_static": 0.01}), None),
        ("Set `--cuda-graph-max-bs 8`.", LaunchContext(server_args={"cuda_graph_max_bs": 8}),
         "you already have `--cuda-graph-max-bs 8`"),
        ("Set `--cuda-graph-max-bs 8`.", LaunchContext(server_args={"cuda_graph_max_bs_decode": 8}),
         "you already have `--cuda-graph-max-bs 8`"),
        ("Remove `--load-format`; the default loads all.", LaunchContext(server_args={"load_format": None}),
         "`--load-format` is not set here"),
        ("Leave `--quantization` out: it is detected.", LaunchContext(server_args={"quantization": None}),
         "`--quantization` is not set here"),
        ("Run `docker run --shm-size 32g`.", LaunchContext(sglang_version="0.4.6"), None),
        ("Add `--disable-radix-cache`.", LaunchContext(), None),
    ],
)  # fmt: skip
def test_notes(solution: str, context: LaunchContext, note: str | None) -> None:
    assert note_on(solution, context) == note


def test_a_noted_solution_goes_to_the_end() -> None:
    record = replace(fitted_records()[0], fits=(), solutions=("Add `--disable-radix-cache`.", "Read the log."))
    context = LaunchContext(server_args={"disable_radix_cache": True})
    assert fitted(finding_of(record, {}), context)[0] == (
        "Read the log.",
        "Add `--disable-radix-cache`. [you already have `--disable-radix-cache`]",
    )


# ------------------------------------------------------------------ conditions


@pytest.mark.parametrize(
    ("when", "answer"),
    [
        ({"args": {"tp_size": 8}}, True),
        ({"args": {"tp_size": {"above": 8}}}, False),
        ({"args": {"ep_size": 1}}, None),
        ({"args": {"speculative_algorithm": {"set": False}, "tp_size": {"above": 1, "below": 9}}}, True),
        ({"args": {"old_name/tp_size": 8}}, True),
        ({"not": {"args": {"tp_size": 8}}}, False),
        ({"not": {"args": {"ep_size": 1}}}, None),
        ({"any": [{"args": {"ep_size": 1}}, {"args": {"tp_size": 8}}]}, True),
        ({"any": [{"args": {"ep_size": 1}}, {"args": {"tp_size": 4}}]}, None),
        ({"release": {"from": "0.5.2"}}, True),
        ({"release": {"to": "0.5.9"}}, False),
        ({"release": {"to": "0.5.11"}}, None),
        ({"captures": {"seconds": {"above": 299}}}, True),
        ({"gpu": {"in": ["hopper"]}}, True),
        ({"memory": {"left": {"below": 3}}}, None),
    ],
)
def test_conditions(when: dict[str, Any], answer: bool | None) -> None:
    context = LaunchContext(
        server_args={"tp_size": 8, "speculative_algorithm": None},
        sglang_version="0.5.10 to 0.5.13",
        gpu="NVIDIA H200",
    )
    assert holds(when, Facts(context, None, {"seconds": "300"})) is answer


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["args", "release", "memory", "gpu", "any", "not", "above", "in", "set", "tp_size"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["args", "release", "memory", "gpu", "any", "not", "load"]), JSON))
def test_conditions_of_foreign_records_never_fail(when: dict[str, Any]) -> None:
    context = replace(ladder(*(78.0, 40.0, 0.9)), sglang_version="0.5.2", gpu="NVIDIA H200")
    assert holds(when, Facts(context, headroom_of(context), {})) in (True, False, None)

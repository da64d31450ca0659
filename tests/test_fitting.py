"""Solutions fitted to the server: conditions, figures, what is dropped and why."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explain.applied import note_on
from explain.conditions import Facts, holds
from explain.fitting import filled, fitted
from explain.headroom import RESERVE, SMALLEST_POOL, headroom_of
from explain.model import Batch, Finding, Fit, LaunchContext, MemoryStep, Place, Pool, Record
from explain.registry import registry
from tests.contexts.servers import KNOWN, Server, graphs_do_not_fit, no_pool, weights_too_large
from tests.helpers import explain_text, matcher

HERE = Place("log", 1)
FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*\w")
LADDERS = ((78.0, 40.0, 0.9), (78.0, 40.0, 0.6), (78.0, 3.0, 0.97), (10.0, 6.0, 0.88), (78.0, 5.2, 0.93))
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


def values_for(test: Any) -> Any:
    """A value that passes a test."""
    if not isinstance(test, Mapping):
        return test
    if "in" in test:
        return test["in"][0]
    if "above" in test:
        return test["above"] + 1 if isinstance(test["above"], int) else test["above"] + 0.01
    if "below" in test:
        return test["below"] - 1 if isinstance(test["below"], int) else test["below"] - 0.01
    if "set" in test:
        return "EAGLE" if test["set"] else None
    raise AssertionError(f"no value for {test}")


def contexts_for(when: Mapping[str, Any]) -> Iterator[tuple[LaunchContext, dict[str, str]]]:
    """Contexts in which a condition may hold."""
    for shape in LADDERS:
        context = ladder(*shape)
        args = dict(context.server_args)
        for name, test in when.get("args", {}).items():
            args[name.split("/")[0]] = values_for(test)
        context = replace(
            context,
            server_args=args,
            sglang_version=when.get("release", {}).get("to") or when.get("release", {}).get("from"),
            limits={name: values_for(test) for name, test in when.get("limits", {}).items()},
            gpu=GPUS[values_for(when["gpu"])] if "gpu" in when else None,
            batches=(Batch("decode", "", {"#running-req": 48, "token usage": 0.9}, HERE),) if "load" in when else (),
        )
        yield context, {name: str(values_for(test)) for name, test in when.get("captures", {}).items()}


def context_for(fit: Fit) -> tuple[LaunchContext, dict[str, str]]:
    """A context in which the fit's condition holds and its text, if any, can be filled."""
    for context, captures in contexts_for(fit.when):
        for name in re.findall(r"\{([a-z_/]+)", fit.text or ""):
            args = {**context.server_args}
            if name in registry().fields and args.get(name) is None:
                args[name] = 1
                context = replace(context, server_args=args)
            elif name not in captures and name in ("size", "port", "free"):
                captures[name] = "4096"
        facts = Facts(context, headroom_of(context), captures)
        if holds(fit.when, facts) is True and (fit.text is None or filled(fit.text, facts) is not None):
            return context, captures
    raise AssertionError(f"nothing satisfies {fit.when}")


def test_at_least_sixty_records_are_fitted() -> None:
    assert len(fitted_records()) >= 60


def test_every_fit_can_hold_and_changes_the_advice() -> None:
    for record in fitted_records():
        for fit in record.fits:
            context, captures = context_for(fit)
            alone = replace(record, fits=(fit,))
            solutions, dropped = fitted(finding_of(alone, captures), context)
            what = f"{record.slug} {fit}"
            if fit.then in ("already", "impossible"):
                if len(record.solutions) > 1:
                    assert [one.solution for one in dropped] == [record.solutions[fit.solution]], what
                    assert record.solutions[fit.solution] not in solutions, what
                    assert dropped[0].reason, what
                continue
            assert not dropped, what
            text = fit.text and filled(fit.text, Facts(context, headroom_of(context), captures))
            shown = text or record.solutions[fit.solution]
            position = [index for index, one in enumerate(solutions) if one.startswith(shown)]
            assert position, what
            if fit.then == "first":
                assert position == [0], what
            if fit.then == "last":
                assert position[0] >= len(solutions) - 1 - sum(one.endswith("]") for one in solutions), what


def test_a_fit_does_not_hold_where_the_log_tells_nothing() -> None:
    for record in fitted_records():
        solutions, dropped = fitted(finding_of(record, {}), LaunchContext())
        assert solutions == record.solutions and not dropped, record.slug


def test_no_filled_text_names_a_flag_that_the_release_lacks() -> None:
    for record in fitted_records():
        for fit in record.fits:
            if fit.text is None or fit.then in ("already", "impossible"):
                continue
            for release in registry().versions:
                context, captures = context_for(fit)
                context = replace(context, sglang_version=release)
                if holds(fit.when, Facts(context, headroom_of(context), captures)) is not True:
                    continue
                solutions, _ = fitted(finding_of(replace(record, fits=(fit,)), captures), context)
                text = filled(fit.text, Facts(context, headroom_of(context), captures))
                shown = next(one for one in solutions if text and one.startswith(text))
                if shown != text:
                    continue  # a note says what is lacking
                first = re.split(r"[;:.] ", shown)[0]
                flags = [flag for flag in FLAG.findall(first) if registry().flag_infos(flag)]
                known = [flag for flag in flags if any(release in i.releases for i in registry().flag_infos(flag))]
                assert known or not flags, (record.slug, release, shown)


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
        ("Set `--mm-feature-transport cpu`.", LaunchContext(sglang_version="0.4.6"),
         "SGLang 0.4.6 has no `--mm-feature-transport`"),
        ("Set `--mm-feature-transport cpu`.", LaunchContext(sglang_version="0.4.6 to 0.5.23"), None),
        ("Upgrade for `--mm-feature-transport`.", LaunchContext(sglang_version="0.4.6"), None),
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
    context = replace(ladder(*LADDERS[0]), sglang_version="0.5.2", gpu="NVIDIA H200")
    assert holds(when, Facts(context, headroom_of(context), {})) in (True, False, None)

"""Each fitted record, by itself: the advice changes with the context, is left out when it is applied, and names nothing
that the release lacks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from explain.conditions import Facts, holds
from explain.fitting import filled, fitted
from explain.headroom import headroom_of
from explain.model import Batch, Fit, LaunchContext, MemoryStep, Pool, Record
from explain.pins import pinned
from explain.registry import registry, releases_of
from tests.contexts.advice import ROWS, Row
from tests.contexts.servers import KNOWN
from tests.helpers import matcher
from tests.test_fitting import FLAG, GPUS, HERE, finding_of, fitted_records, ladder

FITTED = fitted_records()
SLUGS = [record.slug for record in FITTED]
records = pytest.mark.parametrize("record", FITTED, ids=SLUGS)
SLOT = re.compile(r"\{(?P<name>[a-z][\w/]*)(?::\d)?\}")
SHAPES = (
    (78.0, 40.0, 0.9),
    (78.0, 40.0, 0.6),
    (78.0, 3.0, 0.97),
    (10.0, 6.0, 0.88),
    (93.6, 5.5, 0.94),
    (78.0, 5.2, 0.93),
)
VARIABLE = re.compile(r"\b(?:SGLANG|SGL)_[A-Z0-9_]*[A-Z0-9](?![\w*])")


# --------------------------------------------------------------------------- contexts for and against a condition


def value_for(test: Any) -> Any:
    """A value that passes a test."""
    if not isinstance(test, Mapping):
        return test
    if "in" in test:
        return test["in"][0]
    if "above" in test:
        step = 1 if isinstance(test["above"], int) else 0.01
        return min(test["above"] + step, test.get("below", test["above"] + 2 * step) - step / 10)
    if "below" in test:
        return test["below"] - (1 if isinstance(test["below"], int) else 0.01)
    if "set" in test:
        return "EAGLE" if test["set"] else None
    return "other"


def value_against(test: Any) -> Any:
    """A value that does not."""
    if not isinstance(test, Mapping):
        if test is None or isinstance(test, bool):
            return not test
        return f"not-{test}" if isinstance(test, str) else test + 1
    if "not" in test:
        return test["not"]
    if "in" in test:
        return "something-else"
    if "above" in test:
        return test["above"]
    if "below" in test:
        return test["below"]
    return None if test["set"] else "EAGLE"


def releases_for(when: Mapping[str, Any]) -> list[str]:
    """The releases that a condition admits, some of them."""
    versions = list(registry().versions)
    wanted = when.get("release", {})
    low = versions.index(wanted["from"]) if "from" in wanted else 0
    high = versions.index(wanted["to"]) if "to" in wanted else len(versions) - 1
    return [versions[high], versions[low], versions[(low + high) // 2]]


def contexts_for(fit: Fit, record: Record | None = None) -> Iterator[tuple[LaunchContext, dict[str, str]]]:
    """Contexts in which a condition may hold and the text has its figures; the first ones tell the most.

    Entries of the record that come before this one are kept from holding.
    """
    when, needs = fit.when, [slot["name"] for slot in SLOT.finditer(fit.text or "")]
    groups = set(re.findall(r"\?P?<(\w+)>", record.pattern)) if record else set()
    captures = {name: str(value_for(test)) for name, test in when.get("captures", {}).items()}
    args: dict[str, Any] = {name.split("/")[0]: value_for(test) for name, test in when.get("args", {}).items()}
    for name in needs:
        first = name.split("/")[0]
        if name in groups and name not in args:
            captures.setdefault(name, "4096")
        elif first in registry().fields and args.get(first, KNOWN.get(first)) is None:
            args[first] = 7
    limits = {name: value_for(test) for name, test in when.get("limits", {}).items()}
    limits |= {name: 3 for name in needs if name in ("max_total_num_tokens", "max_running_requests", "context_len")}
    load = "load" in when or any(name in ("running", "half_running", "queued", "token_usage") for name in needs)
    batches = (Batch("decode", "", {"#running-req": 48, "#queue-req": 5, "token usage": 0.9}, HERE),) if load else ()
    others: list[dict[str, Any]] = [{}]
    for one in record.fits if record else ():
        if one is fit:
            break
        if one.solution == fit.solution:
            against = {name.split("/")[0]: value_against(test) for name, test in one.when.get("args", {}).items()}
            others.append({name: value for name, value in against.items() if name not in args})
    others.append({name: value for one in others for name, value in one.items()})
    figures = "memory" in when or any("fraction" in name or name in ("lower", "left", "higher") for name in needs)
    for release in releases_for(when):
        for other in others:
            for shape in SHAPES if figures else SHAPES[:1]:
                for lean in (False, True):
                    context = ladder(*shape)
                    if lean:  # a ladder that ends before the pool
                        steps = tuple(step for step in context.memory if step.step.startswith("weights"))
                        context = replace(context, memory=steps, pools=())
                    if not figures:
                        context = replace(context, memory=(), pools=(), server_args=dict(KNOWN))
                    yield (
                        replace(
                            context,
                            server_args={**context.server_args, **other, **args},
                            sglang_version=release,
                            limits=limits,
                            gpu=GPUS[value_for(when["gpu"])] if "gpu" in when else None,
                            batches=batches,
                        ),
                        captures,
                    )


def advice(
    record: Record, context: LaunchContext, captures: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    solutions, dropped = fitted(finding_of(record, captures), context)
    return solutions, {one.solution: one.reason for one in dropped}


def shown_text(record: Record, fit: Fit, context: LaunchContext, captures: Mapping[str, str]) -> str | None:
    facts = Facts(context, headroom_of(context), captures)
    return filled(fit.text, facts) if fit.text is not None else None


def worded_alike(one: str, other: str) -> bool:
    """The same words; flags may have been given their names in the release."""
    plain = [re.sub(r"--[\w-]+(?: \w+)?|(?:SGLANG|SGL)_\w+", "X", text) for text in (one, other)]
    return plain[0].startswith(plain[1])


@cache
def effective(slug: str, index: int) -> tuple[LaunchContext, dict[str, str]]:
    """A context in which this entry of the record is the one that speaks."""
    record = FITTED[SLUGS.index(slug)]
    fit = record.fits[index]
    for context, captures in contexts_for(fit, record):
        facts = Facts(context, headroom_of(context), captures)
        if holds(fit.when, facts) is not True:
            continue
        text = shown_text(record, fit, context, captures)
        if fit.text is not None and text is None:
            continue
        solutions, dropped = advice(record, context, captures)
        if fit.then in ("already", "impossible"):
            if text in dropped.values():
                return context, captures
        elif any(worded_alike(one, text or record.solutions[fit.solution]) for one in solutions):
            return context, captures
    raise AssertionError(f"{slug}: nothing lets entry {index} speak: {fit}")


def contexts_against(
    fit: Fit, context: LaunchContext, captures: dict[str, str]
) -> Iterator[tuple[LaunchContext, dict[str, str]]]:
    """The same contexts with one thing different, so that the condition does not hold."""
    for name, test in fit.when.get("args", {}).items():
        yield replace(context, server_args={**context.server_args, name.split("/")[0]: value_against(test)}), captures
    if "release" in fit.when:
        versions = list(registry().versions)
        low = versions.index(fit.when["release"].get("from", versions[0]))
        high = versions.index(fit.when["release"].get("to", versions[-1]))
        yield from (
            (replace(context, sglang_version=versions[n]), captures)
            for n in (low - 1, high + 1)
            if 0 <= n < len(versions)
        )
        yield replace(context, sglang_version=None), captures
    for name, test in fit.when.get("captures", {}).items():
        yield context, {**captures, name: str(value_against(test))}
        yield context, {one: value for one, value in captures.items() if one != name}
    if "memory" in fit.when:
        yield replace(context, memory=(), pools=()), captures
    if "gpu" in fit.when:
        yield replace(context, gpu=None), captures
    if "limits" in fit.when:
        yield replace(context, limits={}), captures
    if "load" in fit.when:
        yield replace(context, batches=()), captures


# --------------------------------------------------------------------------- each record


def test_at_least_sixty() -> None:
    assert len(FITTED) >= 150


@records
def test_the_advice_changes_with_the_context(record: Record) -> None:
    """Every entry can speak beside its neighbours; where its condition fails, it does not."""
    for index, fit in enumerate(record.fits):
        context, captures = effective(record.slug, index)
        solutions, dropped = advice(record, context, captures)
        text = shown_text(record, fit, context, captures)
        plain = record.solutions[fit.solution]
        for one in solutions:
            assert not SLOT.search(one) or SLOT.search(one)[0] in " ".join(record.solutions), one  # type: ignore[index]
        if fit.then in ("already", "impossible"):
            assert text in dropped.values()
            assert not any(one.startswith(plain) for one in solutions)
        else:
            position = next(n for n, one in enumerate(solutions) if worded_alike(one, text or plain))
            firsts = [one for one in record.fits if one.then == "first"]
            if fit.then == "first" and not solutions[position].endswith("]"):
                assert position < max(1, len(firsts)), solutions
            if fit.then == "last":
                assert position >= len(solutions) - 1 - sum(one.endswith("]") for one in solutions)
            for slot in SLOT.finditer(fit.text or ""):
                value = context.server_args.get(slot["name"].split("/")[0])
                if value is not None and slot["name"] not in captures:
                    assert str(value) in solutions[position]
        for other, other_captures in contexts_against(fit, context, captures):
            facts = Facts(other, headroom_of(other), other_captures)
            if holds(fit.when, facts) is True:
                continue
            then, gone = advice(record, other, other_captures)
            said = shown_text(record, fit, other, other_captures) or text
            if text is None or said == plain or any(one.text == fit.text and one is not fit for one in record.fits):
                continue
            assert said not in then and said not in gone.values(), (fit, other.server_args, then)


@records
def test_where_the_log_tells_nothing_the_record_stands(record: Record) -> None:
    assert advice(record, LaunchContext(), {}) == (record.solutions, {})


ADDS = re.compile(
    r"^(?:Add|Set|Use|Pass|Enable|Choose|Give) `?(?P<flag>--[a-z][a-z-]+[a-z])(?: (?P<value>[\w-]+))?`?(?=[.;:,( ](?!\d)|$)"
)
REMOVES = re.compile(
    r"^(?:Remove|Drop|Omit|Unset|(?:Start|Run|Serve|Launch) without) `?(?P<flag>--[a-z][a-z-]+[a-z])`?(?=[.;:,( ]|$)"
)
SENTENCE = re.compile(r"(?<=[a-z`)\d])[.;:](?:\s|$)")


def applied(record: Record) -> Iterator[tuple[int, LaunchContext]]:
    """(solution, a server that has it already), for those whose first sentence plainly says one thing to do."""
    for index, solution in enumerate(record.solutions):
        sentence = SENTENCE.split(solution, maxsplit=1)[0]
        one = ADDS.match(sentence) or REMOVES.match(sentence)
        if one is None or len(FLAG.findall(sentence)) != 1 or re.search(r"\bor\b|instead|upgrade|\band\b", sentence):
            continue
        infos = [info for info in registry().flag_infos(one["flag"]) if info.command == "server"]
        if not infos or any(fit.solution == index for fit in record.fits):
            continue
        value: Any = one.groupdict().get("value") or True
        switch = not infos[0].choices and ADDS.match(sentence) and value is True
        if (
            ADDS.match(sentence)
            and not switch
            and (value is True or not re.fullmatch(r"\d+|[a-z0-9_]*[\d_][a-z0-9_]*", value))
        ):
            continue  # what follows the flag is prose
        if REMOVES.match(sentence):
            value = None
        yield index, LaunchContext(server_args={infos[0].field: int(value) if str(value).isdigit() else value})


@records
def test_what_is_applied_is_left_out_or_goes_behind_with_the_reason(record: Record) -> None:
    seen = 0
    for index, fit in enumerate(record.fits):
        if fit.then in ("already", "impossible"):
            context, captures = effective(record.slug, index)
            solutions, dropped = advice(record, context, captures)
            seen += 1
            assert shown_text(record, fit, context, captures) in dropped.values()
            assert len(solutions) + len(dropped) == len(record.solutions)
    for index, context in applied(record):
        solutions, dropped = advice(record, context, {})
        plain = record.solutions[index]
        seen += 1
        position = next((n for n, one in enumerate(solutions) if one.startswith(plain)), None)
        assert position is None or (solutions[position] != plain and position > 0) or len(solutions) == 1, (
            plain,
            solutions,
        )
        assert position is not None or any(reason for reason in dropped.values())
    APPLIED[record.slug] = seen


APPLIED: dict[str, int] = {}


def test_most_fitted_records_have_something_that_can_be_applied() -> None:
    if len(APPLIED) == len(FITTED):
        assert sum(count > 0 for count in APPLIED.values()) >= 90


@records
def test_no_release_gets_a_name_that_it_lacks(record: Record) -> None:
    """Over all releases and all entries: what is lacking is rewritten, left out, or said to be lacking."""
    contexts = [effective(record.slug, index) for index in range(len(record.fits))]
    contexts.append((LaunchContext(server_args=dict(KNOWN)), {}))
    for context, captures in contexts:
        for release in registry().versions:
            solutions, _ = advice(record, replace(context, sglang_version=release), captures)
            for solution in solutions:
                assert not list(unsaid(solution, release)), (release, solution)


PAIRS = (
    ("--enable-deepep-moe", "--moe-a2a-backend"),
    ("--mamba-scheduler-strategy", "--mamba-radix-cache-strategy"),
    ("--attn-dp-size", "--enable-dp-attention"),
)


def unsaid(solution: str, release: str) -> Iterator[str]:
    """Names in a printed solution that the release does not have and the text says nothing about."""
    text, _, note = solution.partition(f" [SGLang {release} has no ")
    for name in {*FLAG.findall(text), *VARIABLE.findall(text)}:
        having = releases_having(name)
        if having is None or release in having or f"`{name}" in note:
            continue
        if any(name in pair and (set(pair) - {name}) & set(FLAG.findall(text)) for pair in PAIRS):
            continue  # the name of this release stands beside it
        named = [one.partition(".post")[0] for one in re.findall(r"\b0\.\d+\.\d+(?:\.post\d+)?", text)]
        versions = list(registry().versions)
        numbers = [versions.index(one) for one in having]
        edges = {
            versions[n].partition(".post")[0]
            for n in (min(numbers), max(numbers), max(numbers) + 1)
            if n < len(versions)
        }
        if not edges & set(named) and " more" not in note:
            yield name


@cache
def releases_having(name: str) -> frozenset[str] | None:
    if not name.startswith("-"):
        info = registry().environment_info(name)
        return frozenset(info.releases) if info else None
    infos = [info for info in registry().flag_infos(name) if info.command == "server" and info.name == name]
    return frozenset(release for info in infos for release in info.releases) if infos else None


# --------------------------------------------------------------------------- all records


SAMPLE = ("0.4.1", "0.4.6.post5", "0.4.10", "0.5.2", "0.5.6", "0.5.10", "0.5.14", "0.5.19", "0.5.23")


@pytest.mark.parametrize("release", SAMPLE)
def test_no_record_names_what_a_release_lacks(release: str) -> None:
    """All records, fitted or not; those of the diffusion server have flags of their own."""
    catalogue = matcher().catalogue
    context = LaunchContext(sglang_version=release)
    wrong = [
        (record.slug, name, solution)
        for record in (catalogue.record(number) for number in range(len(catalogue)))
        if record.area != "diffusion"
        for solution in advice(record, context, {})[0]
        for name in unsaid(solution, release)
    ]
    assert not wrong, wrong[:5]


def test_no_record_advises_what_a_server_has() -> None:
    """All records: a solution that says one thing to do, on a server that has it, is not the first and says why."""
    catalogue = matcher().catalogue
    seen, wrong = 0, []
    for record in (catalogue.record(number) for number in range(len(catalogue))):
        for index, context in applied(record):
            seen += 1
            solutions, _ = advice(record, context, {})
            position = next((n for n, one in enumerate(solutions) if one.startswith(record.solutions[index])), None)
            if position is not None and not (solutions[position].endswith("]") and (position or len(solutions) == 1)):
                wrong.append((record.slug, solutions[position]))
    assert seen >= 150 and not wrong, wrong


def test_steps_and_pools_are_used() -> None:
    """The helpers above make what they say."""
    context, _ = next(contexts_for(Fit(0, {"memory": {"can_lower": True}}, "x {lower}")))
    assert context.memory and isinstance(context.memory[0], MemoryStep) and isinstance(context.pools[0], Pool)
    assert pinned("needs_torch", releases_of("0.5.23"))


# --------------------------------------------------------------------------- by hand


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.slug}-{row.lead[:30]}")
def test_what_a_support_engineer_would_say(row: Row) -> None:
    record = FITTED[SLUGS.index(row.slug)]
    context = ladder(*row.memory, lost=0.4) if row.memory else LaunchContext()
    batches = (Batch("decode", "", {"#running-req": row.running}, HERE),) if row.running else ()
    context = replace(
        context,
        server_args={**context.server_args, **row.args},
        sglang_version=row.release,
        gpu=row.gpu,
        limits=row.limits,
        batches=batches,
    )
    solutions, _ = advice(record, context, row.captures)
    assert solutions[0].startswith(row.lead)
    assert row.says in " ".join(solutions)
    assert not row.never or row.never not in " ".join(one for one in solutions if not one.endswith("]"))


def test_the_table_is_long_enough() -> None:
    assert len(ROWS) >= 60 and len({row.slug for row in ROWS}) >= 60

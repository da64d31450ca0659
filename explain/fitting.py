"""Solutions in the order, with the figures and without the ones that this server already has.

A record's `fits` say so for the cases its author thought of. For all others the flags that a solution names
are held against the server arguments: what is in place already goes to the end with a note. All of them are worded
for the release of the log, and what it does not have goes to the end as well. Where the log does not tell, the
record's own order stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from explain.applied import note_on
from explain.conditions import Facts, holds
from explain.expressions import expression
from explain.headroom import headroom_of
from explain.model import Dropped, Finding, LaunchContext
from explain.releasewords import DIFFUSION, worded
from explain.relevance import to_the_point

_SLOT = expression(r"\{(?P<name>[a-z][\w/]*)(?::(?P<digits>\d))?\}")
_SIZE = expression(r"(?P<number>\d+(?:\.\d+)?) ?(?P<unit>[KMG]i?B)")
_GB = {"K": 1 / 1024 / 1024, "M": 1 / 1024, "G": 1.0}
MAX_VALUE = 80
_REASONS = {"already": "already so here", "impossible": "not possible here"}


def fitted(finding: Finding, context: LaunchContext) -> tuple[tuple[str, ...], tuple[Dropped, ...]]:
    """The finding's solutions for this server, the first to try first, and those left out with the reason.

    At least one solution stays.
    """
    record = finding.record
    if record is None:
        return finding.solutions, ()
    diffusion = record.area == DIFFUSION
    facts = Facts(context, headroom_of(context, _missing(finding.captures)), finding.captures)
    texts = dict(enumerate(record.solutions))
    first: list[int] = []
    last: list[int] = []
    dropped: dict[int, str] = {}
    done: set[int] = set()
    for fit in record.fits:
        if fit.solution in done or fit.solution in dropped or holds(fit.when, facts) is not True:
            continue
        text = filled(fit.text, facts) if fit.text is not None else None
        if fit.then in ("already", "impossible"):
            dropped[fit.solution] = text or _REASONS[fit.then]
            continue
        if fit.text is not None:
            if text is None:
                continue  # a figure is not in the log: a later entry may do without it
            texts[fit.solution] = text
        done.add(fit.solution)
        if fit.then != "reword":
            (first if fit.then == "first" else last).append(fit.solution)
    if len(dropped) == len(texts):
        dropped.clear()
    said = {index: worded(text, context.sglang_version, diffusion=diffusion) for index, text in texts.items()}
    kept = [index for index in texts if index not in dropped]
    there = {index: None if index in done else note_on(said[index].text, context) for index in kept}
    behind = {index for index in kept if there[index] or said[index].vain}
    plain = [index for index in kept if index not in behind]
    order = [index for index in first if index in plain]
    middle = [index for index in plain if index not in first and index not in last]
    order += to_the_point(middle, texts.__getitem__, finding.message)
    order += [index for index in last if index in plain]
    order += [index for index in kept if index in behind]
    return (
        tuple(_noted(said[index].text, there[index], said[index].lacking) for index in order),
        tuple(Dropped(said[index].text, reason) for index, reason in sorted(dropped.items())),
    )


def _noted(text: str, *notes: str | None) -> str:
    return " ".join((text, *(f"[{note}]" for note in notes if note)))


def filled(text: str, facts: Facts) -> str | None:
    """`text` with its slots filled; None where the log does not tell one of them.

    A slot is a capture, a memory figure, a server argument, or what the release is and asks for; `{name:1}` rounds to
    one decimal.
    """
    missing = False

    def fill(slot: re.Match[str]) -> str:
        nonlocal missing
        value = _value(slot["name"], facts)
        if value is None:
            missing = True
            return ""
        if slot["digits"] and isinstance(value, int | float):
            return f"{value:.{int(slot['digits'])}f}"
        return str(value)[:MAX_VALUE]

    done = _SLOT.sub(fill, text)
    return None if missing else done


def _value(name: str, facts: Facts) -> Any:
    if name in facts.captures:
        return facts.captures[name]
    if facts.headroom is not None and getattr(facts.headroom, name, None) is not None:
        return getattr(facts.headroom, name)
    for one in name.split("/"):
        if facts.context.server_args.get(one) is not None:
            return facts.context.server_args[one]
    return facts.context.limits.get(name, facts.load.get(name, facts.of_release(name)))


def _missing(captures: Mapping[str, str]) -> float:
    """What an allocation asked for in vain, in GB, from the captures of a finding."""
    found = _SIZE.fullmatch(captures.get("size", captures.get("requested", "")).strip())
    return float(found["number"]) * _GB[found["unit"][0]] if found else 0.0

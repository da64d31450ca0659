"""A finding that is still growing, its place among the others, and the finding it becomes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from explain.agreement import sglang_path
from explain.clocks import shifted
from explain.digest import digest_of
from explain.expressions import expression
from explain.model import Event, Finding, Frame, Match, Place, Role
from explain.roles import ERROR_KINDS, FATAL_TIER, REQUEST_TIER, SYMPTOM_TIER, is_generic, shape
from explain.values import dataclass, field, replace

IGNORED_IMPORT = expression(
    r"Ignore import error when loading (?:sglang\.srt\.models\.)?(?P<module>[\w.]+)[:.] ?(?P<reason>[^\n]*)"
)
_MINUTE = len("2026-11-30 08:00")
_ROLE_ORDER: dict[Role, int] = {"cause": 0, "consequence": 2, "warning": 1, "noise": 4}


@dataclass(slots=True)
class Group:
    """One finding that is still growing."""

    match: Match
    role: Role
    why: str
    order: tuple[str, int, int]
    tier: int
    count: int = 0
    ranks: dict[str, int] = field(default_factory=dict)
    first: Place | None = None
    last: Place | None = None
    caused_by: object | None = None
    life: int = 0
    """The number of the start in which it happened last."""
    lives: set[int] = field(default_factory=set)
    """The numbers of all starts in which it happened."""
    later: int = 0
    """How many starts came after that one."""
    last_key: str = ""
    last_line: tuple[int, int] = (0, 0)
    """(source, line) of the last event."""
    rank_times: dict[str, tuple[int, str]] = field(default_factory=dict)
    """(source, time) at which each rank failed first in that life."""

    @property
    def event(self) -> Event:
        return self.match.event


def leads_of(ordered: Sequence[tuple[object, Group]], roles: Mapping[object, Role] | None = None) -> dict[int, int]:
    """The index of the first cause of each life of the server."""
    leads: dict[int, int] = {}
    for index, (key, group) in enumerate(ordered):
        if (roles[key] if roles else group.role) == "cause":
            leads.setdefault(group.later, index)
    return leads


def role_beside(group: Group, ordered: Sequence[tuple[object, Group]], leads: Mapping[int, int]) -> Role:
    """A symptom is a consequence where the same life of the server has a failure that explains it."""
    lead = leads.get(group.later)
    if group.role != "cause" or group.tier != SYMPTOM_TIER or lead is None:
        return group.role
    other = ordered[lead][1]
    if other.tier != FATAL_TIER:
        return group.role
    # To the minute: ranks flush apart, but what was told long before did not follow.
    before = bool(group.order[0] and other.order[0]) and group.order[0][:16] < other.order[0][:16]
    return group.role if before else "consequence"


ORDER_RULES = (
    "causes come first, then warnings that the program calls errors, consequences, other warnings and noise",
    "what ended only a request comes behind what ended the server",
    "what happened in a later start of the server comes first",
    "what ends the server comes before what is usually a symptom, and that before what ends a request",
    "a bare line that only says that something failed comes behind a traceback",
    "what happened earlier comes first",
    "within a minute, what names one error comes before what names a whole class of them",
    "what happened earlier comes first",
    "the order in which the logs were given",
    "the order in the log",
    "the exception that was raised first comes before those that followed in its chain",
)
"""For each part of `sort_key`, the rule that it stands for."""


def sort_key(group: Group, role: Role, dated: bool, offsets: Mapping[int, float]) -> tuple[object, ...]:
    time, source, line = group.order
    when = shifted(time, offsets.get(source, 0.0)) if dated else ""
    # Within a minute, what names one error comes before what names a class of them.
    generic = is_generic(group.match)
    order = (when[:_MINUTE], generic, when, source, line)
    bare = role == "consequence" and group.event.kind == "message"
    # What only ended a request does not come before what ended the server, in whichever life.
    return (
        *(_ROLE_ORDER[role] + _unexplained_last(group), group.tier == REQUEST_TIER),
        *(group.later, group.tier, bare, *order, group.event.chain),
    )


def _unexplained_last(group: Group) -> int:
    """Warnings without a record come behind the consequences, which at least say what to look for.

    What the program itself called an error stays before them.
    """
    if group.role != "warning" or group.match.record is not None:
        return 0
    site = group.match.site
    called_error = site is not None and site.kind in ERROR_KINDS
    return 0 if called_error else 2


def group_key(match: Match, role: Role) -> object:
    event = match.event
    if match.record is not None:
        if role != "cause":
            ignored = IGNORED_IMPORT.search(event.message)
            return ("record", match.record.id, ignored["module"] if ignored else None)
        captures = tuple((name, shape(value)[:120]) for name, value in sorted(match.captures.items()))
        return ("record", match.record.id, captures)
    deepest = event.frames[-1] if event.frames else None
    place = (deepest.file, deepest.function) if deepest else None
    return (
        event.kind,
        event.exception,
        shape(event.message[:300]),
        place,
        match.site.id if match.site else None,
    )


def finding_of(
    key: object,
    group: Group,
    role: Role,
    position: Mapping[object, int],
    lead: int | None,
    offsets: Mapping[int, float],
) -> Finding:
    match, event = group.match, group.event
    record = match.record
    assert group.first is not None and group.last is not None
    ranks = sorted(group.ranks, key=_rank_order)
    caused_by = position.get(group.caused_by) if group.caused_by is not None else None
    if caused_by is None and role == "consequence":
        caused_by = lead
    return Finding(
        role=role,
        kind=event.kind,
        count=group.count,
        ranks=tuple(ranks),
        rank_counts=tuple(group.ranks[rank] for rank in ranks),
        first=group.first,
        last=group.last,
        exception=event.exception,
        message=event.message,
        captures=match.captures,
        frame=shown_frame(event),
        site=match.site,
        confidence=match.confidence,
        record=record,
        solutions=record.solutions if record else (),
        also=match.also,
        caused_by=caused_by,
        frames=event.frames,
        text=event.text,
        why=group.why if role == group.role else "it usually follows from another failure, which is here",
        near=match.near,
        first_ranks=_first_ranks(group, offsets),
        id=digest_of(repr(key))[:16],
    )


def _first_ranks(group: Group, offsets: Mapping[int, float]) -> tuple[str, ...]:
    """The ranks that failed before the others; empty where the clock does not tell them apart."""
    if len(group.rank_times) < 2:
        return ()
    times = {rank: shifted(time, offsets.get(source, 0.0)) for rank, (source, time) in group.rank_times.items()}
    earliest = min(times.values())
    first = [rank for rank, time in times.items() if time == earliest]
    return tuple(sorted(first, key=_rank_order)) if len(first) < len(times) else ()


def _rank_order(rank: str) -> tuple[tuple[str, int], ...]:
    return tuple((part.rstrip("0123456789"), int(re.sub(r"\D", "", part) or 0)) for part in rank.split())


def shown_frame(event: Event) -> Frame | None:
    """The deepest frame of SGLang, its file from `sglang/` on; else the deepest frame."""
    for frame in reversed(event.frames):
        path = sglang_path(frame.file)
        if path is not None:
            return replace(frame, file=path)
    return event.frames[-1] if event.frames else None

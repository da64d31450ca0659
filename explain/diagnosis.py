"""Matches -> findings with roles; the cause first.

Each event has a role by itself (`roles`). Then the whole log is looked at: the exceptions of one chain,
failures that a later line explains better, symptoms beside what explains them, and which failure came first.
Every rule leaves a reason in `Finding.why`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from explain.bounds import slim
from explain.counting import Again, time_of
from explain.expressions import expression
from explain.groups import ORDER_RULES, Group, finding_of, group_key, leads_of, role_beside, sort_key
from explain.masked import promote_masked_imports
from explain.model import Event, Finding, Match, Place, Role
from explain.roles import (
    REQUEST_TIER,
    captures_agree,
    explains_better,
    is_critical,
    role_of,
    tells_more,
    tier_of,
)
from explain.seen import Seen
from explain.values import replace

MAX_FINDINGS = 400
"""Distinct findings that are kept; further ones are counted."""
MAX_RANKS = 4096
MAX_LIVES = 1000
_FULL_TIME = expression(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")


class Lives(Protocol):
    """Knows how often the server that wrote a line had been started by then; see `launch`."""

    def number_of_start(self, source: int, key: str, line: int) -> int: ...

    def later_starts(self, source: int, key: str, number: int) -> int: ...

    def clock_offsets(self) -> dict[int, float]: ...


class Diagnosis:
    """Collects matches in the order of the log; `findings` sorts them out. Memory is bounded."""

    def __init__(
        self,
        source_names: list[str],
        rematch: Callable[[Event], Match] | None = None,
        *,
        rolling: bool = False,
        lives: Lives | None = None,
    ) -> None:
        """`rematch` explains an event that is read anew: the reason that a message quotes.

        Where findings become too many, `rolling` forgets the one not seen for longest, for runs without an end;
        otherwise new ones are counted in `folded` and not kept.
        """
        self._rolling = rolling
        self._lives = lives
        self._names = source_names
        self._rematch = rematch
        self._groups: OrderedDict[object, Group] = OrderedDict()
        self._by_record: dict[str, list[object]] = {}
        self._clock: dict[int, str] = {}
        self._chains: dict[tuple[int, int], list[tuple[object, int]]] = {}
        self._order_told: list[Group] = []
        self._keys_told: list[tuple[object, ...]] = []
        self.folded = 0
        self.events = 0

    def add(self, match: Match) -> Role:
        """Takes one match and tells the role of its event as far as it is known by now."""
        event = match.event
        self.events += 1
        role, why = role_of(match)
        self._tick(event.source, event.time)
        key = self._key(match, role)
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= MAX_FINDINGS:
                self.folded += 1
                if not self._rolling:
                    return role
                self._groups.popitem(last=False)
            group = Group(_kept(match), role, why, self._order_of(event.source, event.line), tier_of(match))
            self._groups[key] = group
        elif tells_more(match, group.match):
            group.match = _kept(match)
        self._count(group, event)
        if self._rolling:
            self._groups.move_to_end(key)
        if event.chain_of is not None:
            self._chains.setdefault((event.source, event.chain_of), []).append((key, event.chain))
            if len(self._chains) > 4 * MAX_FINDINGS:
                self._chains.pop(next(iter(self._chains)))
        return role

    def _order_of(self, source: int, line: int) -> tuple[str, int, int]:
        return (self._clock.get(source, ""), source, line)

    def _key(self, match: Match, role: Role) -> object:
        """The finding an event belongs to: that of the same record whose captures do not say otherwise."""
        key = group_key(match, role)
        if match.record is None or role != "cause" or key in self._groups:
            return key
        known = self._by_record.setdefault(match.record.id, [])
        for other in known:
            group = self._groups.get(other)
            if group is not None and captures_agree(match.captures, group.match.captures):
                return other
        if len(known) < MAX_FINDINGS:
            known.append(key)
        return key

    def repeatable(self, match: Match) -> object | None:
        """The finding to which every event like this one belongs, whatever its numbers; None where they decide."""
        role, _ = role_of(match)
        return group_key(match, role) if role != "cause" and match.record is not None else None

    def count_again(self, key: object, again: Again) -> None:
        """Counts more events of a finding that `repeatable` named."""
        times = sum(again.ranks.values())
        self.events += times
        group = self._groups.get(key)
        if group is None:
            self.folded += times
            return
        group.count += times
        (first, begin), (last, end) = again.first, again.last
        self._tick(again.source, time_of(begin))
        self._reach(group, again.source, again.key, first)
        self._tick(again.source, time := time_of(end))
        group.last = Place(self._names[again.source], last, time)
        group.last_line = (again.source, last)
        for rank, count in again.ranks.items():
            if rank:
                if rank not in group.rank_times:
                    _time_rank(group, rank, again.source, time_of(again.firsts[rank]))
                _count_rank(group, rank, count)

    def _tick(self, source: int, time: str | None) -> None:
        if time and _FULL_TIME.match(time):
            self._clock[source] = time

    def _count(self, group: Group, event: Event) -> None:
        group.count += 1 + event.repeats
        place = Place(self._names[event.source], event.line, event.time)
        group.first = group.first or place
        group.last = place
        self._reach(group, event.source, event.key, event.line)
        if event.rank:
            _time_rank(group, event.rank, event.source, event.time)
            _count_rank(group, event.rank, 1 + event.repeats)

    def _reach(self, group: Group, source: int, key: str, line: int) -> None:
        """The finding happened at a line, maybe in a later life of the server than before."""
        group.last_key, group.last_line = key, (source, line)
        life = self._lives.number_of_start(source, key, line) if self._lives else 0
        if len(group.lives) < MAX_LIVES:
            group.lives.add(life)
        if life > group.life:
            # What counts is the life it happened in last: there it is first or not.
            group.life, group.order = life, self._order_of(source, line)
            group.rank_times.clear()

    # ------------------------------------------------------------------ the whole log

    def findings(self) -> tuple[Finding, ...]:
        """All findings, cause first."""
        groups = dict(self._groups)
        self._settle_chains(groups)
        promote_masked_imports(groups, self._rematch)
        for group in groups.values():
            group.later = self._lives.later_starts(group.last_line[0], group.last_key, group.life) if self._lives else 0
        offsets = self._lives.clock_offsets() if self._lives and len(self._names) > 1 else {}
        dated = self._dated()
        ordered = sorted(groups.items(), key=lambda item: sort_key(item[1], item[1].role, dated, offsets))
        leads = leads_of(ordered)
        roles = {key: role_beside(group, ordered, leads) for key, group in ordered}
        # Leads are no symptoms of others, so they keep their order among themselves; only symptoms move.
        ordered.sort(key=lambda item: sort_key(item[1], roles[item[0]], dated, offsets))
        leads = leads_of(ordered, roles)
        position = {key: index for index, (key, _) in enumerate(ordered)}
        self._order_told = [group for _, group in ordered]
        self._keys_told = [sort_key(group, roles[key], dated, offsets) for key, group in ordered]
        return tuple(
            finding_of(key, group, roles[key], position, leads.get(group.later), offsets) for key, group in ordered
        )

    def order_rule(self, index: int) -> str:
        """The rule that put a finding of the last `findings()` before the next one; empty for the last one."""
        if index + 1 >= len(self._keys_told):
            return ""
        here, after = self._keys_told[index : index + 2]
        return next((rule for rule, one, other in zip(ORDER_RULES, here, after, strict=True) if one != other), "")

    def seen(self, index: int) -> Seen:
        """Where a finding of the last `findings()` happened last."""
        group = self._order_told[index]
        source, line = group.last_line
        last = group.last
        return Seen(
            source=source,
            key=group.last_key,
            line=line,
            first_line=group.order[2],
            time=last.time if last else None,
            later=group.later,
            laters=frozenset(group.later + group.life - life for life in group.lives),
            ends=group.tier != REQUEST_TIER and (group.event.kind != "message" or is_critical(group.match)),
        )

    def _dated(self) -> bool:
        """Whether clocks can be compared: every group carries a full time, or none does."""
        return all(group.order[0] for group in self._groups.values())

    def _settle_chains(self, groups: dict[object, Group]) -> None:
        """Of the exceptions of one chain one is the cause; the others followed from it or only led to it."""
        for members in self._chains.values():
            present = [(groups[key], key) for key, _ in sorted(members, key=lambda member: member[1]) if key in groups]
            causes = [(group, key) for group, key in present if group.role == "cause"]
            if not causes and any(group.role == "noise" for group, _ in present):
                # A task cancelled by Ctrl-C is as harmless as the interrupt that ends its chain.
                for group, _ in present:
                    if group.role == "consequence" and group.count == 1:
                        group.role, group.why = "noise", "its chain ends in something harmless"
            if len(causes) < 2:
                continue
            leader, leader_key = causes[0]
            for group, key in causes[1:]:
                if group is not leader and explains_better(group.match, leader.match):
                    leader, leader_key = group, key
            for group, key in causes:
                if key != leader_key and group is not leader:
                    group.role = "consequence"
                    group.why = "another exception of the same chain explains it"
                    group.caused_by = leader_key


def _time_rank(group: Group, rank: str, source: int, time: str | None) -> None:
    if len(group.rank_times) < MAX_RANKS and _FULL_TIME.match(time or ""):
        group.rank_times.setdefault(rank, (source, time or ""))


def _count_rank(group: Group, rank: str, times: int) -> None:
    if rank in group.ranks or len(group.ranks) < MAX_RANKS:
        group.ranks[rank] = group.ranks.get(rank, 0) + times


def _kept(match: Match) -> Match:
    event = slim(match.event)
    return match if event is match.event else replace(match, event=event)

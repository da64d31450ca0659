"""Stacks that a watchdog had dumped (py-spy): where each rank's main thread stands, which is the odd one.

Ranks that wait for a collective all stand in it; the rank they wait for stands elsewhere, or left no dump.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from explain.expressions import expression
from explain.model import Event
from explain.values import dataclass

DUMP = "Pyspy dump for PID"
_MAIN = expression(r"^\s*Thread \S+ \([\w+]+\): \"MainThread\"")
_THREAD = expression(r"^\s*Thread \S+ \(")
_FRAME = expression(r"^\s+(?P<function>[\w<>.~]+) \((?P<file>[^():]+):(?P<line>\d+)\)")
_TITLE = expression(r"sglang::scheduler(?:_(?P<rank>\w+))?")
_DEEPEST = 40
_SHOWN = 3
_WAITING = expression(
    r"all_reduce|all_gather|reduce_scatter|all_to_all|broadcast|barrier|synchronize|recv|_wait|\bwait\b"
)
MAX_STACKS = 4096


@dataclass(frozen=True, slots=True)
class Stack:
    """The main thread of one process, innermost frame first, as `function (file)`."""

    rank: str
    frames: tuple[str, ...]


def read_stack(event: Event) -> Stack | None:
    """The main thread's stack of a py-spy dump; None for other events and for a dump without one."""
    if DUMP not in event.text[:400]:
        return None
    frames: list[str] = []
    inside = False
    title = _TITLE.search(event.text[:2000])
    for line in event.text.split("\n"):
        if _MAIN.match(line):
            inside = True
        elif inside and _THREAD.match(line):
            break
        elif inside and (found := _FRAME.match(line)) and len(frames) < _DEEPEST:
            frames.append(f"{found['function']} ({found['file'].rpartition('/')[2]})")
    if not frames:
        return None
    named = (title["rank"] or "").replace("_", " ") if title else ""
    return Stack(event.rank or named, tuple(frames))


def odd_ones(stacks: Mapping[str, Stack], known_ranks: Sequence[str]) -> tuple[str, ...]:
    """What the stacks of all ranks show, in words; empty for fewer than two ranks.

    `known_ranks` are all ranks of the server; those that left no dump are named.
    """
    if len(stacks) < 2:
        return ()
    told = []
    groups = Counter(stack.frames for stack in stacks.values())
    common, times = groups.most_common(1)[0]
    others = [stack for stack in stacks.values() if stack.frames != common]
    if times > len(stacks) - times:
        for stack in others[:2]:
            told.append(
                f"{stack.rank}'s main thread stands elsewhere than the other {times} ranks': in "
                f"{_told(stack.frames)}; they are in {_told(common)}"
            )
    elif len(stacks) == 2:
        first, second = stacks.values()
        waiting = [bool(_WAITING.search(" ".join(stack.frames[:8]))) for stack in (first, second)]
        if waiting[0] != waiting[1]:
            odd, other = (second, first) if waiting[0] else (first, second)
            told.append(f"{odd.rank} stands in {_told(odd.frames)}, while {other.rank} waits in {_told(other.frames)}")
    silent = [rank for rank in known_ranks if rank not in stacks]
    if silent and not others:
        told.append(
            f"{', '.join(silent[:4])} left no dump, while the other {len(stacks)} ranks wait in {_told(common)}"
        )
    return tuple(told)


def _told(frames: Sequence[str]) -> str:
    return " \u2190 ".join(frames[:_SHOWN])

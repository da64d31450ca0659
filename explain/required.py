"""What any text that a pattern matches must hold, so that most texts are refused without the pattern.

A requirement is: in one of the pattern's branches, of each set of literals at least one. It is kept as one string,
read when somebody asks: a catalogue has a thousand, a run needs a dozen.
"""

from __future__ import annotations

from explain.literals import Choice, Part
from explain.regexparts import parse

_BRANCH, _SET, _LITERAL = "\x1d", "\x1e", "\x1f"
_SEPARATORS = frozenset((_BRANCH, _SET, _LITERAL))
_SHORTEST = 3
"""Shorter literals stand in most texts."""
_MOST_BRANCHES = 12
_MOST_SETS = 6
_MOST_LITERALS = 8
_LONGEST = 40
"""Of a longer literal the beginning: it refuses as much, and a thousand of them are read at every start."""

Requirement = tuple[tuple[tuple[str, ...], ...], ...]
"""Branches of sets of literals; one without a branch is met by any text."""


def requirement_of(pattern: str) -> str:
    """The packed requirement of a pattern; empty where nothing is known, as of one without regard to case."""
    parsed = parse(pattern)
    if parsed.caseless or not 0 < len(parsed.branches) <= _MOST_BRANCHES:
        return ""
    branches = [_sets(part) for part in parsed.branches]
    if not all(branches):
        return ""  # a branch that asks for nothing lets any text through
    return _BRANCH.join(
        _SET.join(_LITERAL.join(sorted({literal[:_LONGEST] for literal in one})) for one in sets) for sets in branches
    )


def read_requirement(packed: str) -> Requirement:
    if not packed:
        return ()
    branches = (branch.split(_SET) for branch in packed.split(_BRANCH))
    return tuple(tuple(tuple(one.split(_LITERAL)) for one in sets) for sets in branches)


def meets(text: str, requirement: Requirement) -> bool:
    """Whether a text holds what the requirement asks for."""
    if not requirement:
        return True
    for sets in requirement:
        for literals in sets:
            for literal in literals:
                if literal in text:
                    break
            else:
                break
        else:
            return True
    return False


def _sets(part: Part) -> list[Choice]:
    """The sets worth asking for, the most telling first."""
    usable = {
        choice
        for choice in part.choices
        if len(choice) <= _MOST_LITERALS
        and min(map(len, choice), default=0) >= _SHORTEST
        and not any(_SEPARATORS & set(literal) for literal in choice)
    }
    ordered = sorted(usable, key=lambda choice: (len(choice), -min(map(len, choice)), sorted(choice)))
    telling: list[Choice] = []
    for one in ordered:
        if not any(_implies(other, one) for other in telling):
            telling = [other for other in telling if not _implies(one, other)] + [one]
    return telling[:_MOST_SETS]


def _implies(one: Choice, other: Choice) -> bool:
    """Whether a text with a literal of `one` surely holds one of `other`."""
    return all(any(shorter in longer for shorter in other) for longer in one)

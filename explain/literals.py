"""What is known of the texts that a piece of a regular expression matches, and how pieces combine."""

from __future__ import annotations

from itertools import product

from explain.values import dataclass

MOST_ALTERNATIVES = 32
"""Sets of exact strings larger than this are not multiplied out."""

Choice = frozenset[str]


@dataclass(frozen=True, slots=True)
class Part:
    """What is known of one piece of a pattern.

    `exact`: all texts it can match, None when they are too many. `choices`: sets of literals, each set such
    that every match of the piece contains at least one literal of it. `weight`: how many characters the piece
    fixes, on its longest branch and without what may be absent.
    """

    exact: Choice | None
    choices: tuple[Choice, ...] = ()
    weight: int = 0


EMPTY = Part(frozenset({""}))
ANYTHING = Part(None)


def with_choices(part: Part) -> Part:
    """The part with its exact texts among its choices."""
    if part.exact is None:
        return part
    return Part(part.exact, (part.exact, *part.choices), part.weight)


def join(parts: list[Part]) -> Part:
    """One after the other: exact texts are multiplied out while few, and offered as choices when not."""
    choices: list[Choice] = []
    exact: Choice | None = frozenset({""})
    wide: Choice = frozenset({""})
    narrow = ""
    for part in parts:
        choices.extend(part.choices)
        if part.exact is not None and len(part.exact) == 1:
            narrow += next(iter(part.exact))
        else:
            choices.append(frozenset({narrow}))
            narrow = ""
        if part.exact is None:
            choices.append(wide)
            exact, wide = None, frozenset({""})
        elif len(wide) * len(part.exact) <= MOST_ALTERNATIVES:
            wide = frozenset(a + b for a, b in product(wide, part.exact))
        else:
            choices.append(wide)
            exact, wide = None, part.exact
    choices.extend((frozenset({narrow}), wide))
    weight = sum(part.weight for part in parts)
    return Part(wide if exact is not None else None, tuple(c for c in choices if "" not in c), weight)


def either(parts: list[Part]) -> Part:
    """Alternatives: the literals of all branches together, if every branch has some."""
    if len(parts) == 1:
        return parts[0]
    weight = max(part.weight for part in parts)
    exact: Choice | None = frozenset()
    for part in parts:
        exact = exact | part.exact if exact is not None and part.exact is not None else None
    if exact is not None and len(exact) <= MOST_ALTERNATIVES:
        return Part(exact, (), weight)
    united: list[str] = []
    for part in parts:
        usable = [c for c in with_choices(part).choices if "" not in c]
        if not usable:
            return Part(None, (), weight)
        united.extend(max(usable, key=lambda choice: min(map(len, choice))))
    return Part(None, (frozenset(united),), weight)


def repeated(part: Part, lowest: int, highest: int | None) -> Part:
    """A quantified part. What may be absent requires nothing; what occurs once keeps its choices."""
    if lowest == 0:
        if highest == 1 and part.exact is not None:
            return Part(part.exact | {""})
        return ANYTHING
    if part.exact is not None and lowest == highest and len(part.exact) == 1 and lowest <= 64:
        return Part(frozenset({next(iter(part.exact)) * lowest}), (), part.weight * lowest)
    return Part(None, with_choices(part).choices, part.weight)

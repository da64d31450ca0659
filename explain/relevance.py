"""What of a record speaks of the very options that an error names.

Some records cover the checks of several options. What fixes the one that failed then comes first, whatever the
order in the record, and an example that is about others is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from explain.expressions import expression

# How a text names an option, and how its sentences end; for all that read advice.
FLAG = r"--[a-z][a-z0-9-]*[a-z0-9]"
VARIABLE = r"\b(?:SGLANG|SGL)_[A-Z0-9_]*[A-Z0-9]"
UNJOINED = r"(?<![\w-])"
"""Before an option: nothing that it would be the rest of."""
SENTENCE = r"(?<=[a-z`)\d])[.;:](?:\s|$)"

_FLAG = expression(rf"{UNJOINED}{FLAG}")
_WARNINGS = ("Do not", "Never")
_EVERYWHERE = frozenset({"model_path", "tp_size", "tp", "port", "host"})
"""What any launch command has."""
_VALUED = expression(rf"{UNJOINED}({FLAG})[ =](\d[\w.]*)")
_FIELD = expression(rf"{UNJOINED}([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\b")


def to_the_point(order: Sequence[int], text_of: Callable[[int], str], message: str) -> list[int]:
    """The solutions in their order, those first that name what the message names, where the first one does not.

    A first solution that names no option at all stands: it is not about another one.
    """
    named = _named(message)
    if not named or len(order) < 2:
        return list(order)
    asked = [_flags(text_of(index)) for index in order]
    if not asked[0] or asked[0] & named:
        return list(order)
    warns = {index for index in order if text_of(index).startswith(_WARNINGS)}
    fits = {index for index, flags in zip(order, asked, strict=True) if flags & named} - warns
    return [index for index in order if index in fits] + [index for index in order if index not in fits]


def is_beside_the_point(example: str, message: str) -> bool:
    """Whether an example is about other options than those that the message names; false where it names none."""
    named = _flags(message)
    shown = _flags(example)
    return bool(named and shown - _EVERYWHERE) and not shown & named


def says_otherwise(example: str, solutions: Sequence[str]) -> bool:
    """Whether an example gives an option another value than the solutions do, once figures of the log are in them."""
    after = example.rpartition("# after")[2]
    advised = {flag: value for text in reversed(solutions) for flag, value in _VALUED.findall(text)}
    return any(flag in advised and advised[flag] != value for flag, value in _VALUED.findall(after))


def _named(message: str) -> set[str]:
    return _flags(message) | set(_FIELD.findall(message))


def _flags(text: str) -> set[str]:
    return {flag.lstrip("-").replace("-", "_") for flag in _FLAG.findall(text)}

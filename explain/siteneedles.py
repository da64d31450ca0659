"""For each template the literal the scanner looks for: rare, safe in carriers, not in ordinary lines."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

from explain.expressions import expression
from explain.needles import LONGEST_NEEDLE, windows
from explain.ordinary import ORDINARY
from explain.templates import literal_length, parsed

SHORTEST = 6
TELLING = 2.0
"""A needle whose words together are less telling than this would fire on everything."""
TELLING_ALONE = 4.5
"""The same for a log message that starts with a value and has little else: no class and no start holds it."""
LITTLE = 16
MANY = 20_000
"""A small index is weighed as if it were this large: its words are not rarer for that."""

RUN = expression(r"[!#-%(-.0-;=?-\[\]-~]+(?: [!#-%(-.0-;=?-\[\]-~]+)*")
"""Printable ASCII without what JSON and HTML escaping rewrite, single blanks inside."""
WORD = expression(r"[A-Za-z0-9_]+")


def choose(templates: Sequence[str], logged: Sequence[bool], names: Iterable[str]) -> list[str]:
    """A needle for each template, "" where it has none that is rare enough.

    `logged` says which are log messages, known by their text alone. `names` are words that ordinary lines
    print with values: the server arguments.
    """
    ordinary = "\n".join((*ORDINARY, *(f"{name}= '{name}': --{name.replace('_', '-')}" for name in names)))
    runs = [_runs(template) for template in templates]
    counts: Counter[str] = Counter()
    for found in runs:
        counts.update({word.lower() for run in found for word in WORD.findall(run)})
    total = max(len(templates), MANY)
    weight = {word: math.log(total / (1 + count)) for word, count in counts.items()}
    return [
        _best(found, weight, ordinary, TELLING_ALONE if log and _bare(template) else TELLING)
        for found, template, log in zip(runs, templates, logged, strict=True)
    ]


def _bare(template: str) -> bool:
    """Whether the template starts with a value and has little fixed text."""
    parts = parsed(template)
    return bool(parts) and not isinstance(parts[0], str) and literal_length(template) < LITTLE


def _runs(template: str) -> list[str]:
    return [
        run.strip()
        for part in parsed(template)
        if isinstance(part, str)
        for run in RUN.findall(part)
        if len(run.strip()) >= SHORTEST
    ]


def _best(runs: Iterable[str], weight: dict[str, float], ordinary: str, telling: float) -> str:
    best = ""
    for run in runs:
        for window in _windows(run):
            words = {word.lower() for word in WORD.findall(window)}
            # A word that the window cuts is as telling as a new one of its length.
            # An exact sum: that of a set in its chance order is another one now and then, and so would the index be.
            score = math.fsum(min(weight.get(word, 9.0), 9.0) * min(len(word), 6) / 6 for word in words)
            if score > telling and window not in ordinary:
                best, telling = window, score
    return best


def _windows(run: str) -> Iterable[str]:
    """Pieces of a run: its end, which may begin within a word, and those of whole words."""
    if len(run) > LONGEST_NEEDLE:
        yield run[-LONGEST_NEEDLE:].strip()
    yield from (piece for piece in windows(run) if len(piece) >= SHORTEST)

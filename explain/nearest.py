"""Known messages that an unknown one is most like, with the parts marked in which they differ.

The notation is that of word-by-word differences: `[-words of the known message-]{+words of this log+}`; values
that the known message leaves open are shown as the log has them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from explain.expressions import expression
from explain.templates import Slot, parsed

if TYPE_CHECKING:
    from explain.catalogue import Catalogue
    from explain.sites import SiteIndex

MOST = 3
MOST_WORDS = 60
"""Words of a message that are compared; the rest of a long one says little about which message it is."""
FEWEST_SHARED = 3
"""Telling words that a record must share with the message."""
ALIKE = 0.6
"""A record of which less is in the message is not near it."""
_PIECE = expression(r"\s+|\w+|[^\w\s]")
_WORD = expression(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_VALUE = expression(r"[\d.,]+")
"""What differs from run to run and tells nothing."""
_OPEN = "\0"
"""Stands for a value that the known message leaves open."""


def nearest_words(
    sites: SiteIndex | None, catalogue: Catalogue, exception: str | None, message: str
) -> tuple[str, ...]:
    """The records and templates most like a message that none explains, each marked and with its name or place."""
    found = [
        f"{marked(text, message)} (record {slug})" for text, slug in _records(catalogue, exception, message)[: MOST - 1]
    ]
    if sites is not None:
        for number in sites.nearest(message):
            site = sites.site(number)
            found.append(f"{marked(site.template, message)} ({site.file}, {site.function})")
    return tuple(dict.fromkeys(found))[:MOST]


def _records(catalogue: Catalogue, exception: str | None, message: str) -> list[tuple[str, str]]:
    """(message, slug) of the records whose literal words the message shares most."""
    words = set(_WORD.findall(message[:2000]))
    if len(words) < FEWEST_SHARED:
        return []
    literals: dict[int, set[str]] = {}
    known: dict[str, int] = {}
    for needle, caseless, number in catalogue.needles():
        if not caseless:
            literals.setdefault(number, set()).update(_WORD.findall(needle))
    for wanted in literals.values():
        for word in wanted & words:
            known[word] = known.get(word, 0) + 1
    total = len(literals) + 1
    ranked: list[tuple[float, int]] = []
    for number, wanted in literals.items():
        shared = wanted & words
        if len(shared) < FEWEST_SHARED or len(shared) < ALIKE * len(wanted):
            continue
        weight = sum(math.log(total / known[word]) for word in shared)
        ranked.append((weight * len(shared) / len(wanted), number))
    ranked.sort(key=lambda one: (-one[0], one[1]))
    return list(_told(catalogue, [number for _, number in ranked[: 4 * MOST]], exception, message))


def _told(
    catalogue: Catalogue, numbers: Sequence[int], exception: str | None, message: str
) -> Iterator[tuple[str, str]]:
    for number in numbers:
        record = catalogue.record(number)
        text = str(record.raw.get("errorMessage") or "").strip()
        if exception and text.startswith(f"{exception}: "):
            text = text[len(exception) + 2 :]
        if text and likeness(text, message) >= ALIKE:
            yield text.replace("{", "{{").replace("}", "}}"), record.slug


def likeness(text: str, message: str) -> float:
    """How much of two messages is the same, word by word, from 0 to 1."""
    one, other = (_WORD.findall(part[:2000])[:MOST_WORDS] for part in (text, message))
    return SequenceMatcher(None, one, other, autojunk=False).ratio() if one and other else 0.0


def marked(template: str, message: str) -> str:
    """A template, filled from the message where it is open, marked where the message says something else."""
    old = [piece for part in parsed(template) for piece in ([_OPEN] if isinstance(part, Slot) else _pieces(part))]
    new = _pieces(message.split("\n")[0])
    if "\n" in template:
        new = _pieces(" ".join(message.split()))
        old = [" " if piece.isspace() else piece for piece in old]
    old, new = old[: 4 * MOST_WORDS], new[: 4 * MOST_WORDS]
    told: list[str] = []
    for step, left, left_end, right, right_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        here, there = "".join(old[left:left_end]), "".join(new[right:right_end])
        filled = here.strip(f"{_OPEN} ") == "" and here != ""
        if step == "equal" or filled or (_VALUE.fullmatch(here.strip()) and _VALUE.fullmatch(there.strip())):
            told.append(there)
            continue
        edges = (here, there) if here and there else (here or there,) * 2
        told.append(" " if any(edge[:1].isspace() for edge in edges) else "")
        told.append(f"[-{here.replace(_OPEN, '…').strip()}-]" if here.strip() else "")
        told.append(f"{{+{there.strip()}+}}" if there.strip() else "")
        told.append(" " if any(edge[-1:].isspace() for edge in edges) else "")
    return " ".join("".join(told).replace(_OPEN, "…").split())


def _pieces(text: str) -> list[str]:
    return _PIECE.findall(text)

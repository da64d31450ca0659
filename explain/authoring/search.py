"""Full-text search over the records: ranked, tolerant of typing errors, quick enough to need no index."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from explain.catalogue import Catalogue

WORD = re.compile(r"[^\W_]+")
FIELDS: tuple[tuple[str, float], ...] = (
    *(("title", 8.0), ("slug", 6.0), ("errorMessage", 6.0), ("tags", 5.0), ("errorClass", 5.0)),
    *(("messagePattern", 3.0), ("documentation", 2.0), ("triggerScenarios", 2.0), ("solutions", 2.0)),
    *(("commonSituations", 1.5), ("exampleFix", 1.5), ("preventionTips", 1.0), ("backgroundTag", 2.0)),
    *(("examples", 1.0), ("filePath", 2.0), ("references", 1.0), ("frames", 1.0)),
)
PROSE = 1.5
"""Fields of this weight and more lend their words to those who misspell them."""
WHOLE_WORD, WORD_START, INSIDE, MISSPELT = 1.0, 0.7, 0.12, 0.5
"""What an occurrence counts, by how it occurs."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A record that a search found. `number` is its number in the catalogue, higher scores are better."""

    number: int
    score: float


@dataclass(frozen=True, slots=True)
class _Text:
    """One record's fields in lower case, with their weights."""

    number: int
    fields: tuple[tuple[str, float], ...]

    @property
    def prose(self) -> str:
        """What people wrote: misspelt words are compared with its words."""
        return "\n".join(field for field, weight in self.fields if weight >= PROSE)


def search(catalogue: Catalogue, words: str, limit: int = 20) -> list[Hit]:
    """The records that fit the words, the best first.

    A record with all the words stands above one with some. A word that no record has is taken for the
    most similar ones that occur.
    """
    wanted = list(dict.fromkeys(WORD.findall(words.lower())))
    if not wanted:
        return []
    texts = [
        _Text(number, tuple(_fields(catalogue.raw(number), catalogue.area(number)))) for number in range(len(catalogue))
    ]
    found = [_scores(texts, word) for word in wanted]
    vocabulary: set[str] | None = None
    for position, word in enumerate(wanted):
        if found[position] or len(word) < 4:
            continue
        if vocabulary is None:
            vocabulary = set(WORD.findall("\n".join(text.prose for text in texts)))
        for similar in similar_words(word, vocabulary):
            for number, score in _scores(texts, similar).items():
                best = found[position].get(number, 0.0)
                found[position][number] = max(best, score * MISSPELT)
    return _ranked(found, len(texts))[:limit]


def _fields(raw: dict[str, Any], area: str) -> Iterable[tuple[str, float]]:
    yield area.lower(), 4.0
    for name, weight in FIELDS:
        value = raw.get(name)
        if value:
            yield (value if isinstance(value, str) else _joined(value)).lower(), weight


def _joined(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(map(_joined, value))
    return str(value)


def _scores(texts: Sequence[_Text], word: str) -> dict[int, float]:
    """For each record with the word, how much it says about it."""
    whole = re.compile(rf"(?<![^\W_]){re.escape(word)}(?P<end>[^\W_]*)")
    scores: dict[int, float] = {}
    for text in texts:
        score = 0.0
        for field, weight in text.fields:
            count = field.count(word)
            if not count:
                continue
            best = INSIDE
            for match in whole.finditer(field):
                best = max(best, WORD_START if match["end"] else WHOLE_WORD)
                if best == WHOLE_WORD:
                    break
            score += weight * best * (1 + 0.2 * min(count - 1, 3))
        if score:
            scores[text.number] = score
    return scores


def _ranked(found: Sequence[dict[int, float]], records: int) -> list[Hit]:
    """Rare words count more; a record is held back by the words it lacks."""
    rarities = [math.log(1 + records / (1 + len(scores))) for scores in found]
    totals: dict[int, float] = {}
    covered: dict[int, float] = {}
    for scores, rarity in zip(found, rarities, strict=True):
        for number, score in scores.items():
            totals[number] = totals.get(number, 0.0) + score * rarity
            covered[number] = covered.get(number, 0.0) + rarity
    wanted = sum(rarities)
    hits = [Hit(number, round(total * (covered[number] / wanted) ** 3, 3)) for number, total in totals.items()]
    return sorted(hits, key=lambda hit: (-hit.score, hit.number))


def similar_words(word: str, vocabulary: Iterable[str], most: int = 5) -> list[str]:
    """Words of the vocabulary that differ by one typing error, or two in a long word; the nearest first."""
    allowed = 1 if len(word) < 6 else 2
    pairs = {word[i : i + 2] for i in range(len(word) - 1)}
    near: list[tuple[int, int, str]] = []
    for other in vocabulary:
        if abs(len(other) - len(word)) > allowed:
            continue
        shared = sum(pair in other for pair in pairs)
        # One error spoils at most three pairs of neighbours.
        if shared < len(pairs) - 3 * allowed:
            continue
        distance = typing_errors(word, other, allowed)
        if distance <= allowed:
            near.append((distance, other[0] != word[0], other))
    return [other for _, _, other in sorted(near)[:most]]


def typing_errors(one: str, other: str, most: int) -> int:
    """Letters to change, add, drop or swap with a neighbour to get the other word; at most `most` + 1."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        previous, row, before = row, [i], row if i == 1 else before
        for j, b in enumerate(other, 1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and b == one[i - 2]:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before = previous
    return min(row[-1], most + 1)

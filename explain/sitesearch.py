"""Looking through a whole site index: the templates nearest to a message, and what `show` asks for.

Nothing here is needed for a log that the index explains: it reads the whole index, in a tenth of a second.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from explain.expressions import expression
from explain.scanner import build_scanner
from explain.sitefacts import identity
from explain.sitepack import SitePack
from explain.templates import anonymous, match, parsed, unquoted

WORD = expression(r"[A-Za-z_][A-Za-z0-9_]{2,}")
MOST_WORDS = 40
CANDIDATES = 40
COMMON = 4000
"""So many places of a word are looked at; a word with nearly as many does not lead to a template."""
ALIKE = 0.45
"""A template that shares less than this of the telling words with a message is not near it."""
PLACE = expression(r"(?P<file>[\w./\\-]+\.py)(?::(?P<line>\d+))?(?::(?P<function>\w+))?")
IDENTITY = expression(r"[0-9a-f]{8,16}")
NEARBY = 12
"""Lines between a place that is asked for and a site that is shown for it."""


def nearest(pack: SitePack, message: str, limit: int) -> list[tuple[float, int]]:
    """(likeness from 0 to 1, row) of the templates whose words the message shares, the most alike first."""
    words = list(dict.fromkeys(word for word in WORD.findall(message[:2000])))[:MOST_WORDS]
    if not words or not len(pack):
        return []
    text, ends = _joined(pack)
    weights: dict[str, float] = {}
    scores: Counter[int] = Counter()
    places: list[list[int]] = [[] for _ in words]
    # All words in one pass: one by one they take ten times as long.
    for number, end in build_scanner([(word.encode(), False) for word in words], None).find(text):
        if len(places[number]) < COMMON:
            places[number].append(end)
    for word, hits in zip(words, places, strict=True):
        found = {bisect_left(ends, end - 1) for end in hits}
        weights[word] = 0.1 + math.log((len(pack) + 1) / (1 + len(found)))
        if len(found) < COMMON // 2:
            for row in found:
                scores[row] += weights[word]  # type: ignore[assignment]
    ranked: list[tuple[float, int]] = []
    for row, _ in scores.most_common(CANDIDATES):
        likeness = _likeness(pack.entry(row).get("text", ""), weights)
        if likeness >= ALIKE:
            ranked.append((likeness, row))
    ranked.sort(key=lambda one: (-one[0], one[1]))
    distinct: dict[str, tuple[float, int]] = {}
    for likeness, row in ranked:
        distinct.setdefault(anonymous(pack.entry(row)["text"]), (likeness, row))
    return list(distinct.values())[:limit]


@lru_cache(maxsize=2)
def _joined(pack: SitePack) -> tuple[bytes, list[int]]:
    """All templates as one text, a line each, and where each ends."""
    text = b"\n".join(pack.blocks())
    return text, [end.start() for end in re.finditer(b"\n", text)]


def _likeness(text: str, weights: dict[str, float]) -> float:
    literal = {word for part in parsed(text) if isinstance(part, str) for word in WORD.findall(part)}
    typical = sum(weights.values()) / len(weights)
    said = sum(weights.get(word, typical) for word in literal)
    common = sum(weight for word, weight in weights.items() if word in literal)
    alone = sum(weight for word, weight in weights.items() if word not in literal)
    return common / (said + 0.3 * alone) if said else 0.0


def find(pack: SitePack, text: str) -> list[int]:
    """The rows that an id (or its start), `file.py:123`, a function, or a message means; the best first."""
    asked = text.strip()
    if IDENTITY.fullmatch(asked):
        found = [row for row, entry in _entries(pack) if identity(entry).startswith(asked)]
        if found:
            return found
    if place := PLACE.fullmatch(asked):
        return _at_place(pack, place["file"].replace("\\", "/"), place["line"], place["function"])
    if re.fullmatch(r"\w+", asked):
        return [row for row, entry in _entries(pack) if any(site[1] == asked for site in entry["sites"])]
    return _by_message(pack, asked)


def _entries(pack: SitePack) -> Iterator[tuple[int, dict[str, Any]]]:
    import orjson

    for row, line in enumerate(pack.lines()):
        yield row, orjson.loads(line)


def _at_place(pack: SitePack, file: str, line: str | None, function: str | None) -> list[int]:
    found: list[tuple[int, int]] = []
    for row, entry in _entries(pack):
        for site in entry["sites"]:
            if site[0] != file and not site[0].endswith("/" + file):
                continue
            if function is not None and site[1] != function:
                continue
            away = abs(site[2] - int(line)) if line else 0
            if away <= NEARBY:
                found.append((away, row))
                break
    found.sort()
    closest = found[0][0] if found and line else NEARBY
    return [row for away, row in found if away <= max(closest, 0) or not line]


def _by_message(pack: SitePack, message: str) -> list[int]:
    """The templates that the message, or what follows `Class: ` in it, is; more fixed text first."""
    exception, _, rest = message.partition(": ")
    texts = [message, rest] if re.fullmatch(r"[A-Za-z_][\w.]*", exception) and rest else [message]
    found: list[tuple[int, int]] = []
    for row, needle in enumerate(pack.needles):
        if not needle or needle not in message:
            continue
        template = pack.entry(row).get("text", "")
        if any(match(template, unquoted(text), whole=False) is not None for text in texts):
            found.append((-pack.lengths[row], row))
    return [row for _, row in sorted(found)]

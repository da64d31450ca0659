"""Which SGLang release wrote a log. No log prints it, but much in it changes from release to release.

Three kinds of evidence, the strongest first: the names of the server arguments, the lines of tracebacks, the
wording of messages. An exact release is only said where the server arguments leave no other; everything
else is a range, and no answer is better than a wrong one. Images and checkouts are often built between two
releases and call themselves after the older one, so lines and wordings that fit one release also speak for
the one before it, and for all its post-releases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

from explain.agreement import sglang_path
from explain.expressions import expression
from explain.linehistory import Mark
from explain.linetracks import distances
from explain.model import Frame
from explain.releaseshapes import COMPOSED, SHAPES
from explain.sitefacts import release_numbers
from explain.sitepack import SitePack, shipped_pack
from explain.sites import code_hash
from explain.templates import match
from explain.values import dataclass

Releases = frozenset[int]
FEWEST_FIELDS = 30
"""A shorter list of server arguments is a fragment that says nothing."""
WHOLE_FIELDS = 60
"""A list of server arguments that long was not cut."""
FARTHEST = 200
MOST_MESSAGES = 400
MOST_FRAMES = 12
"""The deepest frames are read; each file costs some milliseconds."""
START = 12
"""A wording is looked up by its first characters."""
PREFIX = expression(r"\[\d{4}-\d\d-\d\d [^\]]*\] ?")
OPTIONAL_TAIL = expression(r", (?:est\. .*|fwd occupancy: .*|\{\})$")
"""What batch lines end in only where a setting asks for it; the index has each line with all its parts."""
OLDEST = "0.1.3"
"""The first release there was: what is older than the index cannot be told from its oldest."""
STATED = expression(r"lmsysorg/sglang:v(?P<image>\d[\w.]*)|^sglang: (?P<told>\d[\w.]*)$")
"""Where a release stands in so many words: an image's tag, the report of `sglang.check_env`."""
SAYS_ALL = 0.6
"""A range with more than this share of all releases says nothing."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Releases that something in the log fits. `exact` evidence names them without their neighbours."""

    releases: Releases
    text: str
    exact: bool


def infer(
    server_args_fields: Sequence[str] | None,
    frames: Sequence[Frame] | Callable[[], Sequence[Frame]],
    messages: Sequence[str],
    pack: SitePack | None = None,
) -> tuple[str | None, tuple[str, ...]]:
    """(`0.5.10`, or `0.5.6 to 0.5.9`, or None; the evidence in sentences).

    `server_args_fields` are the names of a `server_args=` line, in order, cut or whole; `frames` those of
    all tracebacks; `messages` what the log's lines say. The releases are those of the shipped index, or of
    `pack`. Frames that are given as a function are asked for only where names and wordings do not settle the
    release: to look up where each line stood takes most of the time.
    """
    finder = _finder(pack)
    if finder.empty:
        return None, ()
    stated, wording = finder.by_statement(messages), finder.by_messages(messages)
    names = finder.by_fields(server_args_fields or ())
    if callable(frames):
        release, sentences = _agreed(finder, (stated, names, wording))
        first, _, last = (release or "").partition(" to ")
        whole = len(server_args_fields or ()) >= WHOLE_FIELDS
        if release and whole and (not last or last.startswith(f"{first}.")):
            return release, sentences
        frames = frames()
    return _agreed(finder, (stated, names, finder.by_frames(frames), wording))


def _agreed(finder: Finder, found: Iterable[Evidence | None]) -> tuple[str | None, tuple[str, ...]]:
    """What all evidence says together; what contradicts stronger evidence is left out."""
    evidence = sorted((one for one in found if one is not None), key=lambda one: not one.exact)
    releases: Releases | None = None
    sentences: list[str] = []
    for one in evidence:
        both = one.releases if releases is None else releases & one.releases
        if not both:
            continue
        releases = both
        sentences.append(one.text)
    if releases is None:
        return None, ()
    release = finder.named(releases)
    return release, tuple(sentences) if release is not None else ()


@lru_cache(maxsize=4)
def _finder(pack: SitePack | None) -> Finder:
    return Finder(pack if pack is not None else shipped_pack())


class Finder:
    """Knows the releases of one index."""

    def __init__(self, pack: SitePack) -> None:
        self._pack = pack
        self._versions = pack.versions
        self._order = pack.order
        self.empty = not pack.versions

    def named(self, releases: Releases) -> str | None:
        """The releases in words; None where they are nearly all."""
        first, last = min(releases), max(releases)
        if last - first + 1 > SAYS_ALL * len(self._versions):
            return None
        if first == 0 and last:
            return f"{OLDEST} to {self._versions[last]}"
        return self._span(first, last)

    def _around(self, releases: Releases) -> Releases:
        """The releases with the ones that a build which fits them may call itself after."""
        bases = [version.partition(".post")[0] for version in self._versions]
        first = bases.index(bases[min(releases)])
        first = bases.index(bases[first - 1]) if first else 0
        last = len(bases) - 1 - bases[::-1].index(bases[max(releases)])
        return frozenset(range(first, last + 1))

    def _span(self, first: int, last: int) -> str:
        low, high = self._versions[first], self._versions[last]
        return low if first == last else f"{low} to {high}"

    def _spanned(self, releases: Releases) -> str:
        return self._span(min(releases), max(releases))

    # ----------------------------------------------------------------------------------- statements

    def by_statement(self, messages: Sequence[str]) -> Evidence | None:
        """From what the log calls the release, where all of it names one that is known."""
        stated = [found for message in messages if "sglang:" in message and (found := STATED.search(message))]
        versions = {self._order.get(found["image"] or found["told"]) for found in stated}
        number = versions.pop() if len(versions) == 1 else None
        if number is None:
            return None
        return Evidence(frozenset({number}), f"the log says “{stated[0][0]}”", True)

    # ----------------------------------------------------------------------------------- server arguments

    def by_fields(self, names: Sequence[str]) -> Evidence | None:
        """From the server arguments: the releases with exactly these, else those next to the log's build."""
        given = set(names)
        if len(given) < FEWEST_FIELDS:
            return None
        known, shared = self._fields_like(given)
        releases = [number for number, count in enumerate(known) if count]
        same = frozenset(number for number in releases if known[number] == shared[number] == len(given))
        if same:
            text = f"the log lists {len(given)} server arguments, as {self._spanned(same)} does"
            return Evidence(same, text, True)
        if not releases:
            return None
        apart = {number: known[number] + len(given) - 2 * shared[number] for number in releases}
        best = min(apart, key=lambda number: (apart[number], number))
        within = frozenset(number for number in releases if shared[number] == len(given))
        if within and apart[best] > 8:
            text = f"{self._spanned(within)} have the {len(given)} server arguments of the cut line"
            return Evidence(self._around(within), text, False)
        if apart[best] > 12:
            return None
        near = self._around(frozenset({best, min(best + (shared[best] < len(given)), max(releases))}))
        text = f"the server arguments are nearly those of {self._versions[best]} ({apart[best]} differ)"
        return Evidence(near, text, False)

    def _fields_like(self, given: set[str]) -> tuple[list[int], list[int]]:
        """For each release, how many server arguments it has, and how many of them are among those given."""
        # Most arguments share their releases with others: a run of releases is counted through once for all of them.
        counts: dict[str, list[int]] = {}
        for name, releases in self._pack.fields.items():
            count = counts.setdefault(releases, [0, 0])
            count[0] += 1
            count[1] += name in given
        known, shared = [0] * len(self._versions), [0] * len(self._versions)
        for releases, (all_of_them, among_given) in counts.items():
            for number in release_numbers(releases, self._order):
                known[number] += all_of_them
                shared[number] += among_given
        return known, shared

    # ----------------------------------------------------------------------------------- tracebacks

    def by_frames(self, frames: Iterable[Frame]) -> Evidence | None:
        """From file, line number and code line: the releases in which all of them stand there, else those
        in which they stand nearest."""
        known: dict[tuple[str, int], str] = {}
        for frame in reversed(list(frames)):
            path = sglang_path(frame.file)
            if path is None or not frame.code or "(" not in frame.code or frame.line < 1:
                continue
            if self._pack.is_followed(path):
                known[path, frame.line] = code_hash(frame.code)[:3]
            if len(known) == MOST_FRAMES:
                break
        if not known:
            return None
        wanted: dict[str, list[Mark]] = {}
        for (path, line), digits in known.items():
            wanted.setdefault(path, []).append((line, digits))
        hits: dict[int, int] = {}
        distance: dict[int, int] = {}
        for path, marks in wanted.items():
            for releases, away in distances(self._pack.history_of(path), marks):
                hit = away.count(0)
                closeness = sum(max(FARTHEST - lines, 0) for lines in away if lines is not None)
                for number in release_numbers(releases, self._order):
                    hits[number] = hits.get(number, 0) + hit
                    distance[number] = distance.get(number, 0) - closeness
        most = max(hits.values())
        full = frozenset(number for number, count in hits.items() if count == most)
        if most == len(known):
            lines = f"the {most} lines of the tracebacks stand" if most > 1 else "the traceback's line stands"
            return Evidence(self._around(full), f"{lines} where {self._spanned(full)} has them", False)
        nearest = min(distance.values())
        mean = nearest / len(known) + FARTHEST
        if mean > FARTHEST / 2:
            return None
        slack = max(2 * len(known), (nearest + FARTHEST * len(known)) // 4)
        near = [number for number, away in distance.items() if away <= nearest + slack]
        text = f"the lines of the tracebacks stand near where {self._span(min(near), max(near))} has them"
        return Evidence(self._around(frozenset(near)), text, False)

    # ----------------------------------------------------------------------------------- messages

    def by_messages(self, messages: Sequence[str]) -> Evidence | None:
        """From the wording of messages: the releases that have the most of them."""
        distinct = list({message[:60]: message for message in messages}.values())[:MOST_MESSAGES]
        found = [shape for message in distinct for shape in self._shapes(message)]
        shaped = bool(found)
        texts = [PREFIX.sub("", message, count=1) for message in distinct]
        wordings = self._wordings({text[:START] for text in texts})
        for text in texts:
            if text.startswith(COMPOSED):
                continue
            fitting = (
                numbers
                for template, numbers in wordings.get(text[:START], ())
                if match(template, text, whole=False) is not None
            )
            releases: Releases = frozenset(number for numbers in fitting for number in numbers)
            if releases:
                found.append((releases, text[:60]))
        if len(found) < 2 and not shaped:
            return None  # one wording may come from another program or a branch
        everywhere = range(len(self._versions))
        counts = {number: sum(number in numbers for numbers, _ in found) for number in everywhere}
        most = max(counts.values())
        best = frozenset(number for number, count in counts.items() if count == most)
        if most < 0.8 * len(found):
            return None
        telling = sorted((numbers for numbers, _ in found), key=len)[0]
        said = next(text for numbers, text in found if numbers is telling)
        return Evidence(self._around(best), f"{self._spanned(telling)} print “{said.strip()}”", False)

    def _shapes(self, message: str) -> list[tuple[Releases, str]]:
        found: list[tuple[Releases, str]] = []
        for part, pattern, first, last in SHAPES:
            hit = pattern.search(message) if part in message else None
            if hit is None:
                continue
            low = self._order.get(first, 0) if first else 0
            high = self._last(last) if last else len(self._versions) - 1
            found.append((frozenset(range(low, high + 1)), hit[0]))
        return found

    def _last(self, version: str) -> int:
        """The number of a release or of its last post-release."""
        post = f"{version}.post"
        return max((n for v, n in self._order.items() if v == version or v.startswith(post)), default=-1)

    def _wordings(self, starts: set[str]) -> Mapping[str, list[tuple[str, Releases]]]:
        """The log templates that start like this, and their releases."""
        found: dict[str, list[tuple[str, Releases]]] = {}
        for template, releases in self._pack.shapes(starts):
            numbers = frozenset(release_numbers(releases, self._order))
            if template.startswith(("Prefill batch", "Decode batch")):
                template = OPTIONAL_TAIL.sub("", template)
            found.setdefault(template[:START], []).append((template.replace("\\n", "\n"), numbers))
        return found

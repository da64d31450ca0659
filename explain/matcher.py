"""Event -> Match: candidates from the scanner, confirmed with `regex`, ranked.

Candidates are looked for in the event's own text, so that what a carrier, a wrap or an escape hid in the raw
bytes is found all the same.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from explain.agreement import class_agrees, file_names, frames_agree, nearness, sglang_path
from explain.bounds import CAPTURE, within
from explain.expressions import expression
from explain.model import Event, Match, SiteInfo
from explain.owners import Owners, cached_owners
from explain.pattern import WITHOUT_DIGITS
from explain.roles import GENERIC
from explain.scanner import Scanner, build_scanner, scan_key, unique_literals
from explain.values import dataclass, replace

if TYPE_CHECKING:
    import regex

    from explain.catalogue import Catalogue
    from explain.sites import SiteIndex

MEMORY = 20_000
"""Distinct event texts whose match is remembered."""
_BRIEF = 256
_NO_EVENT = Event("message", 0, 0, 0, None, None, None, "", "")
_SCANNED = 64 * 1024
_HEAD = 4
_CLASS_AGREES = 12.0
_FRAME_AGREES = 25.0
_AT_START = 10.0
_IN_PASSING = 15.0
"""What a match loses in the middle of a log message, which has words of its own before it."""
_QUOTES = expression(
    r"(?:(?:[Ee]rror|ERROR|Exception|exception|failed|what\(\)|error=|\])[:=\"'(\] ]*|[:=] \w+\([\"'])$"
)
_PYTHONS_OWN = expression(r"' object has no attribute '")
_WRITTEN = 1_000.0
_MESSAGE_ONLY_LITERAL = 8
"""A record with a class that meets a line without one must match at least so many characters."""
_CATCH_ALL_LITERAL = 4
"""A record without a class that fixes fewer characters takes whatever its frames lead to."""
_CATCH_ALL = 4.0


@dataclass(frozen=True, slots=True)
class _Candidate:
    score: float
    record: int | None
    template: int | None
    captures: Mapping[str, str]
    sure: bool


class Matcher:
    """Knows all literals of the catalogue and of the site index; matches events one by one.

    `scanner` serves raw blocks and events alike. The memory is bounded; the same text, class and place give
    the same match.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        sites: SiteIndex | None,
        *,
        force_scanner: str | None = None,
    ) -> None:
        self.catalogue = catalogue
        self.sites = sites
        key = f"{catalogue.digest} {sites.digest if sites is not None else ''}"
        self._owners = cached_owners(scan_key(key), lambda: self._literals[1])
        self.scanner: Scanner = build_scanner(lambda: self._literals[0], key, force=force_scanner)
        self._by_frames = frozenset(catalogue.without_needle())
        self._by_file: dict[str, list[int]] = {}
        for number in sorted(self._by_frames):
            for file in file_names(catalogue.facts(number)[1]):
                self._by_file.setdefault(file, []).append(number)
        self._led_by = lru_cache(maxsize=4096)(self._records_of)
        self._memory: OrderedDict[tuple[object, ...], Match] = OrderedDict()

    @cached_property
    def _literals(self) -> tuple[Sequence[tuple[bytes, bool]], Owners]:
        """All literals and who asked for them. Not asked for where a scan of them is kept in the cache."""
        groups: list[tuple[str, Sequence[tuple[str, bool, int]]]] = [("record", self.catalogue.needles())]
        if self.sites is not None:
            groups.append(("site", self.sites.needles()))
        return unique_literals(groups)

    def match(self, event: Event, *, all_records: bool = False) -> Match:
        """What is known of `event`. `all_records` tries every record (the oracle of the tests)."""
        key = _memory_key(event)
        if not all_records and (known := self._memory.get(key)) is not None:
            self._memory.move_to_end(key)
            return _of_event(known, event)
        found = self._match(event, all_records)
        if not all_records:
            # Without its event: the texts of thousands of events must not stay.
            self._memory[key] = _of_event(found, _NO_EVENT)
            if len(self._memory) > MEMORY:
                self._memory.popitem(last=False)
        return found

    def forget(self) -> None:
        """Empties the memory of events that were matched before."""
        self._memory.clear()

    def digits_matter(self, event: Event) -> bool:
        """Whether another text with other digits in it might match something else.

        True where a candidate's pattern names a digit and finds the rest of what it needs, or where a literal with
        digits could appear.
        """
        texts = variants(event)
        records, templates = self._candidates(event, texts)
        bare = "\n".join((*texts, event.text, _folded(event.text))).translate(WITHOUT_DIGITS)
        patterns = map(self.catalogue.pattern, records)
        if any(_names_digit(pattern.text) and pattern.could_match(bare) for pattern in patterns):
            return True
        if self.sites is not None and any(_names_digit(self.sites.template(number)) for number in templates):
            return True
        return self.digits_could_tell(event.text)

    def digits_could_tell(self, text: str) -> bool:
        """Whether other digits in `text` might make one of our literals."""
        bare = text.translate(WITHOUT_DIGITS)
        short, long = self._digit_literals
        if any(literal in bare for literal in short):
            return True
        found = {bare[start : start + _HEAD] for start in range(len(bare))} & long.keys()
        return any(literal in bare for head in found for literal in long[head])

    @cached_property
    def _digit_literals(self) -> tuple[tuple[str, ...], dict[str, list[str]]]:
        """Literals that hold digits, without them: where one of these stands, digits could make the literal.

        The short ones, and the others by their first characters.
        """
        bare = {(literal, literal.translate(None, b"0123456789")) for literal, _ in self._literals[0]}
        texts = sorted({text.decode() for literal, text in bare if text and text != literal})
        long: dict[str, list[str]] = {}
        for text in texts:
            if len(text) >= _HEAD:
                long.setdefault(text[:_HEAD], []).append(text)
        return tuple(text for text in texts if len(text) < _HEAD), long

    # ------------------------------------------------------------------ candidates

    def _match(self, event: Event, all_records: bool) -> Match:
        texts = variants(event)
        records, templates = self._candidates(event, texts)
        if all_records:
            records = list(range(len(self.catalogue)))
        found = [one for number in records if (one := self._confirm_record(number, event, texts))]
        if self.sites is not None:
            found.extend(self._confirm_sites(event, texts, templates))
        if not found:
            return Match(event, None, None, {}, 0.0)
        found.sort(key=lambda one: -one.score)
        return self._best(event, found)

    def _candidates(self, event: Event, texts: Sequence[str]) -> tuple[list[int], list[int]]:
        scanned = "\n".join((*texts, event.text))[: 2 * _SCANNED]
        found = {number for number, _ in self.scanner.find(scanned.encode("utf-8", "replace"))}
        records, templates = self._owners.split(found)
        records.update(self._framed(event))
        return sorted(records), sorted(templates)

    def _framed(self, event: Event) -> list[int]:
        """Records that class and frames alone lead to, by the names of the files on the traceback."""
        found = list(self._by_file.get("", ()))
        for file in {frame.file for frame in event.frames}:
            found.extend(self._led_by(file))
        return found

    def _records_of(self, file: str) -> list[int]:
        """Records that a file on the traceback leads to, by the names in its path."""
        return [number for name in self._by_file.keys() & set(file.split("/")) for number in self._by_file[name]]

    # ------------------------------------------------------------------ records

    def _confirm_record(self, number: int, event: Event, texts: Sequence[str]) -> _Candidate | None:
        error_class, frames = self.catalogue.facts(number)
        agrees = class_agrees(error_class, event.exception)
        if error_class and event.exception and not agrees:
            return None
        weight = self.catalogue.pattern(number).weight
        catch_all = bool(frames) and not error_class and weight < _CATCH_ALL_LITERAL
        place = 0.0
        if frames:
            place = nearness(frames, event.frames) if catch_all else frames_agree(frames, event.frames)
        framed = place > 0
        if frames and not framed and (event.frames or number in self._by_frames):
            return None
        found = self._search(number, event, texts)
        if found is None:
            return None
        literal = min(weight, found.end() - found.start())
        if error_class and not event.exception and literal < _MESSAGE_ONLY_LITERAL:
            return None
        if not literal and not framed and number in self._by_frames and not (agrees and found.re.pattern):
            return None
        if event.exception is None and not self._told_there(number, found):
            return None
        if catch_all:
            # Any record that knows the words of the error knows it better; of two that do not, the nearer place.
            score = _WRITTEN + _CATCH_ALL + place
        else:
            score = _WRITTEN + literal + _CLASS_AGREES * agrees
            # Frames that are asked for and cannot be seen speak against a record that asks for them.
            score += _FRAME_AGREES * framed - _FRAME_AGREES * (bool(frames) and not framed)
            score += _AT_START if found.start() == 0 else -_IN_PASSING * (event.exception is None)
        captures = {name: within(value, CAPTURE) for name, value in found.groupdict().items() if value is not None}
        return _Candidate(score, number, None, captures, agrees or framed > 0 or literal >= 16)

    def score_of(self, number: int, event: Event) -> float | None:
        """What a record would score on an event; None where it does not match it."""
        found = self._confirm_record(number, event, variants(event))
        return found.score if found is not None else None

    def _told_there(self, number: int, found: regex.Match[str]) -> bool:
        """Whether a record of an exception may be meant by a log message that holds its text.

        A message may quote an exception (`Error: …`), or be one whose class was cut off; in the middle of a
        sentence of its own it only speaks of one.
        """
        if self.catalogue.record(number).error_type != "exception" or found.start() == 0:
            return True
        return bool(_QUOTES.search(found.string[max(found.start() - 80, 0) : found.start()]))

    def _search(self, number: int, event: Event, texts: Sequence[str]) -> regex.Match[str] | None:
        pattern = self.catalogue.pattern(number)
        before = pattern.timeouts
        for text in texts:
            if (found := pattern.search(text)) is not None:
                return found
            if pattern.timeouts > before:
                return None  # too slow: the other forms of the same text take as long
        if event.kind != "traceback" and event.text.strip() != event.message:
            # The lines behind a message may complete it, but the match has to begin in the message itself.
            for text, own in ((event.text, event.message), (_folded(event.text), _folded(event.message))):
                found = pattern.search(text)
                if found is not None and (found.start() < len(own) or event.kind == "native"):
                    return found
        return None

    # ------------------------------------------------------------------ sites

    def _confirm_sites(self, event: Event, texts: Sequence[str], templates: Iterable[int]) -> list[_Candidate]:
        assert self.sites is not None
        found: list[_Candidate] = []
        deepest = event.frames[-1].file if event.kind == "traceback" and event.frames else None
        if deepest is not None and sglang_path(deepest) is None and not deepest.startswith("..."):
            return found  # another package raised it, whatever SGLang's own texts are like
        here = self._templates_at(event)
        # What Python itself says of a missing attribute, SGLang may say too: only the place tells them apart.
        anywhere = () if _PYTHONS_OWN.search(event.message) else templates
        for number in dict.fromkeys([*here, *anywhere]):
            captures = self._confirm_site(number, event, number in here)
            if captures is None:
                continue
            framed = number in here
            score = float(self.sites.literal_length(number)) + _FRAME_AGREES * 2 * framed
            found.append(_Candidate(score, None, number, captures, framed))
        return found

    def _confirm_site(self, number: int, event: Event, framed: bool) -> Mapping[str, str] | None:
        assert self.sites is not None
        if event.inside:
            return None
        for message in dict.fromkeys((event.message, _paragraph(event.message), _first_line(event.message))):
            captures = self.sites.confirm(number, event.exception, message)
            if captures is None and event.exception and not event.frames:
                # A log message may begin like an exception: `Warning: …`.
                captures = self.sites.confirm(number, None, f"{event.exception}: {message}")
            if captures is not None:
                return {name: within(value, CAPTURE) for name, value in captures.items()}
        return None

    def _templates_at(self, event: Event) -> dict[int, None]:
        """Templates of the functions on the traceback, the deepest SGLang frames first."""
        assert self.sites is not None
        found: dict[int, None] = {}
        looked = 0
        for frame in reversed(event.frames):
            file = sglang_path(frame.file)
            if file is None:
                continue
            for number in self.sites.at_frame(file, frame.function, event.exception, frame.code):
                found.setdefault(number)
            looked += 1
            if looked == 3:
                break
        return found

    # ------------------------------------------------------------------ the answer

    def _particular(self, found: Sequence[_Candidate]) -> _Candidate:
        """The best candidate; where that is the record of a whole class of errors, the best one of one error."""
        records = [one for one in found if one.record is not None]
        if len(records) > 1 and records[0] is found[0]:
            return next((one for one in records if not self._generic(one)), found[0])
        return found[0]

    def _generic(self, candidate: _Candidate) -> bool:
        return candidate.record is not None and GENERIC in self.catalogue.record(candidate.record).tags

    def _best(self, event: Event, found: Sequence[_Candidate]) -> Match:
        best = self._particular(found)
        record = self.catalogue.record(best.record) if best.record is not None else None
        others = [
            self.catalogue.record(one.record).id
            for one in found
            if one.record is not None and (record is None or one.record != best.record)
        ]
        template = next((one for one in found if one.template is not None), None)
        site = self._site(event, template)
        confidence = _confidence(event, best)
        return Match(event, record, site, best.captures, confidence, best.score, tuple(dict.fromkeys(others)))

    def _site(self, event: Event, candidate: _Candidate | None) -> SiteInfo | None:
        if candidate is None or candidate.template is None or self.sites is None:
            return None
        frames = [replace(frame, file=path) for frame in event.frames if (path := sglang_path(frame.file))]
        return self.sites.site(candidate.template, frames)


def _of_event(match: Match, event: Event) -> Match:
    return Match(event, match.record, match.site, match.captures, match.confidence, match.score, match.also, match.near)


_NO_DIGIT = expression(r"\{\d*,?\d*\}|\\[dDpux]|0-9|\(\?P?<\w+>")


def _names_digit(pattern: str) -> bool:
    """Whether a pattern asks for a certain digit (quantifiers and classes of digits do not)."""
    return any(map(str.isdigit, _NO_DIGIT.sub("", pattern)))


def _confidence(event: Event, best: _Candidate) -> float:
    """How sure the match is, 0 to 1: agreement of class or frame, and how much of the text was literal."""
    base = 0.6 if best.sure else 0.4
    literal = best.score - (_WRITTEN if best.record is not None else 0.0)
    return round(min(base + min(literal, 60.0) / 150.0, 0.99), 2)


def _memory_key(event: Event) -> tuple[object, ...]:
    return (
        event.kind,
        event.exception,
        _brief(event.message),
        _brief(event.text) if event.kind != "traceback" else None,
        event.inside,
        tuple((frame.file, frame.line, frame.function) for frame in event.frames),
    )


def _brief(text: str) -> str | bytes:
    """The text itself, or what stands for a long one."""
    return text if len(text) <= _BRIEF else blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def variants(event: Event) -> tuple[str, ...]:
    """The texts a record's pattern is searched in, in order: message, `Class: message`, folded."""
    message = event.message
    texts = [message]
    if event.exception:
        texts.append(f"{event.exception}: {message}" if message else event.exception)
    folded = _folded(message)
    if folded != message:
        texts.append(folded)
        if event.exception:
            texts.append(f"{event.exception}: {folded}")
    return tuple(dict.fromkeys(text[:_SCANNED] for text in texts))


def _folded(text: str) -> str:
    return " ".join(text.split())


def _paragraph(message: str) -> str:
    return message.partition("\n\n")[0].rstrip()


def _first_line(message: str) -> str:
    return message.partition("\n")[0].rstrip()

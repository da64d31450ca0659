"""The site index: which place in SGLang's source printed this, in which releases it exists.

`SiteIndex.load()` costs a millisecond; each look-up reads what it needs. Templates are numbered; a number is
good for one index only, an id for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

from explain.digest import digest_of
from explain.expressions import expression
from explain.model import Frame, SiteInfo
from explain.sitefacts import SitePlace, best_place, gaps, group, identity, lineage, places, same_file
from explain.sitepack import SitePack, empty_pack, shipped_pack
from explain.templates import match, unquoted

STATUS = expression(r"\d{3}: ")
SHORTEST_LOG = 8
"""A log template with fewer fixed characters is not recognised by its text alone."""


def code_hash(line: str) -> str:
    """Eight hex digits for a source line, blanks left out, as the index holds them."""
    from hashlib import sha1

    return sha1("".join(line.split()).encode()).hexdigest()[:8]


OWN_TEXT = 40
"""A message with so many fixed characters is one check's alone, wherever it stands."""


class SiteIndex:
    """Every error site of every release of SGLang that was harvested.

    Several packs may be joined (`with_pack`): the shipped one, and that of an installed SGLang. Look-ups
    never raise on any text.
    """

    def __init__(self, pack: SitePack | None = None) -> None:
        self._packs: list[SitePack] = [pack if pack is not None else empty_pack()]
        self._site = lru_cache(maxsize=2048)(self._places_of)

    @classmethod
    def load(cls) -> SiteIndex:
        """The shipped index; an empty one where none was built."""
        return cls(shipped_pack())

    def __len__(self) -> int:
        return sum(len(pack) for pack in self._packs)

    @property
    def packs(self) -> tuple[SitePack, ...]:
        """The packed indexes, the shipped one first."""
        return tuple(self._packs)

    @property
    def digest(self) -> str:
        """Changes whenever anything in the index changes."""
        if len(self._packs) == 1:
            return self._packs[0].digest
        return digest_of("".join(pack.digest for pack in self._packs))[:32]

    @property
    def versions(self) -> tuple[str, ...]:
        """The releases of the index, the oldest first."""
        return tuple(version for pack in self._packs for version in pack.versions)

    # ----------------------------------------------------------------------------------- candidates

    @cached_property
    def _needles(self) -> tuple[tuple[str, bool, int], ...]:
        found: list[tuple[str, bool, int]] = []
        base = 0
        for pack in self._packs:
            found += [(needle, False, base + row) for row, needle in enumerate(pack.needles) if needle]
            base += len(pack)
        return tuple(found)

    def needles(self) -> Sequence[tuple[str, bool, int]]:
        """(literal, caseless, template number): every text of the template holds the literal.

        Templates without a literal that is rare enough are left out: frames lead to them.
        """
        return self._needles

    def _row(self, number: int) -> tuple[SitePack, int]:
        for pack in self._packs:
            if number < len(pack):
                return pack, number
            number -= len(pack)
        raise IndexError("no such template")

    def literal_length(self, number: int) -> int:
        """How many characters of the template's message are fixed."""
        pack, row = self._row(number)
        return pack.lengths[row]

    def template(self, number: int) -> str:
        """The message with its slots, empty for a site without one."""
        pack, row = self._row(number)
        return self._text(pack, row)

    # ----------------------------------------------------------------------------------- confirming

    def confirm(self, number: int, exception: str | None, message: str) -> dict[str, str] | None:
        """The slots' values when the message is the template's, else None.

        `message` is the text after `Class: ` for an exception, else what a log line says after its prefix.
        An exception's template needs the class (any module) and the whole message; a log template the
        message from its start, further lines may follow.
        """
        pack, row = self._row(number)
        kind = pack.kind_of(row)
        wanted = pack.class_of(row)
        printed = (exception or "").rpartition(".")[2]
        message = message.strip()
        match group(kind):
            case "exception":
                if wanted == "SystemExit" and not printed:
                    printed = wanted
                if not printed or (wanted and printed != wanted.rpartition(".")[2]):
                    return None
                return self._exception(pack, row, message)
            case "http" if printed == "HTTPException":
                return match(self._text(pack, row), STATUS.sub("", message, count=1))
            case "warn" if printed and printed == wanted:
                return match(self._text(pack, row), message, whole=False)
        if printed or pack.lengths[row] < SHORTEST_LOG or not pack.has_needle[row]:
            return None
        return match(self._text(pack, row), message, whole=False)

    def _text(self, pack: SitePack, row: int) -> str:
        text: str = pack.entry(row).get("text", "")
        return text

    def _exception(self, pack: SitePack, row: int, message: str) -> dict[str, str] | None:
        entry = pack.entry(row)
        text = entry.get("text", "")
        if not text:
            # The index knows no text: none is printed, or one that is made at run time.
            return {}
        return match(text, unquoted(message) if entry.get("quoted") else message)

    def at_frame(
        self, file: str, function: str, exception: str | None, code: str | None, line: int | None = None
    ) -> tuple[int, ...]:
        """The templates that a frame of this file and function can have raised, those of its code line first.

        A site without a message is among them only where the code line is its own; without a code line,
        where `line` is the one it has in its newest release. `file` starts at `sglang/`. Log templates are
        left out: no traceback ends in them.
        """
        printed = (exception or "").rpartition(".")[2]
        wanted: str | None = None
        exact: list[int] = []
        others: list[int] = []
        base = 0
        for pack in self._packs:
            for row in pack.at_place(file, function):
                name = pack.class_of(row)
                if group(pack.kind_of(row)) not in ("exception", "http") or (printed and name and name != printed):
                    continue
                entry = pack.entry(row)
                here = [site for site in entry["sites"] if site[1] == function and same_file(site[0], file)]
                if not here:
                    continue
                if wanted is None:
                    wanted = code_hash(code) if code and code.strip() else ""
                hashes = entry.get("code", ())
                if hashes and (wanted in hashes if wanted else any(site[2] == line for site in here)):
                    exact.append(base + row)
                elif entry.get("text"):
                    others.append(base + row)
            base += len(pack)
        return (*exact, *others)

    # ----------------------------------------------------------------------------------- searching

    def nearest(self, message: str, limit: int = 3) -> tuple[int, ...]:
        """The templates most like a message that no template is: rewordings. Empty where none is alike."""
        from explain.sitesearch import nearest

        found: list[tuple[float, int]] = []
        base = 0
        for pack in self._packs:
            found += [(-likeness, base + row) for likeness, row in nearest(pack, message, limit)]
            base += len(pack)
        return tuple(number for _, number in sorted(found)[:limit])

    def find(self, text: str) -> tuple[int, ...]:
        """What `show` asks for: an id or its start, `file.py:123`, a function, or a pasted message."""
        from explain.sitesearch import find

        found: list[int] = []
        base = 0
        for pack in self._packs:
            found += [base + row for row in find(pack, text)]
            base += len(pack)
        return tuple(found)

    def with_pack(self, pack: SitePack) -> SiteIndex:
        """This index and another one, whose templates come after this one's."""
        index = SiteIndex()
        index._packs = [*self._packs, pack]
        return index

    # ----------------------------------------------------------------------------------- facts

    def _places_of(self, number: int) -> tuple[SitePlace, ...]:
        pack, row = self._row(number)
        return places(pack.entry(row), pack.order)

    def site(self, number: int, frames: Sequence[Frame] = (), version: str | None = None) -> SiteInfo:
        """The template at its best place: the one a frame names, else the release's, else the newest.

        The releases are those of this check, moves between files and functions included.
        """
        pack, row = self._row(number)
        entry = pack.entry(row)
        found = self._site(number)
        release = pack.versions.index(version) if version in pack.versions else None
        place, _ = best_place(found, frames, release)
        releases, moves = lineage(found, place, pack.lengths[row] >= OWN_TEXT)
        return SiteInfo(
            id=identity(entry),
            file=place.file,
            function=place.function,
            line=place.line,
            first_version=pack.versions[releases[0]],
            last_version=pack.versions[releases[-1]],
            template=entry.get("text", ""),
            exception=entry.get("class"),
            kind=entry["kind"],
            gone=releases[-1] != len(pack.versions) - 1,
            flags=tuple(entry.get("flags", ())),
            env=tuple(entry.get("environment", ())),
            gaps=gaps(releases, pack.versions),
            moves=tuple(f"{other.file}:{other.function} {_span(other, pack.versions)}" for other in moves),
        )


def _span(place: SitePlace, versions: Sequence[str]) -> str:
    first, last = versions[place.releases[0]], versions[place.releases[-1]]
    return first if first == last else f"{first} to {last}"

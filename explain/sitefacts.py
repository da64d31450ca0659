"""What a line of the site index says: identity, releases, moves, the best place for a traceback."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from explain.digest import digest_of
from explain.model import Frame
from explain.templates import anonymous
from explain.values import dataclass

REPOSITORY = "sgl-project/sglang"


@dataclass(frozen=True, slots=True)
class SitePlace:
    """One place of a template. `releases` are the numbers of the releases that have it, in order."""

    file: str
    function: str
    line: int
    releases: tuple[int, ...]


def identity(entry: Mapping[str, Any]) -> str:
    """16 hex digits that survive moves of the line and the file, but neither a new class nor a new wording.

    A site without text is known by its function and its code line.
    """
    code = entry.get("code")
    parts = (
        REPOSITORY,
        group(entry["kind"]),
        entry.get("class") or "",
        anonymous(entry.get("text", "")),
        f"{entry['sites'][0][1]} {code[0]}" if code else "",
    )
    return digest_of("\n".join(parts))[:16]


def group(kind: str) -> str:
    """Kinds that print alike: an assertion is an exception, a log message's level does not matter."""
    return "exception" if kind in ("raise", "assert") else kind.partition(":")[0]


def package(file: str) -> str:
    """`srt-layers` for `sglang/srt/layers/…`; the part of the index a file belongs to."""
    parts = file.split("/")[1:-1]
    return "-".join(parts[:2]) if parts else "top"


def normalised(flag: str) -> str:
    """A flag as the index spells it: two dashes, dashes between words, no value."""
    return "--" + flag.strip().partition("=")[0].strip().lstrip("-").replace("_", "-")


def intervals(releases: Iterable[int], versions: Sequence[str]) -> str:
    """`0.5.1..0.5.3,0.5.6`: the runs of releases among all."""
    runs: list[list[int]] = []
    for number in sorted(releases):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(versions[a] if a == b else f"{versions[a]}..{versions[b]}" for a, b in runs)


def release_numbers(intervals: str, order: Mapping[str, int]) -> tuple[int, ...]:
    """The release numbers of `0.5.1..0.5.3,0.5.6`."""
    numbers: list[int] = []
    for run in intervals.split(","):
        first, _, last = run.partition("..")
        numbers.extend(range(order[first], order[last or first] + 1))
    return tuple(numbers)


def places(entry: Mapping[str, Any], order: Mapping[str, int]) -> tuple[SitePlace, ...]:
    """The places of a line of the index, the newest first."""
    return tuple(
        SitePlace(file, function, line, release_numbers(intervals, order))
        for file, function, line, intervals in entry["sites"]
    )


def best_place(found: Sequence[SitePlace], frames: Sequence[Frame], release: int | None) -> tuple[SitePlace, bool]:
    """The place that a traceback names, else the one that the release has, else the newest; and whether a
    frame agreed. Frames are in call order, their files from `sglang/` on."""
    for frame in reversed(frames):
        here = [place for place in found if place.function == frame.function and same_file(place.file, frame.file)]
        if here:
            return _fitting(here, release, frame.line), True
    for frame in reversed(frames):
        here = [
            place
            for place in found
            if same_file(place.file, frame.file)
            or (place.function == frame.function and place.file.rpartition("/")[2] == frame.file.rpartition("/")[2])
        ]
        if here:
            return _fitting(here, release, None), False
    return _fitting(found, release, None), False


def same_file(file: str, printed: str) -> bool:
    """Whether a path of a traceback is the index's file, shortened by its writer or not."""
    printed = printed.replace("\\", "/")
    return (
        printed == file
        or printed.endswith("/" + file)
        or (printed.startswith("...") and file.endswith(printed.lstrip(".")))
    )


def _fitting(found: Sequence[SitePlace], release: int | None, line: int | None) -> SitePlace:
    return min(
        found,
        key=lambda place: (
            release is not None and release not in place.releases,
            line is not None and abs(place.line - line),
            -place.releases[-1],
        ),
    )


def lineage(
    found: Sequence[SitePlace], place: SitePlace, telling: bool
) -> tuple[tuple[int, ...], tuple[SitePlace, ...]]:
    """All releases in which the check at `place` exists, and its places in other releases.

    A check moved when its place ends in one release and another place has it first in the next one. Places
    that have it in the same releases are other checks with the same text. Where the text is not `telling`
    enough to be one check's alone, function or file must have kept their name.
    """
    chain = [place]
    releases = set(place.releases)
    remaining = sorted((other for other in found if other is not place), key=lambda one: not _akin(one, place))
    moved = True
    while moved:
        moved = False
        for other in remaining:
            apart = not releases & set(other.releases)
            touches = min(releases) - 1 == max(other.releases) or max(releases) + 1 == min(other.releases)
            if apart and (touches or len(found) == 2) and (telling or _akin(other, chain[-1])):
                chain.append(other)
                releases.update(other.releases)
                remaining.remove(other)
                moved = True
                break
    return tuple(sorted(releases)), tuple(sorted(chain[1:], key=lambda one: -one.releases[-1]))


def _akin(one: SitePlace, other: SitePlace) -> bool:
    """Whether two places share the name of their function or of their file."""
    if one.function.strip("_") == other.function.strip("_"):
        return True
    return one.file.rpartition("/")[2] == other.file.rpartition("/")[2]


def gaps(releases: Sequence[int], versions: Sequence[str]) -> tuple[str, ...]:
    """The runs of releases between the first and the last that are missing: `0.5.4`, `0.5.4 to 0.5.6`."""
    missing: list[str] = []
    for before, after in pairwise(releases):
        if after - before > 1:
            first, last = versions[before + 1], versions[after - 1]
            missing.append(first if first == last else f"{first} to {last}")
    return tuple(missing)

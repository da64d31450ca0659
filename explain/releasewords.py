"""A solution in the words of one release: flags by the names that it has, and what it lacks said.

Records are written for all releases. A flag or a variable that the server's release does not know is given its
name there, if it has one; if not, a note says which releases know it. Of values that a flag takes the same is said
where the releases list them. Where the text itself names the release's own spelling, or the release that brought
or dropped the name, nothing is added.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from explain.model import Record
from explain.optionnames import Releases, other_names, releases_having
from explain.registry import registry, releases_of
from explain.relevance import FLAG, SENTENCE, UNJOINED, VARIABLE
from explain.values import replace

# Expressions are text here: `re` compiles and keeps them when a report first needs them.
_NAME = (
    rf"{UNJOINED}(?P<flag>{FLAG})(?![\w*-])(?:(?P<gap>[ =])(?P<value>[a-z0-9][\w./+-]*\b))?"
    rf"|(?P<variable>{VARIABLE})(?![\w*])"
)
_BESIDE = (
    rf"(?P<outer>`?(?P<name>{FLAG}|{VARIABLE})(?P<value>(?:[ =]\w+)?)`?)"
    r" \((?P<inside>[^()]{1,120})\)"
)
"""An option and, in brackets behind it, what other releases call it."""
_ONLY_WHEN = (
    r"0\.\d+\.\d+(?:\.post\d+)?|\b(?:from|on|also|since|before|after|until|up|to|in|and|later|newer|older|earlier|the|"
    r"only|name|releases?|or|with|called|was|is|now|then|there)\b|[\s`:;,.=+-]"
)
_RELEASE = r"\b0\.\d+\.\d+(?:\.post\d+)?"
_UPGRADE = r"(?i)\W*upgrade\b"
DIFFUSION = "diffusion"
"""The area of records whose server takes flags of its own."""
MOST_NAMED = 3


class Worded(NamedTuple):
    """A solution for a release. `lacking` says what the release has not, empty where it has all of it; `vain` that
    nothing of what the first sentence names is there."""

    text: str
    lacking: str
    vain: bool


class _Mention(NamedTuple):
    """An option in a text; with its value where not all releases take that."""

    start: int
    end: int
    value_end: int
    option: str
    written: str
    """With the word behind it, which may be its value."""
    releases: Releases


def worded(text: str, version: str | None, *, diffusion: bool = False) -> Worded:
    """The text as it reads for a server of that release, or of a range of them (`0.5.6 to 0.5.9`).

    A range lacks what none of its releases has. `diffusion` counts what the diffusion server takes, too.
    """
    here = frozenset(releases_of(version))
    if not here or ("--" not in text and "SGL" not in text):
        return Worded(text, "", False)
    text = re.sub(_BESIDE, lambda found: _one_name(found, here, diffusion), text)
    lead = _lead(text)
    pieces: list[str] = []
    lacking: dict[str, str] = {}
    there, gone, done = 0, 0, 0
    for one in _mentions(text, diffusion):
        in_lead = one.start < lead
        if one.releases & here:
            there += in_lead
        elif _told(one.releases, text):
            gone += in_lead
        elif own := _own_name(one, here, diffusion):
            there += in_lead
            if not _stands_in(own[0], text):
                pieces += (text[done : one.start], own[0])
                done = own[1]
        else:
            gone += in_lead
            lacking.setdefault(f"`{one.option}`", _since(one.releases, here))
    named = [f"{name} ({when})" for name, when in lacking.items()]
    note = f"SGLang {version} has no {_listed(named)}" if named else ""
    vain = gone > 0 and there == 0 and not re.match(_UPGRADE, text)
    return Worded("".join((*pieces, text[done:])), note, vain)


def _one_name(found: re.Match[str], here: Releases, diffusion: bool) -> str:
    """The name that the release has of two that a text gives, where it says no more than which is whose."""
    named = [one["flag"] or one["variable"] for one in re.finditer(_NAME, found["inside"])]
    option = f"{found['name']}{found['value']}"
    others = {
        frozenset(one for one in other.split() if not one.isdigit()): other
        for other in (*other_names(found["name"]), *other_names(option))
    }
    other = others.get(frozenset(named))
    rest = found["inside"]
    for name in named:
        rest = rest.replace(f"{name}{found['value']}", "").replace(name, "")
    if other is None or re.sub(_ONLY_WHEN, "", rest):
        return found[0]
    outer = (releases_having(found["name"], diffusion) or frozenset()) & here
    inner = here.intersection(*((releases_having(name, diffusion) or frozenset()) for name in named))
    if bool(outer) == bool(inner):
        return found[0]
    return found["outer"] if outer else found["outer"].replace(found["name"] if len(named) == 1 else option, other)


def _lead(text: str) -> int:
    """Where the first sentence ends; what stands in brackets belongs to it."""
    for end in re.finditer(SENTENCE, text):
        if text.count("(", 0, end.start()) == text.count(")", 0, end.start()):
            return end.start()
    return len(text)


def _mentions(text: str, diffusion: bool) -> Iterator[_Mention]:
    """Every option of SGLang's server in a text."""
    for found in re.finditer(_NAME, text):
        name = found["flag"] or found["variable"]
        releases = releases_having(name, diffusion)
        if releases is None:
            continue
        end = found.start() + len(name)
        option = name
        if found["value"]:
            with_value = releases_having(f"{name} {found['value']}", diffusion)
            if with_value is not None and with_value != releases:
                option, end, releases = f"{name}{found['gap']}{found['value']}", found.end(), with_value
        yield _Mention(found.start(), end, found.end(), option, found[0], releases)


def _own_name(one: _Mention, here: Releases, diffusion: bool) -> tuple[str, int] | None:
    """The option as the release calls it, and where what it stands for ends; with its value first: a switch may have
    become one."""
    for option, end in ((one.written, one.value_end), (one.option, one.end)):
        for name in other_names(option):
            if (releases_having(name, diffusion) or frozenset()) & here:
                return name, end
    return None


def _stands_in(option: str, text: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(option.partition(' ')[0])}(?![\w-])", text) is not None


def _told(releases: Releases, text: str) -> bool:
    """Whether the text names the release that brought the option, or the last one or the first without it."""
    named = {_plain(version) for version in re.findall(_RELEASE, text)}
    if not named:
        return False
    versions = registry().versions
    edges = {min(releases), max(releases), max(releases) + 1}
    return any(number < len(versions) and _plain(versions[number]) in named for number in edges)


def _plain(version: str) -> str:
    """A release without its `.post1`: prose says `up to 0.5.12`."""
    return version.partition(".post")[0]


def _since(releases: Releases, here: Releases) -> str:
    versions = registry().versions
    later = [number for number in releases if number > max(here)]
    if later:
        return f"from {versions[min(later)]}"
    return f"until {versions[max(releases)]}"


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        shown[-1] += f" and {len(names) - MOST_NAMED} more"
    return ", ".join(shown)


def shown(record: Record, version: str | None) -> Record:
    """The record as it is shown to a server of that release: no example and no tip that it does not understand."""
    diffusion = record.area == DIFFUSION
    example = record.example_fix
    if example is not None:
        own = worded(example, version, diffusion=diffusion)
        example = None if own.lacking else own.text
    said = [worded(tip, version, diffusion=diffusion) for tip in record.prevention_tips]
    tips = tuple(one.text for one in said if not one.lacking)
    if example == record.example_fix and tips == record.prevention_tips:
        return record
    return replace(record, example_fix=example, prevention_tips=tips)

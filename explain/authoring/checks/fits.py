"""Checks of the conditions under which a record's solutions fit a server, and of the texts they fill."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from explain.authoring.book import Book, Entry
from explain.authoring.checks.facts import FLAG
from explain.authoring.checks.foreign import FOREIGN_FLAGS
from explain.authoring.checks.prose import CONCRETE
from explain.authoring.checks.registry import check
from explain.authoring.checks.words import VERBS
from explain.authoring.names import Names
from explain.conditions import FIGURES, KEYS, LIMITS, LOAD, OF_RELEASE, TESTS
from explain.gpus import NAMES as GPUS
from explain.registry import registry

_SLOT = re.compile(r"\{(?P<name>[^{}:]*)(?::(?P<digits>[^{}]*))?\}")
_GROUP = re.compile(r"\(\?P?<(?P<name>[a-zA-Z]\w*)>")
Complaint = tuple[str, str, str]
"""A pointer below the condition, what is wrong, what to try."""


@check
def fits(entry: Entry, book: Book) -> None:
    """Conditions name arguments, figures, captures, releases and GPUs that exist; texts can be filled, start
    with a verb (a reason does not), and name no flag that the releases of the condition lack."""
    record = entry.record
    captures = {found["name"] for found in _GROUP.finditer(record.pattern)}
    for index, fit in enumerate(record.fits):
        pointer = f"/fits/{index}"
        if not fit.when:
            entry.says(f"{pointer}/when", "is empty", "a solution that always comes first is listed first")
        for below, message, hint in complaints(fit.when, captures, book.names):
            entry.says(f"{pointer}/when{below}", message, hint)
        text = fit.text
        if text is None:
            if fit.then in ("already", "impossible", "reword"):
                entry.says(f"{pointer}/text", "is missing", "the reason, or the other words")
            continue
        if FLAG.search(text) and not _akin(text, record.solutions[fit.solution]):
            entry.says(f"{pointer}/text", f"has no word of solution {fit.solution}", "another solution's index?")
        for slot in _SLOT.finditer(text):
            names = slot["name"].split("/")
            known = {*captures, *FIGURES, *LIMITS, *LOAD, *OF_RELEASE, *registry().fields}
            if not all(name in known for name in names):
                entry.says(f"{pointer}/text", f"{{{slot['name']}}} is no capture, figure, limit or argument")
            if slot["digits"] is not None and not slot["digits"].isdigit():
                entry.says(f"{pointer}/text", f"{{{slot[0]}}} asks for no number of digits", "{left:1}")
        if fit.then in ("first", "last", "reword"):
            first = re.sub(r"\W+$", "", text.split()[0]).lower() if text.split() else ""
            if first not in VERBS:
                entry.says(f"{pointer}/text", f"starts with {first!r}", "start with a verb")
            if not CONCRETE.search(text):
                entry.says(f"{pointer}/text", "names nothing concrete", "a flag, value, command or file")
        for message in _lacking(text, fit.when, book.names):
            entry.says(f"{pointer}/text", message, "a release condition, or another flag")


def _akin(text: str, solution: str) -> bool:
    """Whether two wordings are of one solution: they share a flag or two longer words."""
    flags = [set(FLAG.findall(one)) for one in (text, solution)]
    words = [set(re.findall(r"[a-z_]{5,}", one.lower())) for one in (text, solution)]
    return bool(flags[0] & flags[1]) or len(words[0] & words[1]) >= 2


def complaints(condition: Any, captures: set[str], names: Names, pointer: str = "") -> Iterator[Complaint]:
    """Everything that is wrong with one condition."""
    if not isinstance(condition, Mapping):
        yield pointer, "is not an object", '{"args": {…}, "memory": {…}}'
        return
    known = {
        "args": frozenset(registry().fields),
        "memory": frozenset(FIGURES),
        "captures": frozenset(captures),
        "limits": frozenset(LIMITS),
        "load": frozenset(LOAD),
    }
    for key, wanted in condition.items():
        here = f"{pointer}/{key}"
        if key not in KEYS:
            yield here, "is no key of a condition", f"one of {', '.join(KEYS)}"
        elif key in known:
            yield from _named_tests(here, wanted, known[key], split=key == "args")
        elif key == "release":
            yield from _release(here, wanted, names)
        elif key == "gpu":
            yield from _gpu(here, wanted)
        elif key == "not":
            yield from complaints(wanted, captures, names, here)
        elif not isinstance(wanted, list) or not wanted:
            yield here, "is not a list of conditions", ""
        else:
            for index, one in enumerate(wanted):
                yield from complaints(one, captures, names, f"{here}/{index}")


def _named_tests(pointer: str, wanted: Any, known: frozenset[str], *, split: bool) -> Iterator[Complaint]:
    if not isinstance(wanted, Mapping) or not wanted:
        yield pointer, "is not an object of names and tests", ""
        return
    for name, test in wanted.items():
        parts = name.split("/") if split else [name]
        for part in parts:
            if known and part not in known:
                yield f"{pointer}/{name}", f"{part} is not known", "a name that the log prints"
        yield from _test(f"{pointer}/{name}", test)


def _test(pointer: str, test: Any) -> Iterator[Complaint]:
    if not isinstance(test, Mapping):
        if isinstance(test, list):
            yield pointer, "is a list", '{"in": […]}'
        return
    for name, value in test.items():
        if name not in TESTS:
            yield f"{pointer}/{name}", "is no test", f"one of {', '.join(TESTS)}"
        elif name in ("above", "below") and (not isinstance(value, int | float) or isinstance(value, bool)):
            yield f"{pointer}/{name}", "needs a number", ""
        elif name == "in" and not isinstance(value, list):
            yield f"{pointer}/{name}", "needs a list", ""
        elif name == "set" and not isinstance(value, bool):
            yield f"{pointer}/{name}", "needs true or false", ""


def _release(pointer: str, wanted: Any, names: Names) -> Iterator[Complaint]:
    if not isinstance(wanted, Mapping) or not wanted or not set(wanted) <= {"from", "to"}:
        yield pointer, "is not a range of releases", '{"from": "0.5.2", "to": "0.5.9"}'
        return
    for name, version in wanted.items():
        if names.versions and names.number(version) is None:
            yield f"{pointer}/{name}", f"{version} is no release", ""


def _gpu(pointer: str, wanted: Any) -> Iterator[Complaint]:
    values = wanted.get("in", [wanted.get("not")]) if isinstance(wanted, Mapping) else [wanted]
    for value in values:
        if value not in GPUS:
            yield pointer, f"{value!r} is no GPU generation", f"one of {', '.join(GPUS)}"


def _lacking(text: str, condition: Mapping[str, Any], names: Names) -> Iterator[str]:
    """Flags of the text that no release of the condition's range has."""
    wanted = condition.get("release", {})
    if not names.known or not isinstance(wanted, Mapping):
        return
    low = names.number(wanted.get("from", "")) or 0
    last = names.number(wanted.get("to", ""))
    high = names.newest if last is None else last
    for flag in dict.fromkeys(FLAG.findall(text)):
        if flag in FOREIGN_FLAGS or flag.endswith("*"):
            continue
        releases = names.flag(flag)
        if not releases:
            yield f"{flag} is in no release"
            continue
        missing = [number for number in range(low, high + 1) if number not in releases]
        if missing and (wanted or names.newest in missing):
            yield f"{flag} is not in {names.versions[missing[0]]}, which the condition admits"

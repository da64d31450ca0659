"""Checks of what a record states about SGLang against what its releases hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from explain.authoring.book import Book, Entry
from explain.authoring.checks.commands import Command, NotACommand, commands
from explain.authoring.checks.foreign import FOREIGN_FLAGS
from explain.authoring.checks.prose import prose_of
from explain.authoring.checks.registry import check
from explain.authoring.names import Names, Releases
from explain.model import SiteInfo

SGLANG = "sgl-project/sglang"
FLAG = re.compile(r"(?<![\w-])--[a-zA-Z][\w-]*[\w*]")
VARIABLE = re.compile(r"\b(?:SGLANG|SGL)_[A-Z0-9_]*[A-Z0-9](?!\w|\*|_)")
PATH = re.compile(r"(?<![\w/])(?:python/)?(sglang/(?:srt|lang|multimodal_gen|kernels|jit_kernel)/[\w/-]+\.py)\b")
VERSION = re.compile(r"\b0\.[345]\.\d+|\b0\.5\b|\b0\.4\b|older|newer|earlier|former|removed|renamed|deprecated|later")
LAUNCH = re.compile(r"sglang\.launch_server|^serve$")
OTHER_TOOLS = re.compile(
    r"sglang\.(?:bench|benchmark|profiler|check_env|compile|launch_router|eval|srt|auto)\w*|sglang_router"
)
BLOB = re.compile(
    r"https://github\.com/(?P<repo>[\w.-]+/[\w.-]+)/blob/(?P<revision>[^/]+)/(?P<path>[^#]+)(?:#L(?P<line>\d+).*)?"
)


@check
def grounded(entry: Entry, book: Book) -> None:
    """SGLang's own message stands in the site index; any other record names a reference."""
    record = entry.record
    own = record.raw.get("repo") == SGLANG
    if not (own and sites_of(entry, book)) and not record.references:
        what = "no release's site index has this message, and no reference is given" if own else "has none"
        entry.says("/references", what, "an issue, a document or source that shows the error")
    for index, link in enumerate(record.references):
        if not re.fullmatch(r"https://[\w.-]+/\S+", link):
            entry.says(f"/references/{index}", f"is {link!r}", "an https:// address")


def sites_of(entry: Entry, book: Book) -> list[SiteInfo]:
    """The sites of the index that print the record's examples."""
    found = {}
    for events in entry.events:
        for event in events:
            if entry in book.fired(event) and (site := book.examiner.site(event)) is not None:
                found[site.id, site.file] = site
    return list(found.values())


@check
def place(entry: Entry, book: Book) -> None:
    """filePath, lineNumber and githubUrl name one place, and a release has it."""
    record = entry.record
    path = record.file_path
    link = BLOB.fullmatch(record.github_url or "")
    if record.github_url and link is None:
        hint = "https://github.com/owner/name/blob/v0.5.23/path#L123"
        entry.says("/githubUrl", f"is {record.github_url!r}", hint)
    if link is not None:
        if path is not None and link["path"] != path:
            entry.says("/githubUrl", f"names {link['path']}, filePath {path}")
        if link["line"] and record.line_number and int(link["line"]) > record.line_number:
            entry.says("/githubUrl", f"names line {link['line']}, lineNumber is {record.line_number}")
        names = book.names
        revision = link["revision"].removeprefix("v")
        tagged = not re.fullmatch(r"[0-9a-f]{7,40}|main", revision)
        if link["repo"] == SGLANG and names.known and tagged and names.number(revision) is None:
            entry.says("/githubUrl", f"names {revision}, which is no release", "a tag such as v0.5.23")
    if path is None or record.raw.get("repo") != SGLANG or not book.names.known:
        return
    inside = path.removeprefix("python/")
    if inside.startswith("sglang/") and inside.endswith(".py") and inside not in book.names.files:
        entry.says("/filePath", f"{path} is in no release")
    if record.raw.get("analyzedSha"):
        return
    here = [site for site in sites_of(entry, book) if site.file == inside and not site.gone]
    lines = sorted({site.line for site in here if site.line})
    if lines and record.line_number and min(abs(line - record.line_number) for line in lines) > MOST_LINES_OFF:
        known = ", ".join(map(str, lines))
        entry.says("/lineNumber", f"is {record.line_number}, the newest release raises it at {known}")


MOST_LINES_OFF = 40
"""One check may raise from several lines close together; the record names one of them."""


@check
def frames(entry: Entry, book: Book) -> None:
    """Every frame that a record asks for is in a file, or below a folder, that some release has."""
    files = book.names.files
    for index, wanted in enumerate(entry.record.frames):
        path = wanted.partition(":")[0]
        if not files or not path.startswith("sglang/"):
            continue
        folder = path.endswith("/")
        if not (any(name.startswith(path) for name in files) if folder else path in files):
            entry.says(f"/frames/{index}", f"{path} is in no release", "a .py file, or a folder with / at its end")


@check
def named_things(entry: Entry, book: Book) -> None:
    """Every flag, variable and file in the prose and the example exists in the releases covered."""
    names = book.names
    if not names.known:
        return
    first, last = span(entry, book)
    for pointer, text in [*prose_of(entry.record), ("/exampleFix", entry.record.example_fix or "")]:
        if pointer.startswith("/fits/"):
            continue  # `fits` holds it against the releases of its own condition
        for found in mentions(pointer, text, names):
            if not found.releases:
                near = f"; did you mean {' or '.join(found.near)}?" if found.near else ""
                entry.says(pointer, f"{found.name} is in no release{near}")
            elif max(found.releases) < first:
                what = f"{found.name} was gone ({names.versions[max(found.releases)]}) before the error came"
                entry.says(pointer, f"{what} ({names.versions[first]})")
            elif names.newest not in found.releases and last == names.newest and not VERSION.search(text):
                gone = names.versions[max(found.releases)]
                entry.says(
                    pointer,
                    f"{found.name} ended with {gone}; the error did not",
                    "say which release has which",
                )


def span(entry: Entry, book: Book) -> tuple[int, int]:
    """The first and last release that the record covers, by number; all where the index does not say."""
    names = book.names
    sites = sites_of(entry, book)
    firsts = [n for site in sites if (n := names.number(site.first_version)) is not None]
    lasts = [n for site in sites if (n := names.number(site.last_version)) is not None]
    return min(firsts, default=0), max(lasts, default=names.newest)


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a text, the releases that have it, and similar names where none has it."""

    name: str
    releases: Releases
    near: tuple[str, ...] = ()


def mentions(pointer: str, text: str, names: Names) -> Iterator[Mention]:
    """Every flag, environment variable and file of SGLang that a text names."""
    if pointer == "/exampleFix":
        yield from command_flags(text, names)
    else:
        for name in dict.fromkeys(FLAG.findall(text)):
            if name.endswith("*"):
                if not names.flags_starting(name.rstrip("*")):
                    yield Mention(name, frozenset())
            elif name not in FOREIGN_FLAGS:
                yield flag_mention(name, names, server=False)
    for name in dict.fromkeys(VARIABLE.findall(text)):
        releases = names.variable(name)
        yield Mention(name, releases, () if releases else tuple(names.similar_variables(name)))
    for name in dict.fromkeys(PATH.findall(text)):
        yield Mention(name, frozenset({0, names.newest}) if name in names.files else frozenset())


def command_flags(text: str, names: Names) -> Iterator[Mention]:
    """The flags of SGLang's commands in an example; other programs' flags are theirs to know."""
    try:
        found = commands(text)
    except NotACommand:
        return
    # What the example shows as wrong may be a flag that no release has.
    after = text.split("\n").index("# after") + 1 if "# after" in text.split("\n") else 0
    for command in found:
        if command.line <= after:
            continue
        server, flags = sglang_flags(command)
        for name in flags:
            yield flag_mention(name, names, server=server)


def sglang_flags(command: Command) -> tuple[bool, list[str]]:
    """Whether a command starts the server, and the flags it is given behind its name."""
    for position, word in enumerate(command.words):
        if LAUNCH.search(word):
            rest = command.words[position + 1 :]
            return True, [flag.partition("=")[0] for flag in rest if flag.startswith("--")]
        if OTHER_TOOLS.fullmatch(word):
            return False, []
    return False, []


def flag_mention(name: str, names: Names, *, server: bool) -> Mention:
    releases = names.flag(name, server=server)
    return Mention(name, releases, () if releases else tuple(names.similar_flags(name)))

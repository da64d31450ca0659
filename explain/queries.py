"""What can be asked of the catalogue: one record, records by words, lists."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from explain.choices import COLORS, FORMATS
from explain.commands import Color, Names, OnlyPatterns, Patterns, check_patterns
from explain.console import (
    FAILED,
    UsageProblem,
    choose,
    complain,
    emit,
    emit_text,
    problems_of_user,
    report_problems,
    screen_width,
    wants_color,
)

if TYPE_CHECKING:
    from explain.catalogue import Catalogue

QueryFormat = Annotated[str, typer.Option("--format", "-F", metavar="|".join(FORMATS[:2]), help="What to print.")]


def show_command(
    name: Annotated[Names, typer.Argument(metavar="ID|SLUG|MESSAGE", help="Or - to read a message.")] = None,
    form: QueryFormat = "terminal",
    patterns: Patterns = None,
    only_patterns: OnlyPatterns = False,
    color: Color = "auto",
) -> int:
    """Show a record: what the error means, why it happens, what to do, what it is not.

    Takes its id, its slug, the beginning of either, or a pasted message or traceback.
    """
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if name == ["-"] else " ".join(name or ())
    if not text.strip():
        raise UsageProblem("show: name a record or a message; sglang-explain list prints all records")
    catalogue = load(form, color, patterns, only_patterns)
    from explain.authoring.query import look_up, related

    answer = look_up(catalogue, text)
    if not answer.certain:
        near = ", ".join(catalogue.record(number).slug for number in answer.numbers[:5])
        what = "begins several records" if answer.way == "prefix" else "is no record and no known message"
        hint = f"try one of: {near}" if near else "try sglang-explain search WORDS"
        complain(f"{' '.join(text.split())[:80]}: {what}; {hint}")
        return FAILED
    number = answer.numbers[0]
    if form == "json":
        from explain.render.plain import encode

        emit(encode(catalogue.raw(number), indent=2))
        return 0
    from explain.render.page import render_record

    others = [catalogue.record(other) for other in related(catalogue, number)]
    emit_text(render_record(catalogue.record(number), others, width=screen_width(), color=wants_color(color)))
    return 0


def search_command(
    words: Annotated[Names, typer.Argument(metavar="WORDS", help="In any order.")] = None,
    form: QueryFormat = "terminal",
    limit: Annotated[str, typer.Option("--limit", "-n", metavar="N", help="How many records at most.")] = "20",
    patterns: Patterns = None,
    only_patterns: OnlyPatterns = False,
    color: Color = "auto",
) -> int:
    """Search the records by words, the best first. Typing errors are allowed."""
    text = " ".join(words or ())
    if not text.strip():
        raise UsageProblem("search: give some words, for example: sglang-explain search out of memory")
    if not limit.isdecimal() or int(limit) < 1:
        raise UsageProblem(f"--limit {limit}: give a number from 1 on")
    catalogue = load(form, color, patterns, only_patterns)
    from explain.authoring.search import search

    numbers = [hit.number for hit in search(catalogue, text, int(limit))]
    if not numbers:
        complain(f"{text}: no record has these words; try fewer, or sglang-explain list")
    print_records(catalogue, numbers, form, color, by_area=False)
    return 0


def list_command(
    area: Annotated[Names, typer.Option("--area", help="Only this area; repeatable.")] = None,
    tag: Annotated[Names, typer.Option("--tag", help="Only with this tag; repeatable.")] = None,
    severity: Annotated[Names, typer.Option("--severity", help="Only this severity; repeatable.")] = None,
    role: Annotated[Names, typer.Option("--role", help="Only this role; repeatable.")] = None,
    error_class: Annotated[Names, typer.Option("--class", help="Only this exception class; repeatable.")] = None,
    release: Annotated[str | None, typer.Option("--release", help="Only what this SGLang release can print.")] = None,
    form: QueryFormat = "terminal",
    patterns: Patterns = None,
    only_patterns: OnlyPatterns = False,
    color: Color = "auto",
) -> int:
    """List the records by area. Several values of one option mean any of them."""
    catalogue = load(form, color, patterns, only_patterns)
    from explain.authoring.query import Filter, list_records
    from explain.model import ROLES
    from explain.record import SEVERITIES

    for option, values, valid in (
        ("--area", area, sorted({catalogue.area(number) for number in range(len(catalogue))})),
        ("--severity", severity, SEVERITIES),
        ("--role", role, ROLES),
    ):
        for value in values or ():
            choose(option, value, valid)
    wanted = Filter(
        areas=tuple(area or ()),
        tags=tuple(tag or ()),
        severities=tuple(severity or ()),
        roles=tuple(role or ()),
        classes=tuple(error_class or ()),
        release=release,
    )
    sites = None
    if release is not None:
        from explain.sites import SiteIndex

        sites = SiteIndex.load()
        choose("--release", release.removeprefix("v"), sites.versions)
    print_records(catalogue, list_records(catalogue, wanted, sites), form, color, by_area=True)
    return 0


def load(form: str, color: str, patterns: Sequence[str] | None, only: bool) -> Catalogue:
    """The catalogue that a query asks, after its other options were checked."""
    choose("--format", form, FORMATS[:2])
    choose("--color", color, COLORS)
    check_patterns(patterns, only)
    from explain.catalogue import Catalogue

    catalogue = Catalogue.load([Path(path) for path in patterns or ()], only=only)
    report_problems(problems_of_user(catalogue, only))
    return catalogue


def like(name: str, catalogue: Catalogue) -> str:
    """Records whose slugs are like a name that is none, or that its words find."""
    from difflib import get_close_matches

    from explain.authoring.search import search

    slugs = [catalogue.record(number).slug for number in range(len(catalogue))]
    found = get_close_matches(name.lower(), slugs, n=3, cutoff=0.75)
    if not found:
        found = [slugs[hit.number] for hit in search(catalogue, name.replace("-", " "), 3)]
    return f"; did you mean {', '.join(found)}?" if found else ""


def print_records(catalogue: Catalogue, numbers: Sequence[int], form: str, color: str, *, by_area: bool) -> None:
    if form == "json":
        from explain.render.plain import encode, record_brief

        briefs = [{**(record_brief(catalogue.record(n)) or {}), "area": catalogue.area(n)} for n in numbers]
        emit(encode(briefs, indent=2))
        return
    from explain.render.page import render_list

    records = [catalogue.record(number) for number in numbers]
    # What is piped on is searched and cut by other programs: there a record stays on one line.
    emit_text(render_list(records, width=screen_width(10_000), color=wants_color(color), by_area=by_area))


def why_command(
    record: Annotated[str, typer.Argument(metavar="ID", help="A record: id, slug, or the beginning of one.")],
    sources: Annotated[Names, typer.Argument(metavar="SOURCE", help="Logs; - for standard input.")] = None,
    patterns: Patterns = None,
    only_patterns: OnlyPatterns = False,
) -> int:
    """Say why a record fires on a log, or how near it comes; without a log, what it looks for."""
    catalogue = load("terminal", "auto", patterns, only_patterns)
    found = catalogue.find(record)
    if len(found) != 1:
        slugs = ", ".join(catalogue.record(number).slug for number in found[:5])
        what = (
            f"is the beginning of {len(found)} records: {slugs}" if found else f"is no record{like(record, catalogue)}"
        )
        raise UsageProblem(f"{record}: {what}; name one record")
    from explain.render import safe
    from explain.render.text import fold
    from explain.run import standard_input
    from explain.sites import SiteIndex
    from explain.sources import open_sources
    from explain.why import tell

    wanted = sources or []
    inputs, problems = open_sources(wanted, standard_input(wanted))
    report_problems(problems)
    if wanted and not inputs:
        return FAILED
    lines, report = tell(found[0], catalogue, SiteIndex.load(), inputs)
    late = [problem for problem in report.problems if problem not in problems]
    report_problems(late)
    width = screen_width(10_000)  # what is piped on is searched: there a line stays one
    emit_text("".join(f"{row}\n" for line in lines for row in fold(safe.block(line), width)))
    return FAILED if problems or late else 0

"""Runs one explanation for the command line: opens, explains, writes, and chooses the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, BinaryIO

from explain.catalogue import Catalogue
from explain.console import (
    FAILED,
    MATCHED,
    UsageProblem,
    complain,
    problems_of_user,
    report_problems,
    screen_width,
    wants_color,
)
from explain.engine import explain_sources
from explain.model import Event, Match, Problem, Report, Role, reason_of
from explain.render import safe
from explain.render.layout import NO_SOURCE, OwnSource
from explain.sites import SiteIndex
from explain.sources import Input, open_sources

if TYPE_CHECKING:
    from pathlib import Path

_SERIOUS = frozenset({"critical", "error"})


def explain(
    names: Sequence[str],
    *,
    form: str = "terminal",
    output: Path | None = None,
    patterns: Sequence[Path] = (),
    only_patterns: bool = False,
    show_all: bool = False,
    fail_on: str = "never",
    color: str = "auto",
    sglang: Path | None = None,
) -> int:
    """Explains the sources and prints the report; returns the exit code.

    Sources that cannot be read and records that cannot be used are named on standard error; the rest is
    explained all the same.
    """
    inputs, problems = open_sources(names, standard_input(names))
    report_problems(problems)
    if not inputs:
        return FAILED
    catalogue, sites, unusable = load_knowledge(patterns, only=only_patterns, sglang=sglang)
    with open_output(output, inputs) as target:
        if form == "jsonl":
            report = stream_lines(inputs, catalogue, sites, problems, target)
        else:
            report = explain_sources(inputs, catalogue, sites, problems=problems)
            source = source_of_cause(report, sglang) if form in ("terminal", "markdown") else NO_SOURCE
            shown = rendered(report, form, to_screen=output is None, color=color, show_all=show_all, source=source)
            target.write(shown)
        target.flush()
    late = [problem for problem in report.problems if problem not in problems]
    broken = {problem.path for problem in late}
    late += [
        Problem(source.path, "", "is empty", "check that the log was written to it")
        for source in report.sources
        if not source.bytes and source.path not in broken
    ]
    report_problems(late)
    if problems or late or unusable:
        return FAILED
    return MATCHED if fails(report, fail_on) else 0


def load_knowledge(
    patterns: Sequence[Path], *, only: bool, sglang: Path | None
) -> tuple[Catalogue, SiteIndex, list[Problem]]:
    """What logs are explained with. What of the user's own cannot be used is told and returned."""
    catalogue = Catalogue.load(patterns, only=only)
    unusable = problems_of_user(catalogue, only)
    report_problems(unusable)
    sites, unread = load_sites(sglang)
    report_problems(unread)
    return catalogue, sites, unusable + unread


def load_sites(sglang: Path | None) -> tuple[SiteIndex, list[Problem]]:
    """The site index, with the sites of the user's own copy of SGLang where one is named or installed beside us.

    An installed copy of a release that the index knows adds nothing and is not read.
    """
    sites = SiteIndex.load()
    if sglang is None:
        from explain.sitesource import installed_release, installed_sglang

        root = installed_sglang()
        release = installed_release(root) if root is not None else None
        if root is None or release is None or release in sites.versions:
            return sites, []
        sglang = root
    if not sglang.exists():
        raise UsageProblem(f"--sglang {sglang}: does not exist; name a checkout, a wheel or a site-packages folder")
    from explain.authoring.harvest_extend import extended

    return extended(sites, sglang)


def source_of_cause(report: Report, sglang: Path | None) -> OwnSource:
    """The source around the first cause in the user's own copy of SGLang; empty where there is none."""
    first = report.findings[0] if report.findings else None
    if first is None or first.role != "cause" or (first.site is None and first.frame is None):
        return NO_SOURCE
    from explain.atsource import at_source

    return at_source(report, sglang)


def standard_input(names: Sequence[str]) -> BinaryIO | None:
    """The bytes of standard input where `-` asks for them; says so to someone who sits before a terminal."""
    if "-" not in names:
        return None
    if sys.stdin is None:
        raise UsageProblem("-: standard input is closed; name a file")
    if sys.stdin.isatty():
        complain("reading from the terminal: paste the log, then press Ctrl-D (Ctrl-Z and Enter on Windows)")
    return sys.stdin.buffer


def open_output(path: Path | None, inputs: Sequence[Input]) -> AbstractContextManager[Any]:
    """Where to write: the file, or standard output. A log that is read is never written over."""
    if path is None:
        return nullcontext(sys.stdout.buffer)
    try:
        if any(one.name != "-" and path.exists() and os.path.samefile(path, one.name) for one in inputs):
            raise UsageProblem(f"--output {path}: this is one of the logs to read; choose another name")
        return path.open("wb")
    except OSError as error:
        raise UsageProblem(f"--output {path}: cannot be written: {reason_of(error)}; choose another place") from None


def stream_lines(
    inputs: Sequence[Input],
    catalogue: Catalogue,
    sites: SiteIndex,
    problems: Sequence[Problem],
    target: BinaryIO,
) -> Report:
    """Writes each event as soon as it is known, the summary at the end."""
    from explain.render import jsonl

    def write(event: Event, match: Match, role: Role) -> None:
        target.write(jsonl.event(event, match, role, inputs[event.source].name))
        target.flush()

    report = explain_sources(inputs, catalogue, sites, problems=problems, on_event=write)
    target.write(jsonl.summary(report))
    return report


def rendered(
    report: Report, form: str, *, to_screen: bool, color: str, show_all: bool, source: OwnSource = NO_SOURCE
) -> bytes:
    """The report in the format, as bytes for the screen or a file."""
    if form == "json":
        from explain.render import json

        return json.render(report)
    if form == "markdown":
        from explain.defaults import chosen_arguments, worked_out
        from explain.registry import registry
        from explain.render import markdown

        context = report.context
        chosen = chosen_arguments(context.server_args, context.sglang_version)
        resolved = worked_out(chosen, context.sglang_version, context.command)
        return markdown.render(
            report,
            chosen=chosen,
            worked_out=resolved,
            source=source,
            newest=next(reversed(registry().versions), None),
        )
    from explain.render import terminal

    colored = wants_color(color, to_screen)
    text = terminal.render(report, width=screen_width(), color=colored, show_all=show_all, source=source)
    return safe.encode(text, (sys.stdout.encoding or "utf-8") if to_screen else "utf-8")


def fails(report: Report, level: str) -> bool:
    """Whether `--fail-on` matches.

    `error`: there is a cause, or a consequence that is serious by its record or unknown to the catalogue: a
    log may hold only what followed from a failure. `warning`: or a warning, or a server
    that stopped going on.
    """
    if level == "never":
        return False
    if level == "warning" and report.context.stalled is not None:
        return True
    for finding in report.findings:
        serious = finding.record is None or finding.record.severity in _SERIOUS
        if finding.role == "cause" or (finding.role == "consequence" and serious):
            return True
        if level == "warning" and finding.role == "warning":
            return True
    return False

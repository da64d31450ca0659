"""The subcommands for those who write records."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from explain.console import FAILED, UsageProblem, emit_text, report_problems
from explain.render.text import plural

Names = list[str] | None


def check_command(
    paths: Annotated[Names, typer.Argument(metavar="PATH", help="Files or folders; all records without.")] = None,
) -> int:
    """Check records, by themselves and against the whole catalogue, and list every problem at once."""
    from explain.authoring.check import check_paths
    from explain.catalogue import CHECKOUT

    if not paths and not Path(CHECKOUT).is_dir():
        raise UsageProblem("check: name files or folders of records; those of this installation are packed")
    for path in paths or ():
        if not Path(path).exists():
            raise UsageProblem(f"{path}: does not exist; name files or folders of records")
    book, problems = check_paths([Path(path) for path in paths or (CHECKOUT,)])
    for problem in problems:
        emit_text(f"{' '.join(str(problem).split())}\n")
    emit_text(f"{plural(len(book.chosen), 'record')} checked, {plural(len(problems), 'problem')}\n")
    return FAILED if problems else 0


def new_command(
    name: Annotated[str, typer.Argument(metavar="AREA/SLUG", help="What the record will be called.")],
    into: Annotated[
        str | None, typer.Option("--into", metavar="FOLDER", help="Folder of records, instead of patterns/.")
    ] = None,
) -> int:
    """Start a record from what standard input shows: a failing line, a traceback, or a saved error page.

    Facts are filled in, what people read is left to be written; check tells what is missing.
    """
    from explain.authoring.new import CannotStart, record_path, skeleton, write_skeleton
    from explain.catalogue import CHECKOUT
    from explain.sites import SiteIndex

    if into is None and not Path(CHECKOUT).is_dir():
        raise UsageProblem("new: say where with --into FOLDER; the records of this installation are packed")
    root = Path(into) if into is not None else Path(CHECKOUT)
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageProblem(f"new: pipe in the failing line: sglang-explain new {name} < traceback.txt")
    try:
        slug = record_path(root, name).stem
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
        made = skeleton(text, slug, SiteIndex.load())
        path = write_skeleton(root, name, made)
    except CannotStart as error:
        raise UsageProblem(str(error)) from None
    emit_text(
        "".join(
            f"{line}\n"
            for line in (
                f"wrote {path}",
                *made.notes,
                f"next: write what is empty, then sglang-explain check {path}",
            )
        )
    )
    return 0


def harvest_command(
    sources: Annotated[Names, typer.Argument(metavar="SOURCE", help="Wheels, or folders of one release each.")] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Where to write, instead of patterns/sites."),
    ] = None,
) -> int:
    """Read SGLang releases and write the index of every error they can print."""
    from explain.authoring.harvest import harvest
    from explain.catalogue import CHECKOUT

    if not sources:
        raise UsageProblem(
            "harvest: name wheels or folders of SGLang releases; patterns/README.md says how to get them"
        )
    if output is None and not Path(CHECKOUT).is_dir():
        raise UsageProblem("harvest: say where with --output FOLDER; this installation has no patterns/")
    target = Path(output) if output is not None else Path(CHECKOUT, "sites")
    problems = harvest([Path(source) for source in sources], target)
    report_problems(problems)
    return FAILED if problems else 0

"""Every problem of every record, one a line, the file first.

`python -m explain.authoring.check PATH...` checks the records under the paths against the whole catalogue.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from explain.authoring.book import Book, read_book
from explain.authoring.checks import CHECKS
from explain.catalogue import CHECKOUT
from explain.model import Problem

HEALTHY = Path(CHECKOUT).parent / "tests" / "logs"
"""Logs named `healthy*` in here are those that no record of a failure may match."""


def check_paths(
    paths: Sequence[Path], *, healthy: Sequence[Path] = (), names: Sequence[str] = ()
) -> tuple[Book, list[Problem]]:
    """All problems of the records under `paths`, in the order of files.

    Ids, examples and sentences are compared with the shipped catalogue. `healthy` are further healthy logs;
    `names` picks checks.
    """
    book = read_book(paths, [*sorted(HEALTHY.glob("healthy*")), *healthy])
    return book, check_book(book, names)


def check_book(book: Book, names: Sequence[str] = ()) -> list[Problem]:
    """All problems of the records the book is to check."""
    problems = list(book.problems)
    for entry in book.chosen:
        for name, run in CHECKS.items():
            if not names or name in names:
                run(entry, book)
        problems += entry.problems
    return problems


def main(arguments: Sequence[str] | None = None) -> int:
    """The checks without the rest of the program, for its own development."""
    parser = argparse.ArgumentParser(prog="check", description="Check records.")
    parser.add_argument("paths", nargs="*", type=Path, default=[Path(CHECKOUT)])
    parser.add_argument("--only", action="append", default=[], choices=list(CHECKS), help="run this check")
    parser.add_argument("--healthy", action="append", default=[], type=Path, help="a further healthy log")
    options = parser.parse_args(arguments)
    book, problems = check_paths(options.paths, healthy=options.healthy, names=options.only)
    for problem in problems:
        print(problem)
    print(f"{len(book.chosen)} records, {len(problems)} problems", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""`from explain import explain`: what the command does, for programs."""

from __future__ import annotations

from collections.abc import Iterable
from io import BytesIO
from os import PathLike, fspath
from typing import TYPE_CHECKING

from explain.model import Report

if TYPE_CHECKING:
    from explain.catalogue import Catalogue


def explain(log: str | PathLike[str] | Iterable[str | bytes], *, catalogue: Catalogue | None = None) -> Report:
    """The report on a log: its path, or its lines (with or without line ends).

    A string is a path, unless it has a line feed: then it is the text itself. Without a catalogue the one
    that comes with the program is used. Raises `OSError` where the path cannot be read at all; what went
    wrong half-way is in `report.problems`.
    """
    from explain.catalogue import Catalogue
    from explain.engine import explain_sources
    from explain.sites import SiteIndex
    from explain.sources import open_sources

    paths, text = (["-"], BytesIO(_joined(log))) if _is_text(log) else ([fspath(log)], None)  # type: ignore[arg-type]
    inputs, problems = open_sources(paths, text)
    if problems and not inputs:
        raise OSError(str(problems[0]))
    return explain_sources(inputs, catalogue or Catalogue.load(), SiteIndex.load(), problems=problems)


def _is_text(log: str | PathLike[str] | Iterable[str | bytes]) -> bool:
    return "\n" in log if isinstance(log, str) else not isinstance(log, PathLike)


def _joined(log: str | PathLike[str] | Iterable[str | bytes]) -> bytes:
    if isinstance(log, str | bytes):
        lines: Iterable[str | bytes] = [log]
    else:
        assert not isinstance(log, PathLike)
        lines = log
    parts = [line.encode("utf-8", "surrogateescape") if isinstance(line, str) else line for line in lines]
    return b"".join(part if part.endswith(b"\n") else part + b"\n" for part in parts)

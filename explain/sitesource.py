"""The user's own copy of SGLang: where it is, and the source around a site. Read only, never imported."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING

from explain.model import SiteInfo
from explain.templates import parsed
from explain.values import dataclass

if TYPE_CHECKING:
    from pathlib import Path

AROUND = 4
PUBLIC = "https://github.com/sgl-project/sglang/blob"


@dataclass(frozen=True, slots=True)
class SourceLine:
    """One line of a source file; `here` is true for the site's own."""

    number: int
    text: str
    here: bool


def installed_sglang() -> Path | None:
    """The folder that holds `sglang/` of the SGLang installed beside us; it is not imported."""
    try:
        spec = importlib.util.find_spec("sglang")
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    from pathlib import Path

    return Path(next(iter(spec.submodule_search_locations))).parent


def installed_release(root: Path) -> str | None:
    """The release of the SGLang installed under `root`, as its metadata names it; None where it has none."""
    names = sorted(path.name for path in root.glob("sglang-*.dist-info"))
    return names[-1].removesuffix(".dist-info").partition("-")[2] if names else None


def source_around(root: Path, site: SiteInfo, line: int | None = None, around: int = AROUND) -> list[SourceLine]:
    """The lines around a site in the copy of SGLang under `root`; empty where that copy does not have it.

    `line` is the line a traceback prints, good for this copy only when the log is of the same one. The site's
    text decides: where the line does not hold it, the function's nearest line that does is shown.
    """
    text = read_source(root, site.file)
    if text is None:
        return []
    lines = text.splitlines()
    near = line or site.line or 1
    literal = max((p.strip() for p in parsed(site.template) if isinstance(p, str)), key=len, default="")
    # A message is often broken over several source lines, so its beginning has to do.
    words = [" ".join(literal.split()[:count]) for count in (6, 4, 3)] if literal else []
    for start in words:
        places = [number for number, text in enumerate(lines, 1) if start and start in text]
        if places:
            place = min(places, key=lambda number: abs(number - near))
            break
    else:
        if site.template or line is None or line > len(lines):
            return []
        place = line
    return lines_around(lines, place, around)


def read_source(root: Path, file: str) -> str | None:
    """The text of a file of SGLang, `file` from `sglang/` on; None where the copy has none or it cannot be read."""
    path = next(
        (p for p in (root / file, root / "python" / file, root.parent / file) if p.is_file()),
        None,
    )
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace") if path is not None else None
    except OSError:
        return None


def lines_around(lines: Sequence[str], place: int, around: int = AROUND) -> list[SourceLine]:
    """The lines of a file around one of them."""
    first, last = max(place - around, 1), min(place + around, len(lines))
    return [SourceLine(number, lines[number - 1], number == place) for number in range(first, last + 1)]


def public_url(site: SiteInfo) -> str | None:
    """The site's line in the last release that has it, on GitHub."""
    if site.line is None or not site.last_version:
        return None
    return f"{PUBLIC}/v{site.last_version}/python/{site.file}#L{site.line}"

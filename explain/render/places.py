"""Says in words where and how often something happened: sources, ranks, frames, releases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from explain.expressions import expression
from explain.model import Finding, Frame, Place, SiteInfo, Source
from explain.render import safe
from explain.render.text import clip_left, plural

_PACKAGE = expression(r"(?:^|/)(?:site-packages|dist-packages|python)/(?=sglang/)")
_TREE = expression(r"(?:^|/)(?=sglang/(?:srt|lang|multimodal_gen|jit_kernel|kernels|cli|eval|test)/|sglang/\w+\.py$)")
_LABEL = expression(r"([A-Z][A-Z_]*?)(\d+)\Z")


def package_path(path: str) -> str:
    """The path of a file inside its Python package: from `sglang/` on where it is SGLang's.

    Files of other packages start after `site-packages`; what is neither stays as it is.
    """
    path = path.replace("\\", "/")
    for pattern in (_PACKAGE, _TREE):
        match = pattern.search(path)
        if match:
            return path[match.end() :]
    _, packages, rest = path.rpartition("-packages/")
    return rest if packages else path


def deepest_frame(frames: Sequence[Frame]) -> Frame | None:
    """The deepest frame that is SGLang's, else the deepest, its file as `package_path` writes it."""
    for frame in reversed(frames):
        file = package_path(frame.file)
        if file.startswith("sglang/"):
            return Frame(file, frame.line, frame.function, frame.code)
    if not frames:
        return None
    last = frames[-1]
    return Frame(package_path(last.file), last.line, last.function, last.code)


def place_words(place: Place, *, short: bool = False) -> str:
    """`server.log:14`; `line 14` of standard input, or where there is no other source."""
    if short or place.source == "-":
        return f"line {place.line}"
    return f"{safe.line(place.source)}:{place.line}"


def short_place(place: Place, sources: Sequence[Source], room: int) -> str:
    """A place for a line that must also hold a title: no more of the path than tells it from the others.

    The end of a path says most; what leads to all sources alike is left out, then what does not fit.
    """
    if place.source == "-" or len(sources) == 1:
        return place_words(place, short=True)
    paths = [one.path for one in sources if one.path != "-"] or [place.source]
    # What the first and the last of a sorted list share, all of it share.
    pairs = zip(min(paths), max(paths), strict=False)
    shared = "".join(left for left, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    name = safe.line(place.source[max(shared.rfind(mark) for mark in "/\\") + 1 :])
    line = f":{place.line}"
    return clip_left(name, max(room - len(line), 8)) + line


def frame_words(frame: Frame) -> str:
    """`sglang/srt/server_args.py:12 in check`."""
    function = f" in {safe.line(frame.function)}" if frame.function else ""
    return f"{safe.line(package_path(frame.file))}:{frame.line}{function}"


def stack_words(frames: Sequence[Frame], limit: int) -> list[str]:
    """The deepest frames, the deepest first; what is left out is counted."""
    shown = [frame_words(frame) for frame in reversed(frames[-limit:])]
    left = len(frames) - len(shown)
    return [*shown, f"… {plural(left, 'frame')} above"] if left > 0 else shown


def rank_words(ranks: Sequence[str], limit: int = 4) -> str:
    """`TP0 to TP7`, `DP0 TP1 and DP1 TP3`; a long list without order is shortened and counted."""
    clean = [safe.line(rank) for rank in ranks if rank]
    parsed = [[_LABEL.match(label) for label in rank.split()] for rank in clean]
    if len(clean) > 2 and all(all(labels) for labels in parsed):
        names = {tuple(label.group(1) for label in labels if label) for labels in parsed}
        columns = [[int(label.group(2)) for label in column if label] for column in zip(*parsed, strict=False)]
        moving = [column for column in columns if len(set(column)) > 1]
        # All labels that differ count up together, rank by rank: one range says it all.
        if len(names) == 1 and all(_counts_up(sorted(column)) for column in moving):
            order = sorted(range(len(clean)), key=lambda index: [column[index] for column in moving])
            if all(_counts_up([column[index] for index in order]) for column in moving):
                return f"{clean[order[0]]} to {clean[order[-1]]}"
    if len(clean) > limit:
        return f"{', '.join(clean[: limit - 1])} … {clean[-1]} ({len(clean)} ranks)"
    return f"{', '.join(clean[:-1])} and {clean[-1]}" if len(clean) > 1 else "".join(clean)


def _counts_up(column: Sequence[int]) -> bool:
    return all(number == column[0] + step for step, number in enumerate(column))


def often_words(finding: Finding) -> str:
    """`TP0 to TP7 (8 times)`, `8 times`; empty for what happened once on no rank in particular."""
    ranks = rank_words(finding.ranks)
    times = f"{finding.count:,} times" if finding.count > 1 else ""
    return f"{ranks} ({times})" if ranks and times else ranks or times


def time_words(finding: Finding) -> str:
    """The time of the first event; the last one's too where it differs."""
    first, last = safe.line(finding.first.time or ""), safe.line(finding.last.time or "")
    if not first or not last or first == last:
        return first
    pairs = zip(first, last, strict=False)
    shared = next((index for index, (left, right) in enumerate(pairs) if left != right), min(len(first), len(last)))
    cut = max(first.rfind(" ", 0, shared), first.rfind("T", 0, shared)) + 1
    return f"{first} to {last[cut:]}"


def error_words(finding: Finding) -> str:
    """`ValueError: the message`, as one line."""
    message = safe.line(finding.message)
    if not finding.exception:
        return message
    exception = safe.line(finding.exception)
    return f"{exception}: {message}" if message else exception


def release_words(site: SiteInfo) -> str:
    """In which releases a site exists, as a sentence; empty where the index does not know.

    A message that is gone may live on in other words, so no more is said than that.
    """
    first, last = safe.line(site.first_version), safe.line(site.last_version)
    if not first or not last:
        return ""
    missing = f", except {', '.join(map(safe.line, site.gaps))}" if site.gaps else ""
    if not site.gone:
        return f"Since SGLang {first}{missing}"
    span = f"SGLang {first} only" if first == last else f"SGLang {first} to {last}{missing}"
    what = "do not print it in these words" if site.template else "do not have this check"
    return f"{span}; later releases {what}"


def written_by(site: SiteInfo, server: str | None) -> bool:
    """Whether the server's release, as the context has it, can be one of the site's; true where unknown."""
    if not server or not site.first_version or not site.last_version:
        return True
    low, _, high = server.partition(" to ")
    return _numbers(site.first_version) <= _numbers(high or low) and (_numbers(low) <= _numbers(site.last_version))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d{1,9}", version)))


def site_words(site: SiteInfo) -> str:
    """`sglang/srt/server_args.py:12 in check`, the line being that of the last release that has it."""
    line = f":{site.line}" if site.line else ""
    return safe.line(f"{site.file}{line} in {site.function}" if site.function else f"{site.file}{line}")


def site_link(site: SiteInfo) -> str:
    """The page of a site's line on GitHub, in the last release that has it; empty where unknown."""
    if not site.file or not site.last_version:
        return ""
    line = f"#L{site.line}" if site.line else ""
    return f"https://github.com/sgl-project/sglang/blob/v{site.last_version}/python/{site.file}{line}"

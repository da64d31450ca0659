"""The skeleton of a record from a failing line, a traceback, or a saved page about the error.

Facts are filled in: pattern, class, place, example. What people read is left empty: it has to be written, and
`check` asks for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from explain.authoring.examples import events_of, plain_lines
from explain.authoring.saved_page import facts_of_page, looks_like_page
from explain.authoring.slots import escaped, pattern_of_message, pattern_of_template
from explain.model import Event, Problem, Record, SiteInfo, reason_of
from explain.needles import needles
from explain.pattern import compile_error
from explain.record import DATASET_FIELDS, derive_id, read_records, short_title
from explain.render.safe import mask

if TYPE_CHECKING:
    from explain.sites import SiteIndex

SGLANG = "sgl-project/sglang"
MOST_EXAMPLE_LINES = 40
MOST_TRACEBACK_LINES = 500
NAME = re.compile(r"(?P<area>[a-z0-9]+(?:-[a-z0-9]+)*)/(?P<slug>[a-z0-9]+(?:-[a-z0-9]+)*)")
OURS_BEHIND = {"slug": ("title", "role"), "lineNumber": ("frames",)}
"""Where our own fields stand among the dataset's."""


class CannotStart(Exception):
    """There is nothing to make a skeleton from, or nowhere to put it. `problem` says what to do."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A record's fields in the order of the files, and what its writer should know."""

    fields: dict[str, Any]
    notes: tuple[str, ...] = ()


def skeleton(text: str, slug: str, sites: SiteIndex | None = None) -> Skeleton:
    """The skeleton of a record for what `text` shows: log lines, a saved error page, or a dataset's record.

    Of a log the innermost exception is taken, else the first error, else the last message. Raises
    `CannotStart` where the text shows nothing.
    """
    if text.lstrip()[:1] in ("{", "["):
        records, _ = read_records(Path("-"), text.encode(), "")
        if records:
            return _from_record(records[0], slug)
    if looks_like_page(text):
        return _from_page(text, slug)
    lines = [mask(line) for line in plain_lines(text.splitlines())]
    event = telling_event(events_of(lines))
    if event is None:
        hint = "pipe in the failing line or the traceback"
        raise CannotStart(Problem("standard input", "", "holds no message and no traceback", hint))
    return _from_event(event, lines, slug, sites)


def telling_event(events: Sequence[Event]) -> Event | None:
    """The event a record would be about."""
    exceptions = [event for event in events if event.exception]
    for event in exceptions:
        if event.chain == 0:
            return event
    errors = [event for event in events if event.level in ("ERROR", "CRITICAL", "FATAL")]
    native = [event for event in events if event.kind == "native"]
    return next(iter(exceptions or native or errors), events[-1] if events else None)


def _from_event(event: Event, lines: Sequence[str], slug: str, sites: SiteIndex | None) -> Skeleton:
    site = site_of(event, sites) if sites is not None else None
    notes = []
    message = event.message or event.exception or event.text
    if not event.message and event.exception:
        pattern = rf"^{escaped(event.exception)}(?:: ?)?$"
    elif site is not None:
        pattern = pattern_of_template(site.template)
    else:
        pattern = pattern_of_message(message)
    if site is not None:
        notes.append(f"raised by {site.file} in {site.function}, releases {site.first_version} to {site.last_version}")
    else:
        notes.append("the site index does not know this message: check the slots of messagePattern")
    fields: dict[str, Any] = {
        "repo": SGLANG if site is not None or _sglang_frames(event) else "",
        "errorMessage": message,
        "messagePattern": pattern,
        "errorType": {"message": "log", "native": "native"}.get(event.kind, "exception"),
        "errorClass": event.exception,
        "examples": [example_lines(event, lines)],
    }
    if not fields["repo"]:
        notes.append("repo: name the repository the error comes from, owner/name")
    if site is not None:
        fields["filePath"] = f"python/{site.file}"
        fields["lineNumber"] = site.line
        anchor = f"#L{site.line}" if site.line else ""
        address = f"https://github.com/{SGLANG}/blob/v{site.last_version}/python/{site.file}"
        fields["githubUrl"] = address + anchor
    frames = _sglang_frames(event)
    if (not needles(pattern) or not event.message) and frames:
        fields["frames"] = [frames[-1]]
        notes.append(f"the message has no literal text to find it by: frames names {frames[-1]}")
    if (reason := compile_error(pattern)) is not None:
        notes.append(f"messagePattern does not compile: {reason}")
    return _skeleton(fields, slug, notes)


def site_of(event: Event, sites: SiteIndex) -> SiteInfo | None:
    """The place in SGLang's source that prints the event's message; the longest template of several."""
    text = event.message.lower()
    candidates = {
        number
        for needle, caseless, number in sites.needles()
        if (needle in text if caseless else needle in event.message)
    }
    fitting = [n for n in candidates if sites.confirm(n, event.exception, event.message) is not None]
    if not fitting:
        return None
    best = max(fitting, key=sites.literal_length)
    return sites.site(best, event.frames)


def _sglang_frames(event: Event) -> list[str]:
    """The traceback's SGLang frames as `frames` names them, the deepest last."""
    found = []
    for frame in event.frames:
        _, package, rest = frame.file.replace("\\", "/").rpartition("/sglang/")
        if package:
            found.append(f"sglang/{rest}:{frame.function}")
    return found


def example_lines(event: Event, lines: Sequence[str]) -> list[str]:
    """The event's own lines, without the code below frames: it is SGLang's, not ours."""
    own = list(lines[traceback_start(event, lines) : event.end_line])
    kept: list[str] = []
    after_frame = False
    for line in own:
        is_code = after_frame and line.startswith("    ") and not line.lstrip().startswith("File ")
        if is_code or re.fullmatch(r"\s+[\^~]+\s*", line):
            continue
        after_frame = bool(re.match(r'\s*File "', line))
        kept.append(line)
    if len(kept) > MOST_EXAMPLE_LINES:
        head = MOST_EXAMPLE_LINES // 4
        kept = kept[:head] + kept[head - MOST_EXAMPLE_LINES :]
    return kept


def traceback_start(event: Event, lines: Sequence[str]) -> int:
    """The index of the line an event's traceback begins on; of its own first line where it has none."""
    first = event.line - 1
    if event.frames:
        for position in range(first, max(first - MOST_TRACEBACK_LINES, -1), -1):
            if "Traceback (most recent call last):" in lines[position]:
                return position
    return first


def _from_record(record: Record, slug: str) -> Skeleton:
    """The facts of a record of a dataset. Its prose and code are another's and stay out."""
    facts = (
        "id",
        "repo",
        "errorCode",
        "errorMessage",
        "messagePattern",
        "errorType",
        "errorClass",
        "httpStatus",
    )
    more = ("severity", "filePath", "lineNumber", "githubUrl", "backgroundTag", "analyzedSha", "analyzedAt")
    fields = {name: record.raw.get(name) for name in (*facts, *more)}
    fields["messagePattern"] = record.pattern
    fields["examples"] = [example_of(record.error_class, record.error_message)]
    return _skeleton(fields, slug, ["facts are those of the dataset's record; the prose has to be written"])


def _from_page(text: str, slug: str) -> Skeleton:
    fields = facts_of_page(text)
    fields["messagePattern"] = pattern_of_message(fields.get("errorMessage") or "")
    fields["examples"] = [example_of(fields.get("errorClass"), fields.get("errorMessage") or "")]
    missing = [name for name in ("id", "repo", "errorMessage", "filePath") if not fields.get(name)]
    notes = ["facts are those of the page; the prose has to be written"]
    if missing:
        notes.append(f"the page does not say: {', '.join(missing)}")
    return _skeleton(fields, slug, notes)


def example_of(error_class: str | None, message: str) -> list[str]:
    """A log that would show the error."""
    if not error_class:
        return [f"[2026-11-30 08:14:58] {message}"]
    heading = "[2026-11-30 08:14:58] Scheduler hit an exception: Traceback (most recent call last):"
    return [heading, *f"{error_class}: {message}".split("\n")]


def _skeleton(known: dict[str, Any], slug: str, notes: Sequence[str]) -> Skeleton:
    message = known.get("errorMessage") or ""
    # A message without text is not one error's alone: the place it comes from is.
    template = "\n".join((message, *known.get("frames", ())))
    known["id"] = known.get("id") or derive_id(known.get("repo") or "", known.get("errorClass"), template)
    empty: dict[str, Any] = {
        "severity": "error",
        "documentation": "",
        "triggerScenarios": "",
        "commonSituations": "",
        "solutions": [],
        "handlingStrategy": "",
        "preventionTips": [],
        "tags": [],
        "schemaVersion": 2,
    }
    ours = {"title": short_title(message), "role": "cause", "frames": known.get("frames", [])}
    fields: dict[str, Any] = {}
    for name in DATASET_FIELDS:
        fields[name] = known[name] if known.get(name) is not None else empty.get(name)
        for added in OURS_BEHIND.get(name, ()):
            if ours[added] != []:
                fields[added] = ours[added]
    fields["slug"] = slug
    fields |= {"examples": known["examples"], "nearMisses": [], "also": [], "fits": [], "references": []}
    return Skeleton(fields, tuple(notes))


def write_skeleton(root: Path, name: str, made: Skeleton) -> Path:
    """Writes `root/area/slug.json` and returns its path. Never overwrites: raises `CannotStart` instead."""
    path = record_path(root, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(json.dumps(made.fields, indent=2, ensure_ascii=False) + "\n")
    except FileExistsError:
        raise CannotStart(Problem(str(path), "", "exists already", "edit it, or choose another slug")) from None
    except OSError as error:
        raise CannotStart(Problem(str(path), "", f"cannot be written: {reason_of(error)}")) from error
    return path


def record_path(root: Path, name: str) -> Path:
    """The file of a record called `area/slug`; raises `CannotStart` for any other name."""
    found = NAME.fullmatch(name)
    if found is None:
        hint = "lower-case words joined by hyphens, such as lora/adapter-rank-too-large"
        raise CannotStart(Problem(name, "", "is not AREA/SLUG", hint))
    return root / found["area"] / f"{found['slug']}.json"

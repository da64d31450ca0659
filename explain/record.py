"""Dataset JSON -> `Record`. Collects every problem with its file and JSON pointer.

A file holds one record, an array of records or JSON Lines; each record bare or wrapped as
`{"record": {...}, "datasetVersion": ...}`. Fields that are not known are kept in `raw`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any, cast

from explain.digest import digest_of
from explain.fields import FieldReader, kind_of
from explain.model import ROLES, Fit, NearMiss, Problem, Record, Role

if TYPE_CHECKING:
    from pathlib import Path

TITLE_LENGTH = 70

DATASET_FIELDS = (
    *("id", "repo", "slug", "errorCode", "errorMessage", "messagePattern", "errorType", "errorClass"),
    *("httpStatus", "severity", "filePath", "lineNumber", "sourceCode", "sourceCodeStart", "sourceCodeEnd"),
    *("githubUrl", "documentation", "triggerScenarios", "commonSituations", "solutions", "exampleFix"),
    *("handlingStrategy", "validationCode", "typeGuard", "tryCatchPattern", "preventionTips", "tags"),
    *("backgroundTag", "analyzedSha", "analyzedAt", "schemaVersion"),
)
OUR_FIELDS = ("title", "role", "examples", "nearMisses", "also", "fits", "references", "frames")

SEVERITIES = ("critical", "error", "warning", "info")


def derive_id(repo: str, error_class: str | None, template: str) -> str:
    """16 hex digits from what identifies an error, so that the id survives moved lines."""
    text = "\n".join((repo, error_class or "", template))
    return digest_of(text)[:16]


def derive_slug(message: str) -> str:
    """A slug from a message: its first words in lower case, joined by hyphens, 50 characters at most."""
    words = re.findall(r"[a-z0-9]+", message.lower())
    slug = "-".join(words)[:50].strip("-")
    return slug or "record"


def short_title(message: str) -> str:
    """The first line of a message, cut at a word to fit a title."""
    first = " ".join(message.partition("\n")[0].split())
    if len(first) <= TITLE_LENGTH:
        return first
    return first[: TITLE_LENGTH - 1].rpartition(" ")[0].rstrip(" ,.:;") + "…"


def read_records(path: Path, text: bytes, area: str) -> tuple[list[Record], list[Problem]]:
    """All good records of a file's bytes, and a problem for everything else in it.

    A record with a wrong optional field is a bad record: it is reported and left out, the others of the
    file still count. `area` is the folder's name, "" for none.
    """
    problems: list[Problem] = []
    records: list[Record] = []
    for pointer, value in _values(path, text, problems):
        reader = FieldReader(str(path), pointer, problems)
        record = read_record(reader, value, area)
        if record is not None:
            records.append(record)
    return records, problems


def _values(path: Path, text: bytes, problems: list[Problem]) -> Iterator[tuple[str, Any]]:
    """Every record-like value of a file, with the JSON pointer to it."""
    text = text.removeprefix(b"\xef\xbb\xbf")
    if not text.strip():
        problems.append(Problem(str(path), "", "is empty", "a file holds one record, an array or JSON Lines"))
        return
    try:
        whole = _parsed(text)
    except JSONDecodeError as error:
        if not _looks_like_lines(text):
            place = f"line {error.lineno} column {error.colno}"
            problems.append(Problem(str(path), place, f"is not valid JSON: {error.msg}", "correct it there"))
            return
        yield from _line_values(path, text, problems)
        return
    if isinstance(whole, list):
        for index, value in enumerate(whole):
            yield from _unwrapped(f"/{index}", value)
    else:
        yield from _unwrapped("", whole)


def _parsed(text: bytes) -> Any:
    # Packed records are read without it, and its import takes longer than that.
    import orjson

    return orjson.loads(text)


def _looks_like_lines(text: bytes) -> bool:
    """Whether a text that is not one JSON value is JSON Lines: its first line is a value by itself."""
    first = next((line for line in text.splitlines() if line.strip()), b"")
    try:
        return isinstance(_parsed(first), dict | list)
    except JSONDecodeError:
        return b"\n{" in text.strip() and first.rstrip().endswith(b"}")


def _line_values(path: Path, text: bytes, problems: list[Problem]) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            value = _parsed(line)
        except JSONDecodeError as error:
            place = f"line {number} column {error.colno}"
            problems.append(Problem(str(path), place, f"is not valid JSON: {error.msg}"))
            continue
        yield from _unwrapped(f"line {number}: ", value)


def _unwrapped(pointer: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and isinstance(value.get("record"), dict):
        yield f"{pointer}/record", value["record"]
    else:
        yield pointer, value


def read_record(reader: FieldReader, value: Any, area: str) -> Record | None:
    """One record from its JSON value, None (and problems) where it is not sound."""
    if not isinstance(value, dict):
        reader.problem("", f"is {kind_of(value)}, must be a record object")
        return None
    reader.values = value
    message = reader.text("errorMessage")
    pattern = reader.text("messagePattern")
    if not pattern and message:
        pattern = re.escape(message)
    if not pattern:
        hint = "a record needs messagePattern, or an errorMessage to match"
        reader.problem("messagePattern", "is missing", hint)
    error_class = reader.optional_text("errorClass") or None
    severity = reader.text("severity", "error")
    if severity not in SEVERITIES:
        reader.problem("severity", f"is {severity!r}", f"one of {', '.join(SEVERITIES)}")
    record = Record(
        id=reader.text("id") or derive_id(reader.text("repo"), error_class, message or pattern),
        slug=reader.text("slug") or derive_slug(message or pattern),
        pattern=pattern,
        title=reader.text("title") or short_title(message or pattern),
        error_message=message,
        error_type=reader.text("errorType", "exception"),
        error_class=error_class,
        severity=severity,
        role=_role(reader, severity),
        file_path=reader.optional_text("filePath"),
        line_number=reader.optional_number("lineNumber"),
        documentation=reader.text("documentation"),
        trigger_scenarios=reader.text("triggerScenarios"),
        common_situations=reader.text("commonSituations"),
        solutions=reader.texts("solutions"),
        example_fix=reader.optional_text("exampleFix"),
        prevention_tips=reader.texts("preventionTips"),
        tags=reader.texts("tags"),
        github_url=reader.optional_text("githubUrl"),
        references=reader.texts("references"),
        examples=_examples(reader),
        near_misses=_near_misses(reader),
        also=reader.texts("also"),
        fits=_fits(reader),
        frames=reader.texts("frames"),
        area=area,
        source=reader.path,
        raw=value,
    )
    return record if reader.sound else None


def _role(reader: FieldReader, severity: str) -> Role:
    """The role a record states, else the one its severity suggests."""
    role = reader.optional_text("role")
    if role is None:
        return {"warning": "warning", "info": "noise"}.get(severity, "cause")  # type: ignore[return-value]
    if role not in ROLES:
        reader.problem("role", f"is {role!r}", f"one of {', '.join(ROLES)}")
    return cast(Role, role)


def _examples(reader: FieldReader) -> tuple[tuple[str, ...], ...]:
    examples = []
    for index, lines in enumerate(reader.array("examples")):
        if isinstance(lines, str):
            lines = lines.split("\n")
        if not isinstance(lines, list):
            reader.problem(f"examples/{index}", f"is {kind_of(lines)}, must be an array of log lines")
            continue
        examples.append(reader.all_text(f"examples/{index}", lines))
    return tuple(examples)


def _near_misses(reader: FieldReader) -> tuple[NearMiss, ...]:
    near_misses = []
    for index, value in enumerate(reader.array("nearMisses")):
        if not isinstance(value, dict) or not isinstance(value.get("lines"), list):
            hint = '{"lines": ["log line", ...], "because": "why not"}'
            reader.problem(f"nearMisses/{index}", "is not a near-miss", hint)
            continue
        because = value.get("because") or ""
        if not isinstance(because, str):
            reader.problem(f"nearMisses/{index}/because", f"is {kind_of(because)}, must be text")
            continue
        lines = reader.all_text(f"nearMisses/{index}/lines", value["lines"])
        near_misses.append(NearMiss(lines, because))
    return tuple(near_misses)


FIT_EFFECTS = ("first", "last", "reword", "already", "impossible")


def _fits(reader: FieldReader) -> tuple[Fit, ...]:
    fits = []
    listed = reader.values.get("solutions")
    solutions = len(listed) if isinstance(listed, list) else 0
    for index, value in enumerate(reader.array("fits")):
        place = f"fits/{index}"
        if not isinstance(value, dict):
            reader.problem(place, f"is {kind_of(value)}, must be an object")
            continue
        solution, when, text = value.get("solution"), value.get("when", {}), value.get("text")
        then = value.get("then", "first")
        if not isinstance(solution, int) or isinstance(solution, bool) or not 0 <= solution < solutions:
            reader.problem(f"{place}/solution", "is not the index of a solution", f"0 to {solutions - 1}")
        elif not isinstance(when, dict):
            reader.problem(f"{place}/when", f"is {kind_of(when)}, must be an object")
        elif text is not None and not isinstance(text, str):
            reader.problem(f"{place}/text", f"is {kind_of(text)}, must be text or null")
        elif then not in FIT_EFFECTS:
            reader.problem(f"{place}/then", f"is {then!r}", f"one of {', '.join(FIT_EFFECTS)}")
        else:
            fits.append(Fit(solution, when, text, then))
    return tuple(fits)

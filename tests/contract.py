"""Strict decoders of `--format json` and `--format jsonl`: unknown keys, missing keys, wrong types fail.

`check_json(obj)` and `check_jsonl_line(obj)` raise `AssertionError` with the JSON pointer of what is wrong.
The contract is the reference section of README.md; a key that is added there is added here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any, str], None]

ROLES = {"cause", "consequence", "warning", "noise"}
SEVERITIES = {"critical", "error", "warning", "info"}


def _fail(pointer: str, message: str) -> None:
    raise AssertionError(f"{pointer or '/'}: {message}")


def string(value: Any, pointer: str) -> None:
    if type(value) is not str:
        _fail(pointer, f"expected a string, got {value!r}")


def integer(value: Any, pointer: str) -> None:
    if type(value) is not int or value < 0:
        _fail(pointer, f"expected an integer of 0 or more, got {value!r}")


def line_number(value: Any, pointer: str) -> None:
    if type(value) is not int or value < 1:
        _fail(pointer, f"expected a line number from 1 on, got {value!r}")


def number(value: Any, pointer: str) -> None:
    if type(value) not in (int, float) or value < 0:
        _fail(pointer, f"expected a number of 0 or more, got {value!r}")


def any_number(value: Any, pointer: str) -> None:
    if type(value) not in (int, float):
        _fail(pointer, f"expected a number, got {value!r}")


def number_or_truth(value: Any, pointer: str) -> None:
    if type(value) not in (int, float, bool):
        _fail(pointer, f"expected a number, true or false, got {value!r}")


def confidence(value: Any, pointer: str) -> None:
    number(value, pointer)
    if value > 1:
        _fail(pointer, f"expected 0 to 1, got {value!r}")


def anything(value: Any, pointer: str) -> None:
    del value, pointer


def one_of(*values: str) -> Check:
    def check(value: Any, pointer: str) -> None:
        if value not in values:
            _fail(pointer, f"expected one of {values}, got {value!r}")

    return check


def matching(pattern: str) -> Check:
    def check(value: Any, pointer: str) -> None:
        string(value, pointer)
        if not re.fullmatch(pattern, value):
            _fail(pointer, f"expected {pattern}, got {value!r}")

    return check


def optional(check: Check) -> Check:
    return lambda value, pointer: None if value is None else check(value, pointer)


def array(check: Check) -> Check:
    def check_array(value: Any, pointer: str) -> None:
        if type(value) is not list:
            _fail(pointer, f"expected an array, got {value!r}")
        for index, item in enumerate(value):
            check(item, f"{pointer}/{index}")

    return check_array


def mapping(check: Check) -> Check:
    def check_mapping(value: Any, pointer: str) -> None:
        if type(value) is not dict:
            _fail(pointer, f"expected an object, got {value!r}")
        for key, item in value.items():
            check(item, f"{pointer}/{key}")

    return check_mapping


def fields(**checks: Check) -> Check:
    """An object with exactly these keys, in this order."""

    def check_fields(value: Any, pointer: str) -> None:
        if type(value) is not dict:
            _fail(pointer, f"expected an object, got {value!r}")
        if list(value) != list(checks):
            missing, unknown = [k for k in checks if k not in value], [k for k in value if k not in checks]
            _fail(pointer, f"keys differ: missing {missing}, unknown {unknown}, order {list(value)}")
        for key, check in checks.items():
            check(value[key], f"{pointer}/{key}")

    return check_fields


def whole_record(value: Any, pointer: str) -> None:
    """A record as it was read: the fields that every record has, and whatever else its file holds."""
    if type(value) is not dict:
        _fail(pointer, f"expected an object, got {value!r}")
    if "record" in value:
        _fail(pointer, "the record is still wrapped")
    for key in ("messagePattern", "documentation", "solutions"):
        if key not in value:
            _fail(pointer, f"misses {key}")


PLACE = fields(source=string, line=line_number, time=optional(string))
FRAME = fields(file=string, line=integer, function=string)
SITE = fields(
    file=matching(r"sglang/.+"),
    function=string,
    line=optional(line_number),
    first_version=string,
    last_version=string,
)
RECORD_BRIEF = fields(id=matching("[0-9a-f]{16}"), slug=matching(r"\S+"), title=string, severity=one_of(*SEVERITIES))
SOURCES = array(fields(path=string, lines=integer, bytes=integer))
CONTEXT = fields(
    sglang_version=optional(string),
    version_evidence=array(string),
    server_args=mapping(anything),
    args_place=optional(PLACE),
    command=optional(string),
    model=optional(string),
    quantization=optional(string),
    gpu=optional(string),
    attention_backend=optional(string),
    ranks=array(string),
    nodes=optional(integer),
    memory=array(
        fields(
            step=one_of("distributed", "weights_begin", "weights_end", "pool_end", "graph_begin", "graph_end"),
            rank=string,
            available=optional(any_number),
            used=optional(any_number),
            place=PLACE,
        )
    ),
    pools=array(fields(rank=string, tokens=integer, size=number, dtype=optional(string), place=PLACE)),
    limits=mapping(any_number),
    batches=array(fields(kind=one_of("prefill", "decode"), rank=string, fields=mapping(number_or_truth), place=PLACE)),
    lifetimes=array(fields(start=PLACE, ready=optional(PLACE), failed=optional(integer))),
    changes=array(fields(argument=string, before=anything, after=anything)),
    unfinished=array(string),
    stalled=optional(
        fields(
            kind=one_of("serving", "starting"),
            seconds=number,
            place=PLACE,
            until=PLACE,
            running=optional(integer),
            queued=optional(integer),
            step=optional(string),
            because=array(string),
        )
    ),
)
PROBLEMS = array(fields(path=string, pointer=string, message=string, hint=string))
STATS = fields(lines=integer, bytes=integer, events=integer, seconds=number)
FINDING = fields(
    role=one_of(*ROLES),
    count=line_number,
    ranks=array(string),
    first=PLACE,
    last=PLACE,
    exception=optional(string),
    message=string,
    captures=mapping(optional(string)),
    frame=optional(FRAME),
    site=optional(SITE),
    confidence=confidence,
    record=optional(whole_record),
    solutions=array(string),
    dropped=array(fields(solution=string, reason=string)),
    first_ranks=array(string),
    recovery=optional(
        fields(
            state=one_of("serving", "restarted", "dead", "unknown"),
            seconds=optional(number),
            place=optional(PLACE),
        )
    ),
    stuck=array(string),
    also=array(string),
    caused_by=optional(integer),
)
REPORT = fields(
    schema=one_of("sglang-explain/1"),
    version=string,
    sources=SOURCES,
    context=CONTEXT,
    findings=array(FINDING),
    unexplained=array(integer),
    advice=array(string),
    folded=integer,
    problems=PROBLEMS,
    stats=STATS,
)
EVENT = fields(
    type=one_of("event"),
    source=string,
    line=line_number,
    end_line=line_number,
    time=optional(string),
    rank=optional(string),
    kind=one_of("message", "traceback", "native"),
    exception=optional(string),
    message=string,
    frame=optional(FRAME),
    record=optional(RECORD_BRIEF),
    site=optional(SITE),
    role=one_of(*ROLES),
    captures=mapping(optional(string)),
    confidence=confidence,
)
SUMMARY = fields(
    type=one_of("summary"),
    schema=one_of("sglang-explain/1"),
    version=string,
    sources=SOURCES,
    context=CONTEXT,
    cause=optional(
        fields(
            count=line_number,
            ranks=array(string),
            first=PLACE,
            exception=optional(string),
            message=string,
            record=optional(RECORD_BRIEF),
            solutions=array(string),
        )
    ),
    findings=fields(cause=integer, consequence=integer, warning=integer, noise=integer),
    unexplained=integer,
    advice=array(string),
    folded=integer,
    problems=PROBLEMS,
    stats=STATS,
)


def check_json(report: Mapping[str, Any]) -> None:
    """`report`, the decoded output of `--format json`, is to the contract."""
    REPORT(report, "")
    findings = report["findings"]
    rank = {"cause": 0, "consequence": 1, "warning": 2, "noise": 3}
    if findings and any(finding["role"] == "cause" for finding in findings):
        assert findings[0]["role"] == "cause", "/findings/0: a cause exists and does not come first"
    assert rank.keys() == ROLES
    expected = [i for i, finding in enumerate(findings) if finding["record"] is None and finding["site"] is None]
    assert report["unexplained"] == expected, f"/unexplained: expected {expected}, got {report['unexplained']}"
    for index, finding in enumerate(findings):
        caused_by = finding["caused_by"]
        if caused_by is not None and (caused_by >= len(findings) or caused_by == index):
            _fail(f"/findings/{index}/caused_by", f"no other finding: {caused_by}")
        for key in ("first", "last"):
            if finding[key]["source"] not in {source["path"] for source in report["sources"]}:
                _fail(f"/findings/{index}/{key}/source", "is none of /sources")


def check_jsonl_line(line: Mapping[str, Any]) -> None:
    """`line`, one decoded line of `--format jsonl`, is to the contract."""
    (SUMMARY if line.get("type") == "summary" else EVENT)(line, "")
    if line["type"] == "event" and line["end_line"] < line["line"]:
        _fail("/end_line", f"{line['end_line']} is before /line {line['line']}")


def _no_constant(name: str) -> Any:
    raise AssertionError(f"{name} is no JSON")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"a key stands twice in {keys}"
    return dict(pairs)


def strict_loads(data: bytes) -> Any:
    """Decodes as strictly as the standard asks: UTF-8, no NaN, no key twice, no lone surrogate."""
    value = json.loads(data.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def check_json_output(data: bytes) -> dict[str, Any]:
    """Decodes and checks the whole output of `--format json`."""
    report: dict[str, Any] = strict_loads(data)
    check_json(report)
    return report


def check_jsonl_output(data: bytes) -> list[dict[str, Any]]:
    """Decodes and checks the whole output of `--format jsonl`: events, then one summary."""
    assert data.endswith(b"\n")
    lines = [strict_loads(line) for line in data.splitlines()]
    for line in lines:
        check_jsonl_line(line)
    assert [line["type"] for line in lines] == ["event"] * (len(lines) - 1) + ["summary"]
    return lines

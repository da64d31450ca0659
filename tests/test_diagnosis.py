"""Roles, the cause first, chains, ranks, and what to say without a cause."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from explain.catalogue import Catalogue
from explain.engine import explain_sources
from explain.matcher import Matcher
from explain.model import Report
from tests.helpers import Text

STAMP = "[2026-11-30 08:14:{second:02d}{rank}] "


def record(slug: str, pattern: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"{abs(hash(slug)) % 16**16:016x}",
        "slug": slug,
        "messagePattern": pattern,
        "errorMessage": slug,
        "errorType": "exception",
        "severity": "error",
        "documentation": "d",
        "solutions": ["Do it"],
        "schemaVersion": 2,
        **fields,
    }


RECORDS = [
    record("pool-empty", r"The pool holds no block for (?P<tokens>\d+) tokens", errorClass="RuntimeError"),
    record("graph-failed", r"Graph capture went wrong: ", errorClass="Exception"),
    record("child-died", r"^One child process went away", role="consequence", errorType="log"),
    record("peer-lost", r"Peer (?P<peer>\S+) closed the link", errorClass="RuntimeError", tags=["symptom"]),
    record(
        "any-module",
        r"No module named '(?P<module>[^']+)'",
        errorClass="ModuleNotFoundError",
        tags=["generic"],
    ),
    record("needs-package", r"The backend needs the package quickpack", errorClass="ImportError"),
    record("bad-request", r"^The request asks for too many tokens", errorType="http", tags=["request"]),
    record("slow-path", r"^Falling back to the slow path", role="warning", severity="warning", errorType="log"),
    record("lock-assert", r"^$", errorClass="AssertionError", frames=["sglang/srt/cache.py:unlock"]),
    record("transfer-any", r"^\w[\w.]*", frames=["sglang/srt/transfer/"]),
    record("device-fault", r"Device fault: "),
    record("device-fault-while-copying", r"Device fault: (?:bad|worse) address", frames=["sglang/srt/copy.py"]),
    record("any-lookup", r"no \w+ in the nest", errorClass="KeyError", frames=["sglang/srt/nest/"], tags=["generic"]),
    record("lookup-of-owl", r"no owl in the"),
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Matcher:
    folder: Path = tmp_path_factory.mktemp("patterns")
    for one in RECORDS:
        (folder / f"{one['slug']}.json").write_text(json.dumps(one))
    catalogue = Catalogue.load([folder], only=True)
    assert not catalogue.problems
    return Matcher(catalogue, None)


def explain(shared: Matcher, *texts: str) -> Report:
    inputs = [Text(text, f"node{number}.log", number=number) for number, text in enumerate(texts)]
    return explain_sources(inputs, shared.catalogue, None, matcher=shared)


def slugs(report: Report) -> list[tuple[str, str | None]]:
    return [(finding.role, finding.record.slug if finding.record else None) for finding in report.findings]


def failing(rank: str, line: str, second: int = 0, file: str = "a.py", function: str = "run") -> str:
    return (
        f"{STAMP.format(second=second, rank=' ' + rank if rank else '')}Scheduler hit an exception: "
        f'Traceback (most recent call last):\n  File "/x/sglang/srt/{file}", line 7, in {function}\n    go()\n{line}\n\n'
    )


ECHO = STAMP.format(second=9, rank="") + "One child process went away\n"


def test_a_consequence_printed_first_is_not_the_cause(shared: Matcher) -> None:
    report = explain(shared, ECHO + failing("TP0", "RuntimeError: The pool holds no block for 12 tokens"))
    assert slugs(report) == [("cause", "pool-empty"), ("consequence", "child-died")]
    assert report.findings[1].caused_by == 0
    assert report.findings[0].captures == {"tokens": "12"}


def test_equal_failures_of_ranks_are_one_finding(shared: Matcher) -> None:
    logs = [failing(f"TP{rank}", f"RuntimeError: The pool holds no block for {rank} tokens") for rank in (10, 2, 0)]
    (finding,) = explain(shared, *logs).findings
    assert (finding.count, finding.ranks) == (3, ("TP0", "TP2", "TP10"))
    assert (finding.first.source, finding.last.source) == ("node0.log", "node2.log")


def test_earliest_clock_wins_over_the_order_of_printing(shared: Matcher) -> None:
    late = failing("TP1", "RuntimeError: a different end", second=30)
    early = failing("TP0", "RuntimeError: The pool holds no block for 1 tokens", second=10)
    assert explain(shared, late + early).findings[0].record.slug == "pool-empty"  # type: ignore[union-attr]


def test_a_symptom_is_a_consequence_beside_another_failure(shared: Matcher) -> None:
    report = explain(
        shared,
        failing("TP1", "RuntimeError: Peer 10.0.0.1 closed the link", 1)
        + failing("TP0", "RuntimeError: something nobody knows", 5),
    )
    assert slugs(report) == [("cause", None), ("consequence", "peer-lost")]
    assert report.findings[1].caused_by == 0


def test_a_symptom_alone_is_the_cause(shared: Matcher) -> None:
    alone = explain(shared, failing("TP1", "RuntimeError: Peer 10.0.0.1 closed the link"))
    assert slugs(alone) == [("cause", "peer-lost")]
    refused = STAMP.format(second=1, rank="") + "The request asks for too many tokens\n"
    beside = explain(shared, refused + failing("TP1", "RuntimeError: Peer 10.0.0.1 closed the link"))
    assert slugs(beside) == [("cause", "peer-lost"), ("cause", "bad-request")]


def test_a_specific_error_comes_before_a_general_one_of_the_same_minute(shared: Matcher) -> None:
    general = failing("TP0", "ModuleNotFoundError: No module named 'x'", 1)
    specific = failing("TP0", "RuntimeError: The pool holds no block for 1 tokens", 9)
    assert slugs(explain(shared, general + specific)) == [("cause", "pool-empty"), ("cause", "any-module")]
    late = specific.replace("08:14", "08:20")
    assert slugs(explain(shared, general + late)) == [("cause", "any-module"), ("cause", "pool-empty")]


def test_what_was_told_long_before_did_not_follow(shared: Matcher) -> None:
    early = failing("TP1", "RuntimeError: Peer 10.0.0.1 closed the link").replace("08:14", "08:02")
    report = explain(shared, early + failing("TP0", "RuntimeError: something nobody knows", 5))
    assert slugs(report) == [("cause", None), ("cause", "peer-lost")]


def test_refused_requests_come_behind_what_ends_the_server(shared: Matcher) -> None:
    refused = STAMP.format(second=1, rank="") + "The request asks for too many tokens\n"
    report = explain(shared, refused + failing("TP0", "RuntimeError: The pool holds no block for 1 tokens", 8))
    assert slugs(report) == [("cause", "pool-empty"), ("cause", "bad-request")]


CHAIN = """Traceback (most recent call last):
  File "/x/sglang/srt/a.py", line 1, in load
    {inner_code}
{inner}

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/x/sglang/srt/b.py", line 2, in start
    {outer_code}
{outer}
"""


@pytest.mark.parametrize(
    ("inner", "outer", "outer_code", "leader"),
    [
        # The outer one quotes the inner one: it only passes it on.
        ("RuntimeError: The pool holds no block for 1 tokens", "Exception: Graph capture went wrong: The pool holds no block for 1 tokens", "raise Exception(", "pool-empty"),
        # The outer one was raised on purpose and says what is missing.
        ("ModuleNotFoundError: No module named 'quickpack'", "ImportError: The backend needs the package quickpack", "raise ImportError(", "needs-package"),
        # The outer one is an accident on the way out.
        ("RuntimeError: The pool holds no block for 1 tokens", "AttributeError: 'A' object has no attribute 'b'", "self.b.close()", "pool-empty"),
        # Nobody knows either: what was raised on purpose explains what it caught.
        ("KeyError: 'x9'", "ValueError: The model type x9 is not known here", "raise ValueError(", None),
    ],
)  # fmt: skip
def test_one_exception_of_a_chain_leads(
    shared: Matcher, inner: str, outer: str, outer_code: str, leader: str | None
) -> None:
    log = CHAIN.format(inner=inner, outer=outer, inner_code="x = y", outer_code=outer_code)
    report = explain(shared, log)
    first, second = report.findings
    assert (first.role, second.role, second.caused_by) == ("cause", "consequence", 0)
    assert (first.record.slug if first.record else None) == leader
    if leader is None:
        assert first.exception == "ValueError"


def test_message_less_record_is_found_by_class_and_frame(shared: Matcher) -> None:
    assert slugs(explain(shared, failing("TP0", "AssertionError", file="cache.py", function="unlock"))) == [
        ("cause", "lock-assert")
    ]
    assert slugs(explain(shared, failing("TP0", "AssertionError", file="cache.py", function="lock"))) == [
        ("cause", None)
    ]
    assert slugs(explain(shared, failing("TP0", "KeyError: 4", file="cache.py", function="unlock"))) == [
        ("cause", None)
    ]


def test_what_frames_alone_lead_to_is_the_last_resort(shared: Matcher) -> None:
    known = failing("TP0", "RuntimeError: Device fault: odd", file="transfer/loop.py")
    assert slugs(explain(shared, known)) == [("cause", "device-fault")]
    strange = failing("TP0", "OSError: [Errno 5] strange", file="transfer/loop.py")
    assert slugs(explain(shared, strange)) == [("cause", "transfer-any")]


def test_a_record_of_a_whole_class_of_errors_is_the_last_one_to_explain(shared: Matcher) -> None:
    """However well its class and frames fit: `any-lookup` asks for both, `lookup-of-owl` for neither."""
    lookup = failing("TP0", "KeyError: no owl in the nest", file="nest/look.py")
    (finding,) = explain(shared, lookup).findings
    assert finding.record is not None and finding.record.slug == "lookup-of-owl"
    assert len(finding.also) == 1
    assert slugs(explain(shared, failing("TP0", "KeyError: no jay in the nest", file="nest/look.py"))) == [
        ("cause", "any-lookup")
    ]


def test_an_event_loop_far_above_the_error_does_not_explain_it(shared: Matcher) -> None:
    deeper = "".join(f'  File "/x/sglang/srt/models/m{number}.py", line 3, in forward\n' for number in range(4))
    strange = failing("TP0", deeper + "OSError: [Errno 5] strange", file="transfer/loop.py")
    assert slugs(explain(shared, strange)) == [("cause", None)]


def test_frames_that_were_cut_off_do_not_speak_for_a_record(shared: Matcher) -> None:
    assert slugs(explain(shared, "RuntimeError: Device fault: bad address\n")) == [("cause", "device-fault")]
    whole = failing("TP0", "RuntimeError: Device fault: bad address", file="copy.py")
    assert slugs(explain(shared, whole)) == [("cause", "device-fault-while-copying")]


def test_unknown_errors_are_listed_with_their_frames(shared: Matcher) -> None:
    report = explain(shared, failing("TP0", "OSError: [Errno 5] strange"))
    assert report.unexplained == (0,)
    assert report.findings[0].frame is not None and report.findings[0].frame.file == "sglang/srt/a.py"


@pytest.mark.parametrize(
    "name",
    [
        "EOFError",
        "KeyboardInterrupt",
        "ray.exceptions.ActorDiedError: it died",
        "BrokenPipeError: [Errno 32]",
    ],
)
def test_exceptions_that_say_another_process_went_away(shared: Matcher, name: str) -> None:
    report = explain(shared, failing("", name))
    assert report.findings[0].role == "consequence"
    assert report.advice


def test_a_cut_traceback_is_no_cause_and_says_what_is_missing(shared: Matcher) -> None:
    cut = failing("TP0", "").rstrip("\n")
    report = explain(shared, cut)
    assert [finding.role for finding in report.findings] == ["warning"]
    assert any("cut before its last line" in sentence for sentence in report.advice)


def test_only_consequences_give_advice_and_no_cause(shared: Matcher) -> None:
    report = explain(shared, ECHO)
    assert slugs(report) == [("consequence", "child-died")]
    assert report.findings[0].caused_by is None
    assert any("Fetch the whole output" in sentence for sentence in report.advice)


def test_repeated_lines_are_counted_once_in_the_list(shared: Matcher) -> None:
    line = STAMP.format(second=1, rank=" TP{0}") + "Falling back to the slow path for batch {0}\n"
    (finding,) = explain(shared, "".join(line.format(number) for number in range(50))).findings
    assert (finding.role, finding.count, len(finding.ranks)) == ("warning", 50, 50)


@pytest.mark.parametrize(
    "refused",
    [
        "Model architectures ['SwiftMoeForCausalLM'] are not supported for now.",
        "SwiftMoeForCausalLM has no SGlang implementation and the Transformers one does not fit.",
        "Cannot find model module. 'SwiftMoeForCausalLM' is not a registered model in the library.",
    ],
)
def test_import_that_was_ignored_is_the_cause_of_an_unsupported_model(refused: str) -> None:
    log = (
        "[2026-11-30 08:14:01 TP0] Ignore import error when loading sglang.srt.models.other_model: No module named 'a'\n"
        "[2026-11-30 08:14:01 TP0] Ignore import error when loading sglang.srt.models.swift_moe: No module named 'b'\n"
        + failing("TP0", f"ValueError: {refused}", 2)
    )
    report = explain_with_sites(log)
    assert report.findings[0].message.startswith("Ignore import error when loading sglang.srt.models.swift_moe")
    assert report.findings[0].role == "cause"
    assert [finding.role for finding in report.findings if "SwiftMoe" in finding.message] == ["consequence"]


def test_processor_import_that_was_ignored_is_the_cause_of_a_model_without_processor() -> None:
    log = (
        "[2026-11-30 08:14:01] Ignore import error when loading sglang.srt.multimodal.processors.owl_voice: no ear\n"
        "[2026-11-30 08:14:01] Ignore import error when loading sglang.srt.multimodal.processors.swift_vl: no eye\n"
        "[2026-11-30 08:14:01] Ignore import error when loading sglang.srt.models.swift_vl: no wing\n"
        + failing("", "ValueError: No processor registered for architecture: ['Swift3VLForCausalLM'].", 2)
    )
    report = explain_with_sites(log)
    assert report.findings[0].message.startswith(
        "Ignore import error when loading sglang.srt.multimodal.processors.swift_vl"
    )
    assert [finding.role for finding in report.findings if "Swift3" in finding.message] == ["consequence"]


def explain_with_sites(log: str) -> Report:
    from tests.helpers import explain_text

    return explain_text(log)


def test_distinct_findings_are_capped_and_counted(shared: Matcher) -> None:
    from explain.diagnosis import MAX_FINDINGS

    names = ["".join(chr(97 + (number // 26**place) % 26) for place in range(3)) for number in range(MAX_FINDINGS + 30)]
    log = "".join(failing("TP0", f"OSError: {name}") for name in names)
    report = explain(shared, log)
    assert (len(report.findings), report.folded) == (MAX_FINDINGS, 30)


def test_of_two_records_that_only_know_places_the_nearer_place_counts(tmp_path: Path) -> None:
    """A folder at the failing frame says more than a file one call further up."""
    nets = [
        record("loop-failed", r"^(?:Key|Nam)\w+[:]\s", frames=["sglang/srt/loop.py"]),
        record("trees-failed", r"^(?:Key|Nam)\w+[:]\s", frames=["sglang/srt/trees/"]),
    ]
    for one in nets:
        (tmp_path / f"{one['slug']}.json").write_text(json.dumps(one))
    catalogue = Catalogue.load([tmp_path], only=True)
    frames = (
        '  File "/x/sglang/srt/loop.py", line 7, in run\n    go()\n',
        '  File "/x/sglang/srt/trees/a.py", line 7, in cut\n',
    )
    head = STAMP.format(second=0, rank="") + "Scheduler hit an exception: Traceback (most recent call last):\n"
    for order, expected in ((frames, "trees-failed"), (frames[::-1], "loop-failed")):
        report = explain(Matcher(catalogue, None), head + "".join(order) + "KeyError: 'x'\n")
        assert slugs(report) == [("cause", expected)]

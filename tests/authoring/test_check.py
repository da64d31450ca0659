"""Each check finds what it is for, and nothing in a good record; the shipped catalogue passes all of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explain.authoring.check import check_paths, main
from explain.authoring.checks import CHECKS
from explain.catalogue import CHECKOUT
from explain.record import derive_id

SHARED_HEALTHY = Path(CHECKOUT).parents[1] / "shared" / "healthy_lines.txt"

MESSAGE = "The quokka pool of 12 hops overflowed"
FRAME = '  File "/opt/quokka/burrow.py", line 3, in hop'
HEADING = "[2026-11-30 08:14:58 TP0] Scheduler hit an exception: Traceback (most recent call last):"

GOOD: dict[str, Any] = {
    "id": derive_id("quokka/quokka", "QuokkaError", MESSAGE),
    "repo": "quokka/quokka",
    "slug": "quokka-pool-overflowed",
    "title": "Quokka pool overflowed",
    "role": "cause",
    "errorCode": None,
    "errorMessage": MESSAGE,
    "messagePattern": r"The quokka pool of (?P<hops>\d+) hops overflowed",
    "errorType": "exception",
    "errorClass": "QuokkaError",
    "httpStatus": None,
    "severity": "error",
    "filePath": None,
    "lineNumber": None,
    "sourceCode": None,
    "sourceCodeStart": None,
    "sourceCodeEnd": None,
    "githubUrl": None,
    "documentation": "The pool that holds hops for quokkas ran out while one of them was in the air.",
    "triggerScenarios": "More quokkas hop at once than the burrow has places for.",
    "commonSituations": "Happens on sunny islands in the afternoon, with many visitors.",
    "solutions": ["Lower --max-running-requests to 8 so that fewer quokkas hop at once."],
    "exampleFix": "# before\npython -m sglang.launch_server --model-path M --max-running-requests 64\n"
    "# after\npython -m sglang.launch_server --model-path M --max-running-requests 8",
    "handlingStrategy": "capacity",
    "validationCode": None,
    "typeGuard": None,
    "tryCatchPattern": None,
    "preventionTips": ["Count the quokkas before noon."],
    "tags": ["quokka"],
    "backgroundTag": None,
    "analyzedSha": None,
    "analyzedAt": None,
    "schemaVersion": 2,
    "examples": [[HEADING, FRAME, f"QuokkaError: {MESSAGE}"]],
    "nearMisses": [{"lines": ["QuokkaError: The quokka pool is fine"], "because": "That is good news."}],
    "also": [],
    "fits": [],
    "references": ["https://example.org/quokka/1"],
}

Problems = Callable[..., list[str]]


@pytest.fixture
def problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Problems:
    """Checks a good record with some changes, and further records, beside a catalogue that is empty."""
    for name in ("explain.catalogue", "explain.authoring.book"):
        monkeypatch.setattr(f"{name}.CHECKOUT", tmp_path / "patterns")
    (tmp_path / "patterns").mkdir()

    def run(*others: dict[str, Any], names: tuple[str, ...] = (), **changes: Any) -> list[str]:
        folder = tmp_path / "records"
        folder.mkdir(exist_ok=True)
        for one in (GOOD | changes, *others):
            (folder / f"{one['slug']}.json").write_text(json.dumps(one, indent=2))
        paths = [folder / f"{GOOD['slug']}.json"] if others else [folder]
        everything, found = check_paths([folder], names=names)
        assert len(everything.chosen) == 1 + len(others)
        return [f"{p.pointer}: {p.message}" for p in found if p.path == str(paths[0]) or not others]

    return run


def test_a_good_record_has_no_problem(problems: Problems) -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"id": "XYZ"}, "/id: is 'XYZ'"),
        ({"repo": "quokka"}, "/repo: is 'quokka'"),
        ({"errorType": "panic"}, "/errorType: is 'panic'"),
        ({"handlingStrategy": "pray"}, "/handlingStrategy: is 'pray'"),
        ({"schemaVersion": 1}, "/schemaVersion: is 1"),
        ({"sourceCode": "x = 1"}, "/sourceCode: is set"),
        ({"httpStatus": 200}, "/httpStatus: is 200"),
        ({"surprise": 1}, "/surprise: is not a field of the schema"),
        ({"tags": ["Upper Case"]}, "/tags/0: is 'Upper Case'"),
        ({"messagePattern": "(quokka"}, "/messagePattern: does not compile"),
        ({"errorMessage": "Something else"}, "/messagePattern: does not match errorMessage"),
        ({"messagePattern": r"^\D+\d+\D+$"}, "/messagePattern: has no literal to find it by"),
        ({"messagePattern": r"The quokka (\w+\s?)+ overflowed$"}, "/messagePattern: is slow"),
        ({"examples": []}, "/examples: has none"),
        ({"examples": [["all is well"]]}, "/examples/0: is not matched"),
        ({"examples": [[HEADING, FRAME, f"ValueError: {MESSAGE}"]]}, "/examples/0: is not matched"),
        ({"nearMisses": []}, "/nearMisses: has none"),
        ({"nearMisses": [{"lines": ["x"], "because": ""}]}, "/nearMisses/0/because: is empty"),
        (
            {"nearMisses": [{"lines": [f"QuokkaError: {MESSAGE}"], "because": "No."}]},
            "/nearMisses/0: is matched",
        ),
        ({"also": ["no-such-record"]}, "/also/0: 'no-such-record' is no record's id or slug"),
        ({"title": ""}, "/title: is missing"),
        ({"title": "x" * 70}, "/title: has 70 characters"),
        ({"documentation": "Bad."}, "/documentation: is missing or says next to nothing"),
        ({"commonSituations": None}, "/commonSituations: is missing or says next to nothing"),
        ({"solutions": []}, "/solutions: has none"),
        ({"preventionTips": []}, "/preventionTips: has none"),
        ({"tags": []}, "/tags: has none"),
        ({"solutions": ["The flag --max-running-requests helps."]}, "/solutions/0: starts with 'the'"),
        ({"solutions": ["Look at the island."]}, "/solutions/0: names nothing concrete"),
        ({"solutions": ["Please set --max-running-requests 8."]}, "/solutions/0: says 'please '"),
        (
            {"preventionTips": ["More quokkas hop at once than the burrow has places for."]},
            "/preventionTips/0: repeats /triggerScenarios",
        ),
        ({"exampleFix": "# before\nls 'open\n# after\nls"}, "/exampleFix: line 2: no closing quotation"),
        ({"exampleFix": "ls -l"}, "/exampleFix: has no '# before' and '# after'"),
        ({"exampleFix": "# before\nls\n# after\nhop --far"}, "/exampleFix: line 4: 'hop' is not a command"),
        ({"references": []}, "/references: has none"),
        ({"references": ["see the forum"]}, "/references/0: is 'see the forum'"),
        ({"githubUrl": "https://github.com/o/r"}, "/githubUrl: is 'https://github.com/o/r'"),
        (
            {"githubUrl": "https://github.com/o/r/blob/main/a.py#L1", "filePath": "b.py"},
            "/githubUrl: names a.py, filePath b.py",
        ),
    ],
)
def test_each_check_finds_its_problem(problems: Problems, changes: dict[str, Any], expected: str) -> None:
    found = problems(**changes)
    assert any(line.startswith(expected) for line in found), found


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"solutions": ["Set --enable-hi-cache to keep them."]},
            "/solutions/0: --enable-hi-cache is in no release",
        ),
        (
            {"preventionTips": ["Set SGLANG_HOP_HIGHER=1 first."]},
            "/preventionTips/0: SGLANG_HOP_HIGHER is in no",
        ),
        (
            {"documentation": GOOD["documentation"] + " See sglang/srt/hop.py."},
            "/documentation: sglang/srt/hop.py",
        ),
        ({"frames": ["sglang/srt/hop.py:jump"]}, "/frames/0: sglang/srt/hop.py is in no release"),
        (
            {"exampleFix": "# before\nls\n# after\npython -m sglang.launch_server --hop 1"},
            "/exampleFix: --hop is in no release",
        ),
        (
            {"repo": "sgl-project/sglang", "references": []},
            "/references: no release's site index has this message",
        ),
        (
            {"repo": "sgl-project/sglang", "filePath": "python/sglang/srt/hop.py"},
            "/filePath: python/sglang/srt/hop.py is in no release",
        ),
    ],
)
def test_facts_are_compared_with_the_releases(problems: Problems, changes: dict[str, Any], expected: str) -> None:
    found = problems(**changes)
    assert any(line.startswith(expected) for line in found), found


FIT = {"solution": 0, "when": {"args": {"tp_size": {"above": 1}}}}


@pytest.mark.parametrize(
    ("fit", "expected"),
    [
        ({"when": {}}, "/fits/0/when: is empty"),
        ({"when": {"args": {"hop_size": 1}}}, "/fits/0/when/args/hop_size: hop_size is not known"),
        ({"when": {"memory": {"lunch": {"above": 1}}}}, "/fits/0/when/memory/lunch: lunch is not known"),
        ({"when": {"captures": {"jumps": {"above": 1}}}}, "/fits/0/when/captures/jumps: jumps is not known"),
        ({"when": {"args": {"tp_size": {"over": 1}}}}, "/fits/0/when/args/tp_size/over: is no test"),
        ({"when": {"args": {"tp_size": {"above": "1"}}}}, "/fits/0/when/args/tp_size/above: needs a number"),
        ({"when": {"args": {"dtype": ["half"]}}}, "/fits/0/when/args/dtype: is a list"),
        ({"when": {"release": {"from": "0.5.99"}}}, "/fits/0/when/release/from: 0.5.99 is no release"),
        ({"when": {"release": "0.5.2"}}, "/fits/0/when/release: is not a range of releases"),
        ({"when": {"gpu": "kangaroo"}}, "/fits/0/when/gpu: 'kangaroo' is no GPU generation"),
        ({"when": {"any": []}}, "/fits/0/when/any: is not a list of conditions"),
        ({"when": {"any": [{"hop": 1}]}}, "/fits/0/when/any/0/hop: is no key of a condition"),
        ({"when": {"not": {"hop": 1}}}, "/fits/0/when/not/hop: is no key of a condition"),
        ({"then": "already"}, "/fits/0/text: is missing"),
        ({"text": "Set --max-running-requests {jumps}."}, "/fits/0/text: {jumps} is no capture"),
        ({"text": "The flag --max-running-requests 8."}, "/fits/0/text: starts with 'the'"),
        ({"text": "Set --hop 8 and --max-running-requests."}, "/fits/0/text: --hop is in no release"),
        ({"text": "Set --page-size {page_size}."}, "/fits/0/text: has no word of solution 0"),
        (
            {"when": {"release": {"from": "0.5.20"}}, "text": "Set --cuda-graph-max-bs 8, --max-running-requests 4."},
            "/fits/0/text: --cuda-graph-max-bs is not in 0.5.20",
        ),
    ],
)
def test_conditions_and_texts_of_fits_are_checked(problems: Problems, fit: dict[str, Any], expected: str) -> None:
    solutions = ["Lower --max-running-requests to 8 for this burrow."]
    found = problems(solutions=solutions, fits=[FIT | fit])
    assert any(line.startswith(expected) for line in found), found


def test_a_good_fit_is_no_problem(problems: Problems) -> None:
    text = "Lower --max-running-requests to {half_running}; {left:1} GB are left, {tp_size} ranks."
    solutions = ["Lower --max-running-requests to 8 for this burrow."]
    assert problems(solutions=solutions, fits=[FIT | {"text": text}]) == []


def test_flags_of_other_programs_and_those_shown_as_wrong_are_no_problem(problems: Problems) -> None:
    text = "Run docker with --shm-size 32g, and pip with --force-reinstall, then read --help."
    fix = "# before\npython -m sglang.launch_server --hop 1\n# after\npython -m sglang.launch_server --tp 2"
    assert problems(solutions=[text], exampleFix=fix) == []


def other(**changes: Any) -> dict[str, Any]:
    """A second good record, about something else."""
    message = "The wombat tunnel of 3 metres collapsed"
    return (
        GOOD
        | {
            "id": derive_id("quokka/quokka", "WombatError", message),
            "slug": "wombat-tunnel-collapsed",
            "title": "Wombat tunnel collapsed",
            "errorMessage": message,
            "errorClass": "WombatError",
            "messagePattern": r"The wombat tunnel of \d+ metres collapsed",
            "documentation": "The roof of the tunnel came down while nobody was below it.",
            "triggerScenarios": "Rain on two days in a row and no beams in the tunnel.",
            "commonSituations": "Seen in spring, in loam, where tunnels are older than a year.",
            "solutions": ["Raise --watchdog-timeout to 600 until the beams are in."],
            "preventionTips": ["Put beams into every second metre."],
            "examples": [[HEADING, FRAME, f"WombatError: {message}"]],
            "nearMisses": [{"lines": ["WombatError: The tunnel is open"], "because": "It is open."}],
        }
        | changes
    )


def test_two_good_records_leave_each_other_alone(problems: Problems) -> None:
    assert problems(other()) == []


def test_a_record_that_fires_on_anothers_example_is_told_on_both_sides(problems: Problems) -> None:
    greedy = other(errorClass=None, messagePattern=r"The wombat tunnel of \d+ metres collapsed|The quokka pool")
    found = problems(greedy)
    assert any(line.startswith("/examples/0: is also matched by wombat-tunnel-collapsed") for line in found)
    assert problems(greedy, also=["wombat-tunnel-collapsed"]) == []
    assert problems(greedy | {"also": [GOOD["id"]]}) == []


def test_what_catches_all_at_its_frames_may_stand_behind_others(problems: Problems) -> None:
    """The engine prefers any record that knows the words; without the tag it is taken for a greedy pattern."""
    last = other(
        errorClass=None, messagePattern=r"^(?P<error>\w[^\n]{0,80})", frames=["burrow.py"], tags=["quokka", "generic"]
    )
    assert not any("wombat" in line for line in problems(last))
    assert any("is also matched by wombat" in line for line in problems(last | {"tags": ["quokka"]}))


def test_record_of_a_whole_class_of_errors_may_stand_behind_that_of_one(problems: Problems) -> None:
    """The engine never lets it win there, whatever text it fixes; between two such records it may."""
    whole = other(errorClass=None, messagePattern=r"The (?:quokka|wombat) \w+", tags=["quokka", "generic"])
    assert not any("wombat" in line for line in problems(whole))
    assert any("is also matched by wombat" in line for line in problems(whole, tags=["quokka", "generic"]))
    assert any("is also matched by wombat" in line for line in problems(whole | {"tags": ["quokka"]}))


def test_names_and_sentences_belong_to_one_record(problems: Problems) -> None:
    assert any(line.startswith("/id: ") and "is also that of" in line for line in problems(other(id=GOOD["id"])))
    borrowed = other(documentation=GOOD["documentation"])
    assert any(line.startswith("/documentation: has a sentence of") for line in problems(borrowed))


def test_a_healthy_line_is_no_failure(problems: Problems, tmp_path: Path) -> None:
    log = tmp_path / "healthy.log"
    log.write_text(f"[2026-11-30 08:14:58 TP0] QuokkaError: {MESSAGE}\n")
    problems()
    folder = tmp_path / "records"
    for role, count in (("cause", 1), ("noise", 0)):
        (folder / f"{GOOD['slug']}.json").write_text(json.dumps(GOOD | {"role": role}))
        _, found = check_paths([folder], healthy=[log], names=["healthy"])
        assert len(found) == count, found


def test_the_command_prints_one_problem_a_line(
    problems: Problems, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problems(title="", tags=[])
    capsys.readouterr()
    path = str(tmp_path / "records")
    assert main([path]) == 1
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        f"{path}/quokka-pool-overflowed.json: /title: is missing",
        f"{path}/quokka-pool-overflowed.json: /tags: has none",
    ]
    assert "1 records, 2 problems" in shown.err
    assert main([path, "--only", "schema"]) == 0


def test_every_check_has_a_promise() -> None:
    for name, run in CHECKS.items():
        assert (run.__doc__ or "").endswith("."), name


def test_the_shipped_catalogue_passes_every_check() -> None:
    healthy = [SHARED_HEALTHY] if SHARED_HEALTHY.is_file() else []
    book, found = check_paths([Path(CHECKOUT)], healthy=healthy)
    assert len(book.chosen) >= 120
    assert not found, "\n".join(map(str, found[:200]))

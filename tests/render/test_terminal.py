"""The screen that the operator sees."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explain.model import Frame, LaunchContext, Place, Report, Source, Stats
from explain.render.diff import DiffLine, example_lines
from explain.render.layout import CodeLine, OwnSource
from explain.render.places import package_path, rank_words, release_words
from explain.render.terminal import render
from explain.render.text import TIMES, text_width, wrap
from explain.render.verdict import SCREEN
from tests.render.reports import RAW, SECRET, SITE, consequence, finding, record, report, unexplained


def shown(whole: Report, width: int = 80, *, show_all: bool = False) -> str:
    return render(whole, width=width, color=False, show_all=show_all)


def test_the_verdict_comes_last_and_holds_what_is_needed() -> None:
    site = replace(SITE, first_version="0.5.8")
    text = shown(report(finding(site=site), unexplained(), consequence(caused_by=0, count=8)))
    before, verdict = text.split("── CAUSE ")
    assert "KeyError: 'model.layers.3.mlp.experts.w13'" in before and "in load_weights" in before
    for needed in (
        "CUDA graph capture ran out of GPU memory",
        "server.log:14, 2026-11-30 08:15:12 to 08:15:14",
        "TP0 to TP7 (8 times)",
        "sglang/srt/model_executor/cuda_graph_runner.py:655 in __init__",
        "Exception: Capture cuda graph failed",
        "SGLang 0.5.10",
        "1. Lower --mem-fraction-static",
        "3. Check with nvidia-smi",
        "-   --mem-fraction-static 0.90",
        "+   --mem-fraction-static 0.85",
        RAW["githubUrl"],
        "SGLang 0.5.8 to 0.5.21; later releases do not have this check",
        f"8 {TIMES} A child process failed and stopped the server (line 200)",
    ):
        assert needed in " ".join(verdict.split()) or needed in verdict, needed


def test_the_parts_come_in_the_order_of_need() -> None:
    text = shown(report(finding(site=replace(SITE, first_version="0.5.8")), consequence(caused_by=0)))
    labels = ["Where", "Raised", "Error", "Meaning", "Why", "Fix", "Example", "Release", "Source", "Led to"]
    positions = [text.index(f"\n  {label} ") for label in labels]
    assert positions == sorted(positions)


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_lines_fit_the_width(width: int) -> None:
    whole = report(finding(site=SITE), unexplained(), consequence(), consequence(caused_by=0), finding(role="warning"))
    for line in shown(whole, width).splitlines():
        if "http" not in line and "sglang-explain show" not in line:
            assert text_width(line) <= width, line


def test_prose_is_not_wider_than_a_hundred_columns() -> None:
    text = shown(report(finding(record=record(documentation="word " * 200))), 200)
    assert max(len(line) for line in text.splitlines() if "http" not in line) <= 100


def test_a_long_record_still_fits_on_one_screen() -> None:
    long = record(
        documentation="A sentence about the meaning of it all. " * 30,
        triggerScenarios="It happens when this or that is set. " * 30,
        commonSituations="Seen in many places. " * 30,
        exampleFix="\n".join(f"line {number}" for number in range(60)),
    )
    consequences = [consequence(caused_by=0, count=number) for number in range(1, 20)]
    text = shown(report(finding(record=long), *consequences))
    assert len(text.splitlines()) <= SCREEN
    assert f"sglang-explain show {RAW['slug']}" in text
    for solution in RAW["solutions"]:
        assert solution in " ".join(text.split())
    everything = shown(report(finding(record=long), *consequences), show_all=True)
    assert "line 59" in everything and len(everything.splitlines()) > SCREEN


def test_an_error_that_nothing_explains_shows_its_frames() -> None:
    text = shown(report(unexplained()))
    assert "CAUSE, not in the catalogue" in text
    assert "sglang/srt/models/deepseek_v2.py:88 in load_weights" in text
    assert "sglang/srt/managers/scheduler.py:3600 in run_scheduler_process" in text
    assert "https://github.com/sgl-project/sglang/issues?q=KeyError" in text


def test_a_site_without_a_record_is_named() -> None:
    text = shown(report(unexplained(site=SITE, frame=None, frames=())), 100)
    assert "sglang/srt/speculative/base_spec_worker.py:262 in _build_hicache_draft_plan" in text
    assert "blob/v0.5.21/python/sglang/srt/speculative/base_spec_worker.py#L262" in text


def test_the_source_around_the_cause_is_shown() -> None:
    code = [CodeLine(number, f"line {number}\x1b[31m", number == 262) for number in range(258, 267)]
    text = render(report(unexplained(site=SITE)), width=80, color=False, source=OwnSource(code))
    assert "262 > line 262" in text and "261   line 261" in text and "\x1b" not in text


def test_no_cause_is_said_plainly() -> None:
    text = shown(report(consequence(), advice=("Fetch the log of the node that failed first.",)))
    assert "THE CAUSE IS NOT IN THIS LOG" in text
    assert "A child process failed and stopped the server (line 200)" in text
    assert "1. Fetch the log of the node that failed first." in text
    assert "Fix" not in text


def test_nothing_found_takes_one_line() -> None:
    assert shown(report()) == "No failure found in server.log (1,204 lines).\n"


def test_an_empty_log_is_not_called_free_of_failures() -> None:
    empty = report(sources=(Source("server.log", 0, 0),), stats=Stats(0, 0, 0, 0.0))
    assert shown(empty) == "Nothing to explain: server.log holds no text.\n"


@pytest.mark.parametrize(
    ("paths", "place"),
    [
        (("/var/log/sglang/node-0.log", "/var/log/sglang/node-1.log"), "node-1.log:200"),
        (("a.log", "/var/log/pods/ai_sglang-0_1b2c3d4e/server/0.log"), "…ang-0_1b2c3d4e/server/0.log:200"),
        (("node-0/server.log", "node-1/server.log"), "node-1/server.log:200"),
    ],
)
def test_paths_leave_room_for_titles(paths: tuple[str, str], place: str) -> None:
    other = consequence(first=Place(paths[1], 200, None))
    whole = report(finding(), other, sources=tuple(Source(path, 300, 9_000) for path in paths))
    line = next(line for line in shown(whole).splitlines() if "200)" in line)
    assert line.endswith(f"({place})") and "A child process failed" in line


def test_releases_that_did_not_write_the_log_are_not_shown() -> None:
    one = finding(site=SITE)
    servers = {"0.5.8 to 0.5.17": False, "0.5.8 to 0.5.18": True, "0.5.22": False, "0.5.9": False, None: True}
    for server, said in servers.items():
        whole = report(one, context=LaunchContext(sglang_version=server))
        assert ("later releases" in shown(whole)) is said, server


def test_an_exception_without_a_message_is_named_by_its_function() -> None:
    text = shown(report(unexplained(exception="AssertionError", message="")))
    assert "  AssertionError in load_weights" in text and "q=AssertionError+load_weights" in text


def test_noise_is_counted_and_warnings_are_short() -> None:
    noise = [finding(role="noise", record=record(title=f"notice {number}")) for number in range(5)]
    whole = report(finding(role="warning", record=record(title="Slow kernels")), *noise)
    text = shown(whole)
    assert "5 harmless notices" in text and "notice 1" not in text
    assert "Slow kernels" in text and "No failure found" in text
    assert "notice 4" in shown(whole, show_all=True)


def test_many_other_findings_are_cut_and_counted() -> None:
    many = [unexplained(message=f"key {number}") for number in range(30)]
    text = shown(report(finding(), *many, folded=12))
    assert "22 more; --all shows everything" in text and "12 further findings" in text
    assert "key 29" in shown(report(finding(), *many), show_all=True)


def test_hostile_text_does_not_reach_the_terminal() -> None:
    evil = f"\x1b[2J\x1b]0;title\x07 \u202eabc \x9b31m api_key='{SECRET}' \r\x00"
    whole = report(
        unexplained(message=evil, exception=f"E{evil}", first=Place(f"a{evil}.log", 1, evil), ranks=(evil, "TP1")),
        finding(captures={"x": evil}, message=evil, frame=Frame(evil, 1, evil)),
        consequence(record=None, message=evil, caused_by=0),
        advice=(evil,),
    )
    for show_all in (False, True):
        for color in (False, True):
            text = render(whole, width=80, color=color, show_all=show_all)
            plain = re.sub(r"\x1b\[[\d;]+m", "", text) if color else text
            assert not any(unicodedata.category(c) in ("Cc", "Cf") for c in plain if c != "\n")
            assert SECRET not in text


def test_colour_changes_nothing_but_colour() -> None:
    whole = report(finding(site=SITE), unexplained(), consequence(caused_by=0), finding(role="warning"))
    colored = render(whole, width=80, color=True)
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[\d;]+m", "", colored) == shown(whole)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400), st.integers(0, 300), st.booleans())
def test_any_text_at_any_width(text: str, width: int, known: bool) -> None:
    item = finding(message=text, exception=text) if known else unexplained(message=text, exception=text)
    assert render(report(item), width=width, color=False).endswith("\n")


@given(st.text(), st.integers(1, 60), st.booleans())
def test_wrapping_loses_no_word(text: str, width: int, split: bool) -> None:
    lines = wrap(text, width, split=split)
    squeezed = "".join("".join(lines).split())
    assert squeezed == "".join(text.split())


def test_wide_characters_take_two_columns() -> None:
    assert all(text_width(line) <= 10 for line in wrap("内存不足 内存不足内存不足 ab", 10, split=True))


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        ((), ""),
        (("TP0",), "TP0"),
        (("TP0", "TP3"), "TP0 and TP3"),
        (("TP0", "TP1", "TP2"), "TP0 to TP2"),
        (("TP1", "TP10", "TP2", "TP3", "TP4", "TP5", "TP6", "TP7", "TP8", "TP9"), "TP1 to TP10"),
        (("DP0 TP0", "DP1 TP1", "DP2 TP2"), "DP0 TP0 to DP2 TP2"),
        (("DP1 TP0", "DP1 TP1", "DP1 TP2"), "DP1 TP0 to DP1 TP2"),
        (("TP0", "TP2", "TP5"), "TP0, TP2 and TP5"),
        (("TP0", "TP2", "TP5", "TP6", "TP9"), "TP0, TP2, TP5 … TP9 (5 ranks)"),
        (("DP0", "TP1", "PP2"), "DP0, TP1 and PP2"),
    ],
)
def test_ranks_in_words(ranks: tuple[str, ...], words: str) -> None:
    assert rank_words(ranks) == words


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("/sgl-workspace/sglang/python/sglang/srt/a.py", "sglang/srt/a.py"),
        ("/usr/lib/python3.12/dist-packages/sglang/srt/a.py", "sglang/srt/a.py"),
        ("C:\\venv\\Lib\\site-packages\\sglang\\srt\\a.py", "sglang/srt/a.py"),
        ("/opt/sglang/lib/python3.12/site-packages/torch/nn/a.py", "torch/nn/a.py"),
        ("/opt/sglang/lib/python3.12/threading.py", "/opt/sglang/lib/python3.12/threading.py"),
        ("/data/sglang/srt/a.py", "sglang/srt/a.py"),
        ("sglang/launch_server.py", "sglang/launch_server.py"),
        ("sglang/srt/a.py", "sglang/srt/a.py"),
        ("<string>", "<string>"),
    ],
)
def test_paths_start_at_the_package(path: str, inside: str) -> None:
    assert package_path(path) == inside


def test_releases_in_words() -> None:
    assert release_words(SITE) == "SGLang 0.5.18 to 0.5.21; later releases do not have this check"


def test_a_command_is_compared_option_by_option() -> None:
    lines = example_lines(
        "# before\npython -m sglang.launch_server --model a \\\n  --tp 8 --enable-hicache\n"
        "# after\npython -m sglang.launch_server --model a \\\n  --tp 4",
        80,
    )
    assert lines == [
        DiffLine(" ", "python -m sglang.launch_server --model a"),
        DiffLine("-", "  --tp 8 --enable-hicache"),
        DiffLine("+", "  --tp 4"),
    ]


def test_comments_do_not_hide_that_commands_are_alike() -> None:
    lines = example_lines("# before\n# one GPU\nsglang serve --model a\n# after\nsglang serve --model a --tp 2", 80)
    assert lines == [
        DiffLine(" ", "# one GPU"),
        DiffLine(" ", "sglang serve --model a"),
        DiffLine("+", "  --tp 2"),
    ]


def test_a_traceback_that_is_cut_has_a_name() -> None:
    text = shown(report(unexplained(exception=None, message="", kind="traceback")))
    assert "A traceback that ends before its exception" in text


def test_other_text_is_compared_line_by_line() -> None:
    lines = example_lines("# before\na: 1\nb: 2\n# after\na: 1\nb: 3", 80)
    assert lines == [DiffLine(" ", "a: 1"), DiffLine("-", "b: 2"), DiffLine("+", "b: 3")]


def test_an_example_without_a_before_is_shown_as_it_is() -> None:
    assert example_lines("pip install x\npip check", 80) == [
        DiffLine(" ", "pip install x"),
        DiffLine(" ", "pip check"),
    ]

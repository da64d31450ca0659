"""The text of a bug report: complete, masked, and never markup of the log's."""

from __future__ import annotations

import re

from explain.defaults import chosen_arguments
from explain.render import markdown
from tests.contexts.servers import STORIES, Server, made_worse
from tests.helpers import explain_text


def shown(*texts: str) -> str:
    report = explain_text(*texts)
    context = report.context
    return markdown.render(report, chosen=chosen_arguments(context.server_args, context.sglang_version)).decode()


def test_a_bug_report_has_what_the_form_asks_for() -> None:
    (server,) = made_worse("0.5.10")
    text = shown(server.text)
    headings = re.findall(r"^#+ .*$", text, re.MULTILINE)
    assert headings[1:] == ["## Describe the bug", "## Reproduction", "## Environment"]
    assert "Traceback (most recent call last):\n  File" in text
    assert text.count("Traceback (most recent call last)") == 1
    assert "4 starts in this log, 4 of them failed" in text
    assert "mem_fraction_static=0.96" in text and "watchdog_timeout" not in text
    assert "- SGLang: `0.5.10 to 0.5.10.post1`" in text
    assert "| pool end | 2.40 |" in text


def test_every_story_renders() -> None:
    for story in STORIES:
        text = shown(*(server.text for server in story("0.5.23")))
        assert text.endswith("\n") and "## Environment" in text, story.__name__


def test_no_markup_of_the_log_is_live() -> None:
    server = Server("0.5.10", model_path="</code>`x`<script>alert(1)</script>")
    server.arguments()
    server.exception(
        "",
        [("sglang/srt/x.py", 1, "f", "````")],
        "ValueError: ``` <script>alert(1)</script> [a](javascript:b)",
    )
    outside = []
    fence = ""
    for line in shown(server.text).splitlines():
        ticks = re.match(r"`{3,}", line)
        if fence:
            fence = "" if line == fence else fence
        elif ticks and line == ticks.group():
            fence = line
        else:
            outside.append(re.sub(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)", "", line))
    assert not fence
    live = re.compile(r"(?<!\\)<script|(?<!\\)\]\(")
    assert not [line for line in outside if live.search(line)]


def test_secrets_are_masked() -> None:
    server = Server("0.5.10", api_key="sk-very-secret-0123456789")
    server.bare("$ python -m sglang.launch_server --model-path m --api-key sk-very-secret-0123456789")
    server.arguments()
    server.exception("", [("sglang/srt/x.py", 1, "f", "g()")], "ValueError: odd")
    assert "very-secret" not in shown(server.text)


def test_defaults_are_those_of_the_release() -> None:
    args = {
        "tp_size": 1,
        "page_size": 1,
        "schedule_policy": "lpm",
        "random_seed": 7,
        "disable_cuda_graph": False,
    }
    assert set(chosen_arguments(args, "0.4.4")) == {"schedule_policy"}
    assert set(chosen_arguments(args, "0.5.10")) == {"schedule_policy", "page_size"}
    assert chosen_arguments({"tp_size": 8}, None) == {"tp_size": 8}

"""The text of a bug report: complete, masked, and never markup of the log's."""

from __future__ import annotations

import re

from explain.defaults import chosen_arguments, worked_out
from explain.render import markdown
from explain.render.layout import OwnSource
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
    assert headings[0].startswith("# [Bug] ")
    assert headings[1:] == ["## Checklist", "## Describe the bug", "## Reproduction", "## Environment"]
    assert text.count("- [ ] ") == 4 and "python3 -m sglang.check_env" in text
    assert "Traceback (most recent call last):\n  File" in text
    assert text.count("Traceback (most recent call last)") == 1
    assert "4 starts in this log, 4 of them failed" in text
    assert "mem_fraction_static=0.96" in text and "watchdog_timeout" not in text
    assert "- SGLang: `0.5.10 to 0.5.10.post1`" in text
    assert "| pool end | 2.40 |" in text


def test_a_long_error_shows_that_it_is_cut() -> None:
    text = shown(f"[2026-11-30 08:00:00 TP0] RuntimeError: nothing known, {'word ' * 200}the end\n")
    error = next(line for line in text.splitlines() if line.startswith("- Error: "))
    assert "the end" not in error and error.endswith("word…`")


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


def test_what_the_server_may_have_set_itself_stands_apart() -> None:
    args = {"tp_size": 4, "page_size": 64, "attention_backend": "fa3", "mem_fraction_static": 0.8}
    chosen = chosen_arguments(args, "0.5.23")
    assert chosen == args
    assert worked_out(chosen, "0.5.23", None) == {"page_size", "attention_backend", "mem_fraction_static"}
    command = "python3 -m sglang.launch_server --tp 4 --mem-fraction-static=0.8"
    assert worked_out(chosen, "0.5.23", command) == {"page_size", "attention_backend"}
    server = Server("0.5.23", tp=4)
    server.start()
    report = explain_text(server.text)
    text = markdown.render(report, chosen=chosen, worked_out=worked_out(chosen, "0.5.23", command)).decode()
    first, second = text.split("Also set, by hand or by the server itself:")
    assert "differ from the defaults:\n\n```\ntp_size=4\nmem_fraction_static=0.8\n```" in first
    assert "page_size=64\nattention_backend='fa3'" in second


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


UNKNOWN = "ValueError: Not enough memory left. Please try to increase the --mem-fraction-static or lower it."


def unknown(release: str = "0.5.10", tp: int = 1, place: str = "sglang/srt/odd.py", **args: object) -> Server:
    server = Server(release, tp=tp, **args)
    server.start()
    for rank in server.ranks:
        server.exception(rank, [(place, 7, "split", "raise ValueError(text)")], UNKNOWN)
    server.sigquit()
    return server


def test_an_unknown_error_is_called_one_and_its_nearest_messages_stand_in_the_report() -> None:
    text = shown(unknown(tp=4).text)
    assert "# [Bug] ValueError: Not enough memory left" in text
    assert "TP0 to TP3 \\(4 times\\)" in text and text.count("Traceback (most recent call last)") == 1
    assert "- Known as: neither a catalogued error nor a message of SGLang's own" in text
    assert "Nearest known message: `Not enough memory {+left+}" in text


def test_an_error_that_only_its_place_explains_is_the_title_itself() -> None:
    text = shown(unknown(place="sglang/srt/layers/odd.py").text)
    assert "# [Bug] ValueError: Not enough memory left" in text
    assert "- Known as: `model-or-kernel-code-failed`, " in text


def test_a_known_error_is_named_by_its_record() -> None:
    (server,) = made_worse("0.5.10")
    assert "- Known as: `graph-capture-out-of-memory`, " in shown(server.text)


def test_when_it_is_raised_stands_in_the_report() -> None:
    source = OwnSource((), ("tp_size % dp_size is not 0", "x < `y`"), ("tp_size=4",), "as SGLang 0.5.11 here has it")
    text = markdown.render(explain_text(unknown().text), source=source).decode()
    assert "- Raised if: `tp_size % dp_size is not 0`\n- Raised if: `` x < `y` ``\n" in text
    assert "`tp_size=4`" in text and "as SGLang 0.5.11 here has it" in text


def test_releases_are_compared() -> None:
    text = markdown.render(explain_text(unknown().text), newest="0.5.23").decode()
    assert "newest known here: 0.5.23; this log: 0.5.10" in text


def test_a_log_without_a_failure_is_no_invented_bug() -> None:
    text = shown("[2026-11-30 08:00:00] all is well\n")
    assert "# [Bug] No failure found" in text and "No failure found in this log." in text
    assert "The log shows neither the launch command nor the server arguments." in text


def test_secrets_of_a_launch_command_are_masked_in_every_place() -> None:
    server = unknown(api_key="sk-very-secret-0123456789", tp=2)
    secrets = ("sk-very-secret-0123456789", "hf_verysecretverysecretverysecret00")
    server.lines.insert(
        0, f"+ HF_TOKEN={secrets[1]} python3 -m sglang.launch_server --model-path m --api-key={secrets[0]} --tp 2"
    )
    server.exception("", [("sglang/srt/a.py", 7, "f", f"login('{secrets[1]}')")], f"ValueError: bad key {secrets[0]}")
    text = shown(server.text)
    assert "sglang.launch_server --model-path m" in text and not any(secret in text for secret in secrets)

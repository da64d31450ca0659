"""The head of a source as a whole: what a paste did to all its lines is undone."""

from __future__ import annotations

from explain.model import Line
from explain.prepare import prepare_head


def test_blank_lines_of_the_text_itself_survive_doubling() -> None:
    texts = ["ImportError:", "", "Tried two places:", "1. here", "2. there", "", "Details:", "- none"]
    doubled = [line for text in texts for line in (text, "")]
    lines = [Line(number, text) for number, text in enumerate(doubled, 1)]
    assert [line.text for line in prepare_head(lines)] == texts


def test_code_under_the_longest_frames_is_not_their_rest() -> None:
    frame = '  File "/usr/lib/python3.12/site-packages/sglang/srt/managers/server.py", line {}, in __init__'
    texts = [
        "Traceback (most recent call last):",
        frame.format(518),
        "    self.init_model_worker()",
        frame.format(998),
        "    self.start()",
        "AssertionError: no",
    ]
    lines = [Line(number, text) for number, text in enumerate(texts, 1)]
    assert [line.text for line in prepare_head(lines)] == texts


def test_a_frame_broken_in_its_last_name_is_joined() -> None:
    lines = [
        "Traceback (most recent call last):",
        '  File "/usr/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py", line 998, in run_sche',
        "duler_process",
        '  File "/usr/lib/python3.12/site-packages/sglang/srt/managers/scheduler.py", line 518, in dispatch',
        "_event_loop",
        "AssertionError: no",
    ]
    joined = [line.text for line in prepare_head([Line(*pair) for pair in enumerate(lines, 1)])]
    names = [line.rpartition(" ")[2] for line in joined[1:3]]
    assert names == ["run_scheduler_process", "dispatch_event_loop"]

"""`why`: where a record and a log came together, or parted."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from explain.cli import run_guarded
from explain.why import tell
from tests.helpers import Text, matcher

LOG = Path(__file__).parent / "logs" / "cuda-graph-out-of-memory.log"


def told(slug: str, *texts: str) -> str:
    shared = matcher()
    (number,) = shared.catalogue.find(slug)
    assert shared.sites is not None
    lines, _ = tell(number, shared.catalogue, shared.sites, [Text(text) for text in texts])
    return "\n".join(lines)


def test_a_record_that_fires_says_where_with_what_and_in_which_role() -> None:
    text = told("graph-capture-out-of-memory", LOG.read_text())
    assert "It fires on 8 events, first on a traceback at log:88 TP3:" in text
    assert "size=1.17 GiB" in text and "Finding 1 of" in text and ": cause, because of " in text


def test_a_record_that_does_not_fire_says_how_far_its_pattern_went() -> None:
    text = told(
        "kv-pool-no-memory-left",
        "[2026-11-30 08:00:00] Scheduler hit an exception: Traceback (most recent call last):\n"
        '  File "/x/sglang/srt/a.py", line 1, in f\n    g()\n'
        "RuntimeError: Not enough memory. Please try to decrease --mem-fraction-static.\n",
    )
    assert "It fires on none of " in text
    assert "The pattern agrees as far as   Not enought? memory\\. Please try to " in text
    assert "and no further than before     increase" in text or "and no further than before     in" in text


def test_class_and_frames_are_named_where_only_they_are_missing() -> None:
    text = told("gpu-out-of-memory-graph-capture", LOG.read_text())
    assert "The pattern agrees with it." in text
    assert "asks for the class OutOfMemoryError, the event has Exception" in text
    assert "No frame of the event is one that the record asks for." in text


def test_a_healthy_log_has_nothing_near() -> None:
    text = told("graph-capture-out-of-memory", "[2026-11-30 08:00:00] all is well\n")
    assert "no beginning of its pattern is in one" in text


def test_without_a_log_it_says_what_the_record_looks_for(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run_guarded(["why", "graph-capture-out-of-memory"]) == 0
    shown = capsysbinary.readouterr().out.decode()
    assert "literals" in shown and "fires" not in shown


def test_escapes_and_secrets_of_a_log_do_not_reach_the_terminal(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. \x1b]0;x\x07 "
        "api_key='sk-very-secret-0123456789'\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "explain", "why", "kv-pool-no-memory-left", str(log)], capture_output=True
    )
    assert run.returncode == 0 and b"fires on 1 events" in run.stdout
    assert b"\x1b" not in run.stdout and b"very-secret" not in run.stdout


@pytest.mark.parametrize("name", ["no-such-record", "graph-capture"])
def test_one_record_must_be_named(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_guarded(["why", name, str(LOG)]) == 2
    assert "name one record" in capsys.readouterr().err

"""`why`: where a record and a log came together, or parted."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from explain.carriers import python_logging
from explain.cli import run_guarded
from explain.matcher import variants
from explain.rawlines import carriers_of
from explain.why import tell
from explain.whynot import meeting, refusals
from tests.helpers import Text, events_of, matcher

LOG = Path(__file__).parent / "logs" / "cuda-graph-out-of-memory.log"


def told(slug: str, *texts: str) -> str:
    shared = matcher()
    (number,) = shared.catalogue.find(slug)
    assert shared.sites is not None
    lines, _ = tell(number, shared.catalogue, shared.sites, [Text(text) for text in texts])
    return "\n".join(lines)


def test_a_record_that_fires_says_where_with_what_and_in_which_role() -> None:
    text = told("graph-capture-out-of-memory", LOG.read_text())
    assert "It fires on 8 events, first on a traceback at log:88-94 TP3:" in text
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
    assert "The event has none of the frames that the record asks for" in text


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
    assert run.returncode == 0 and b"fires on 1 event," in run.stdout
    assert b"\x1b" not in run.stdout and b"very-secret" not in run.stdout


def test_on_a_narrow_terminal_lines_break_between_words(
    capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown(columns: str) -> str:
        monkeypatch.setenv("COLUMNS", columns)
        assert run_guarded(["why", "kv-pool-no-memory-left", str(LOG)]) == 0
        return capsysbinary.readouterr().out.decode()

    narrow = shown("60")
    assert all(len(line) <= 60 or " " not in line for line in narrow.splitlines())
    for word in shown("100000").split():
        assert word in narrow or len(word) > 50, word


@pytest.mark.parametrize("name", ["no-such-record", "graph-capture"])
def test_one_record_must_be_named(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_guarded(["why", name, str(LOG)]) == 2
    assert "name one record" in capsys.readouterr().err


# ------------------------------------------------------------------ where the two parted


POOL = "kv-pool-no-memory-left"
FRAME = '  File "/x/python/sglang/srt/model_executor/model_runner.py", line 900, in init_memory_pool\n    raise RuntimeError(\n'
NO_MEMORY = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
EXCEPTION = "[2026-11-30 08:00:00] Scheduler hit an exception: Traceback (most recent call last):\n" + FRAME + NO_MEMORY


def test_literal_and_pattern_are_placed_to_the_character() -> None:
    text = told(POOL, EXCEPTION)
    assert "so the pattern was tried." in text and "stands at character " in text
    assert "The pattern matches the characters 1 to " in text and "of the message: 'Not enough memory." in text
    assert "fixed characters, the class agrees" in text and "and a confidence of " in text
    assert "role      cause, " in text


@pytest.mark.parametrize(
    ("wrap", "name"),
    [
        (lambda line: f"2026-11-30T08:14:58.123456789Z stderr F {line}", "cri"),
        (lambda line: f"sglang-1  | {line}", "compose"),
        (lambda line: json.dumps({"log": f"{line}\n", "stream": "stderr", "time": "2026-11-30T08:14:58.1Z"}), "json"),
        (lambda line: line, "none, the line is as the program wrote it"),
    ],
)
def test_the_carrier_is_named(wrap: Callable[[str], str], name: str) -> None:
    text = told(POOL, "".join(f"{wrap(line)}\n" for line in EXCEPTION.splitlines()))
    (line,) = (line for line in text.splitlines() if line.startswith("Carrier: "))
    assert line.startswith(f"Carrier: {name}")


def test_carriers_in_carriers_are_named_from_the_outermost() -> None:
    lines = (f"2026-11-30T08:14:58.1Z stderr F (Engine pid=3225) {line}" for line in EXCEPTION.splitlines())
    assert "Carrier: cri, in ray." in told(POOL, "\n".join(lines) + "\n")


def test_carriers_far_in_a_long_log_and_on_standard_input_are_named() -> None:
    filler = (
        '2026-11-30T08:14:57.1Z stderr F [2026-11-30 08:00:00] INFO:     1.2.3.4:5 - "GET /health HTTP/1.1" 200 OK\n'
    )
    failed = "".join(f"2026-11-30T08:14:58.1Z stderr F {line}\n" for line in EXCEPTION.splitlines())
    text = told(POOL, filler * 30_000 + failed + filler * 100)
    assert "Carrier: cri." in text and "at log:30004 " in text.replace(":\n", " \n")


def test_a_near_match_says_up_to_which_character_of_pattern_and_text() -> None:
    text = told(POOL, EXCEPTION.replace("increase", "lower"))
    found = re.search(
        r"That is character (\d+) of the pattern's (\d+), and character (\d+) of the message, which goes on with 'lower",
        text,
    )
    assert found is not None and int(found[1]) < int(found[2])
    message = "Not enough memory. Please try to lower"
    assert message[int(found[3]) :].startswith("lower")


def test_a_record_that_lost_is_shown_beside_the_one_that_won() -> None:
    text = told("cuda-out-of-memory-forward", LOG.read_text())
    assert "it matches too, but graph-capture-out-of-memory says more of that event:" in text
    scores = [float(score) for score in re.findall(r": score ([\d.]+) \(", text)]
    assert len(scores) >= 2 and scores[0] > scores[1]


def test_the_winner_names_the_others() -> None:
    text = told("graph-capture-out-of-memory", LOG.read_text())
    assert "Of the event it says more than what matches it too: cuda-out-of-memory-forward" in text


def test_the_rules_of_role_and_order_are_told() -> None:
    text = told("sigquit-during-launch", LOG.read_text())
    assert "consequence, because of the record's role." in text
    assert "It stands behind finding 1 (graph-capture-out-of-memory, cause): causes come first" in text


def test_the_order_of_two_causes_is_told() -> None:
    later = EXCEPTION.replace("08:00:00", "09:00:00").replace(NO_MEMORY, "OddError: something that nobody knows\n")
    later = later.replace(FRAME, '  File "/x/odd/program.py", line 9, in odd\n    odd()\n')
    text = told(POOL, EXCEPTION + later)
    assert "It stands before finding 2 (OddError, cause): what happened earlier comes first." in text


def test_a_class_and_frames_that_are_wrong_are_named() -> None:
    text = told(POOL, EXCEPTION.replace("RuntimeError: ", "ValueError: "))
    assert "The record asks for the class RuntimeError, the event has ValueError: so it is not taken." in text


def test_a_message_that_only_speaks_of_it_is_told_as_one() -> None:
    text = told(
        POOL, "[2026-11-30 08:00:00] The hint was: Not enough memory. Please try to increase --mem-fraction-static.\n"
    )
    assert "It is a log message with words of its own before: 'The hint was: '" in text


def test_what_users_wrote_is_no_event() -> None:
    text = told(
        POOL,
        "[2026-11-30 08:00:00] Receive: obj=GenerateReqInput(text='Not enough memory. Please try to increase "
        "--mem-fraction-static.')\n",
    )
    assert " stands in log:1, but in no event" in text


def test_a_record_without_literals_says_how_it_is_found() -> None:
    shared = matcher()
    number = shared.catalogue.without_needle()[0]
    text = told(shared.catalogue.record(number).slug, LOG.read_text())
    assert "literals  none: found by class and frames" in text


@pytest.mark.parametrize(
    ("name", "meant"),
    [("kv-pool-no-memory-lft", "kv-pool-no-memory-left"), ("hicache host memory", "hicache")],
)
def test_a_name_that_is_none_brings_suggestions(name: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_guarded(["why", name]) == 2
    assert re.search(rf"is no record; did you mean [^?]*{meant}[^?]*\?; name one record", capsys.readouterr().err)


def test_the_words_agree_with_the_matcher() -> None:
    """For every event of whole logs and every record whose literal leads there: a reason is given exactly where the
    record is refused."""
    shared = matcher()
    catalogue = shared.catalogue
    compared = refused = 0
    for path in sorted(LOG.parent.glob("*.log")):
        for event in events_of(path.read_text(errors="replace"))[:400]:
            for number in shared._candidates(event, variants(event))[0]:
                compared += 1
                against = refusals(catalogue, number, event)
                met = meeting(catalogue, number, event)
                if shared.score_of(number, event) is not None:
                    assert met is not None, (path.name, event.line, catalogue.record(number).slug)
                else:
                    refused += 1
                    assert met is None or against, (path.name, event.line, catalogue.record(number).slug)
    assert compared > 100 and refused > 20


def test_carriers_are_named_as_the_reader_takes_them_off() -> None:
    (raw, _), *_ = python_logging.SAMPLES
    assert carriers_of([raw]) == ("python-logging",)
    line = "[2026-11-30 08:00:00] RuntimeError: a"
    assert carriers_of([f"\x1b[32msglang-1  | \x1b[0m{line}"]) == ("compose",)
    assert carriers_of([f"2026-11-30T08:00:00.1Z stdout F (Actor pid=7) {line}"]) == ("cri", "ray")
    assert carriers_of(["sglang-1  | a", line]) == ()

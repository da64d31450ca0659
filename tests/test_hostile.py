"""Logs that nobody wrote in good faith: what they hold costs bounded time and memory, and breaks nothing."""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from explain import bounds
from explain.catalogue import Catalogue
from explain.engine import explain_sources
from explain.events import MAX_STREAMS, Assembler
from explain.launch import MAX_STREAMS as MAX_SERVERS
from explain.launch import LaunchReader
from explain.matcher import Matcher
from explain.model import Line
from explain.pattern import Pattern
from explain.render import json as json_format
from explain.render import terminal
from explain.render.places import rank_words
from explain.state import load_state, write_whole
from explain.windows import HEAD_BYTES
from tests.helpers import Text, explain_text, matcher
from tests.scoring import cases, real_logs
from tests.test_cli import FAILURE, complaints, run

ROOT = Path(__file__).resolve().parent.parent
LONG = "9" * 5_000
STAMP = "[2026-11-30 08:00:00 TP0] "


def letters(number: int) -> str:
    return "".join(chr(97 + number // 26**place % 26) for place in range(4))


# --------------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    "line",
    [
        f"[2026-11-30 08:00:00 TP{LONG}] Scheduler hit an exception: RuntimeError: x",
        f"{STAMP}max_total_num_tokens={LONG}, chunked_prefill_size=1",
        f"{STAMP}KV Cache is allocated. #tokens: {LONG}, K size: {LONG} GB, V size: 1.2.3 GB",
        f"{STAMP}Load weight end. avail mem={LONG} GB, mem usage={LONG}.{LONG} GB",
        f"{STAMP}Decode batch. #running-req: {LONG}, token usage: {LONG}",
        f'Current thread 0x0 (most recent call first):\n  File "/a.py", line {LONG} in f',
        f'  File "/a.py", line {LONG}, in f',
        f"{STAMP}server_args=ServerArgs(model_path='m', tp_size={LONG}, a=1e999, b={{[]: 1}}, c={'9' * 4000})",
        '{"log":"ValueError: x","stream":"stderr","time":1e400}',
        f'{{"msg":"ValueError: x","level":"error","ts":{LONG}}}',
        f'{{"msg":"ValueError: x","level":"error","time":{"9" * 400}}}',
        '{"__REALTIME_TIMESTAMP":"99999999999999999999999","MESSAGE":[1,-5,300,72]}',
        f"(Actor pid=1) x [repeated {LONG}x across cluster]",
        f"RuntimeError: CUDA out of memory. Tried to allocate {LONG} GiB. GPU {LONG} has {LONG}",
        "[9999-99-99 99:99:99 TP0] Scheduler hit an exception: RuntimeError: x",
    ],
)
def test_numbers_without_measure(line: str) -> None:
    started = f"{STAMP}server_args=ServerArgs(model_path='m', tp_size=2)\n"
    failure = "\nFatal Python error: Aborted\n\nRuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    for log in (f"{line}\nValueError: y\n", f"{started}{line}{failure}"):
        report = explain_text(log)
        json.loads(json_format.render(report))
        assert terminal.render(report, width=80, color=False)


def test_far_apart_ranks_are_no_range() -> None:
    assert rank_words(["TP0", "TP1", "TP999999999999"]) == "TP0, TP1 and TP999999999999"
    assert rank_words(["TP2", "TP0", "TP1"]) == "TP0 to TP2"


# --------------------------------------------------------------------------- time

PIECES = ("a", "A_", " ", "1.", "a ", "(", '"', "\\n", "/a", "a.", "x=1, ", "[a", "| ", "&amp;", "\x1b[", "\u3042")
CONTEXTS = (
    "{}",
    STAMP + "{} launch_server -",
    STAMP + "{} batch KV Cache ttention backend device_name= avail mem=",
    "ValueError: {}",
    '{}", line ',
    '  File "{}", line 1, in f',
    "Model architectures {} has no SG",
    "Child process {} Traceback (most recent call last):",
    '{{"log":"{}","stream":"stderr"}}',
)


@pytest.mark.parametrize("context", CONTEXTS)
def test_time_is_linear_in_the_length_of_a_line(context: str) -> None:
    for piece in PIECES:
        line = context.format(piece * (60_000 // len(piece)))
        started = time.process_time()
        explain_text(f"{STAMP}a\n{line}\nValueError: {line[:60_000]}\n")
        assert time.process_time() - started < 3.0, (context, piece)


def mutated(text: str, chance: random.Random) -> Iterator[str]:
    """`text` with one of its parts grown out of all proportion."""
    words = text.split(" ")
    place = chance.randrange(len(words))
    word = words[place] or "a"
    for grown in (word * (20_000 // len(word)), f"{word} " * (20_000 // (len(word) + 1))):
        yield " ".join([*words[:place], grown, *words[place + 1 :]])
    cut = chance.randrange(len(text) + 1)
    yield text[:cut] + chance.choice(("a", "0", " ", ".", "x=1, ", "\n", "(", "a.b ")) * 10_000 + text[cut:]
    yield f"{text[: len(text) * 2 // 3]} " * (20_000 // (len(text) * 2 // 3 + 1))


def test_no_shipped_pattern_is_slow_on_a_hostile_message() -> None:
    catalogue, chance = Catalogue.load(), random.Random(7)
    slow = []
    for number in range(len(catalogue)):
        record = catalogue.record(number)
        for example in record.examples[:1]:
            for text in mutated("\n".join(example), chance):
                # A busy machine may be slow once: what counts is the best of three.
                tries = (_seconds(record.pattern, text) for _ in range(3))
                if all(seconds > 0.2 for seconds in tries):
                    slow.append((record.slug, text[:60]))
    assert not slow


def _seconds(pattern: str, text: str) -> float:
    started = time.process_time()
    Pattern(pattern).search(text, timeout=2.0)
    return time.process_time() - started


def test_a_pattern_that_is_always_slow_is_given_up() -> None:
    pattern = Pattern(r"(a+a+)+\$")
    started = time.process_time()
    for _ in range(2_000):
        assert pattern.search("a" * 3_000, timeout=0.005) is None
    assert pattern.timeouts == 16
    assert time.process_time() - started < 5.0


def test_a_slow_record_of_the_user_is_named_and_the_rest_explained(tmp_path: Path) -> None:
    records = tmp_path / "slow.json"
    records.write_text(json.dumps({"errorMessage": "bad thing", "messagePattern": r"bad thing (a+a+)+\$"}))
    log = tmp_path / "server.log"
    log.write_text(f"ValueError: bad thing {'a' * 5_000}\n" + FAILURE.read_text())
    done = run(log, "--patterns", records, "--format", "json")
    assert done.returncode == 2
    (line,) = complaints(done)
    assert "slow.json" in line and "too slow" in line
    assert any(finding["record"] for finding in json.loads(done.stdout)["findings"])


# --------------------------------------------------------------------------- memory


def test_what_is_kept_of_many_long_failures_is_bounded() -> None:
    report = explain_text("".join(f"ValueError: {letters(n)} {letters(n) * 5_000}\n" for n in range(300)))
    assert len(report.findings) == 300
    assert all(len(finding.message) < bounds.TOLD + 10 for finding in report.findings)
    assert all(len(finding.text) < bounds.TOLD + 10 for finding in report.findings)


def test_a_long_message_keeps_both_ends() -> None:
    report = explain_text(f"RuntimeError: first words {'x ' * 40_000}last words\n")
    message = report.findings[0].message
    assert message.startswith("first words x") and message.endswith("x last words")


def test_captures_are_bounded() -> None:
    report = explain_text(f"RuntimeError: CUDA out of memory. Tried to allocate {'2.00 ' * 9_000} GiB.\n")
    assert all(len(value) < bounds.CAPTURE + 10 for one in report.findings for value in one.captures.values())


def test_the_matches_that_are_remembered_hold_no_text() -> None:
    shared = matcher()
    shared._memory.clear()
    explain_text("".join(f"ValueError: {letters(n)} {letters(n) * 4_000}\n" for n in range(600)))
    kept = sum(len(str(key)) for key in shared._memory) + sum(len(one.event.text) for one in shared._memory.values())
    assert kept < 600 * 1_000


def test_streams_and_entries_that_never_end() -> None:
    assembler = Assembler(0)
    header = "Traceback (most recent call last):"
    for number in range(3 * MAX_STREAMS):
        list(assembler.feed(Line(number, header, f"stream {number}")))
        list(assembler.feed(Line(number, f"{STAMP}x", f"stream {number}")))
        list(assembler.feed(Line(number, "bare", f"other {number}")))
    for number in range(20_000):
        list(assembler.feed(Line(number, f'  File "/a/{number}.py", line 1, in f', f"stream {3 * MAX_STREAMS - 1}")))
    entries = [*assembler._open.values(), *assembler._suspended.values()]
    assert len(entries) <= 2 * MAX_STREAMS
    assert max(len(entry.lines) for entry in entries) <= 1_500
    for number in range(30):
        list(assembler.feed(Line(number, "x" * 60_000, "wide")))
    assert max(entry.size for entry in assembler._open.values()) < 512 * 1024


def test_servers_without_number() -> None:
    reader = LaunchReader()
    for number in range(3 * MAX_SERVERS):
        line = Line(number + 1, f"{STAMP}server_args=ServerArgs(model_path='m', port={number})", f"stream {number}")
        reader.read(line, "log", 0)
    assert len(reader._of_stream) <= MAX_SERVERS and len(reader._counts) <= MAX_SERVERS + 1


# --------------------------------------------------------------------------- text

NASTY = "\x1b]52;c;aGk=\x07\x1b]8;;http://x\x1b\\\x9b31m\x1b[2J\u202e\u2028\u2066\x85\x00\x7f\x08\ue0001\ufeff"
_LIVE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("form", ["terminal", "json", "jsonl"])
def test_nothing_of_a_log_or_a_name_reaches_the_output_alive(form: str, tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/bad\xff\n\x1b[31m\xe2\x80\xae.log"
    with open(name, "wb") as file:
        file.write(
            f"[2026-11-30 08:00:00 TP0] Scheduler hit{NASTY} an exception: Traceback (most recent call last):\n"
            f'  File "/x/sglang/srt/a{NASTY}.py", line 1, in f{NASTY}\n    go({NASTY})\n'
            f"some.Module{NASTY}Error: text {NASTY} text\nValueError: {NASTY}\n".encode("utf-8", "surrogatepass")
        )
    done = run(os.fsdecode(name), "--format", form, "--all")
    assert done.returncode == 0 and not complaints(done)
    assert not _LIVE.search(done.stdout.decode("utf-8"))


# --------------------------------------------------------------------------- usage


@pytest.mark.parametrize("option", ["--output", "--patterns", "--sglang", "--state", "--on-finding", "--metrics"])
def test_an_option_that_got_an_empty_text(option: str) -> None:
    done = run(FAILURE, option, "")
    assert done.returncode == 2 and not done.stdout
    assert complaints(done) == [f"sglang-explain: {option}: the value is empty; check the variable it comes from"]


@pytest.mark.parametrize("arguments", [("-o", "x.txt"), ("--fail-on", "error"), ("--from", "²"), ("--from", LONG)])
def test_what_does_not_go_with_following(arguments: tuple[str, ...]) -> None:
    done = run(FAILURE, "--follow", *arguments)
    assert done.returncode == 2 and len(complaints(done)) == 1


def test_a_dash_is_standard_output(tmp_path: Path) -> None:
    done = run(FAILURE, "-o", "-", "--format", "json", cwd=tmp_path)
    assert json.loads(done.stdout)["findings"] and not list(tmp_path.iterdir())


def closed(arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Runs the command under a shell, which can close its streams."""
    return subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m explain {arguments}'],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "arguments", [f"{FAILURE} >&-", f"{FAILURE} <&- >&- 2>&-", "list >&-", f"run -- cat {FAILURE} >&- 2>&-"]
)
def test_closed_output_is_no_error(arguments: str) -> None:
    done = closed(arguments)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_closed_input_is_named() -> None:
    for arguments in ("- <&-", "-f - <&-"):
        done = closed(arguments)
        assert done.returncode == 2
        assert complaints(done) == ["sglang-explain: -: standard input is closed; name a file"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("arguments", ["{} >/dev/full", "{} -F jsonl >/dev/full", "{} -o /dev/full", "list >/dev/full"])
def test_a_full_disk_is_one_clear_line(arguments: str) -> None:
    done = closed(arguments.format(FAILURE))
    assert done.returncode == 2
    (line,) = complaints(done)
    assert "no space left on device" in line and "internal error" not in line


# --------------------------------------------------------------------------- one result everywhere


def test_hash_seed_locale_and_time_zone_make_no_difference() -> None:
    results = set()
    for seed, locale, zone in (
        ("0", "C", "UTC"),
        ("1", "C.UTF-8", "Asia/Kolkata"),
        ("77", "POSIX", "America/New_York"),
    ):
        env = {"PYTHONHASHSEED": seed, "LC_ALL": locale, "LANG": locale, "TZ": zone}
        done = run(*sorted((ROOT / "tests" / "logs").glob("*.log")), "--format", "json", env=env)
        results.add(re.sub(rb'"seconds": [\d.e-]+', b"", done.stdout))
    assert len(results) == 1


@pytest.mark.skipif(find_spec("hyperscan") is None, reason="there is only the plain scanner here")
def test_the_plain_scanner_gives_the_same_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """All labelled cases, real logs and shipped logs, where they are: without Hyperscan nothing changes."""
    fast = matcher()
    monkeypatch.setitem(sys.modules, "hyperscan", None)
    plain = Matcher(fast.catalogue, fast.sites)
    assert plain.scanner.name == "plain" and fast.scanner.name != "plain"
    logs = {path.name: path.read_bytes() for path in (ROOT / "tests" / "logs").glob("*.log")}
    logs |= {name: case["log"].encode() for name, case in cases()}
    logs |= {name: path.read_bytes() for name, _, path in real_logs()}
    for name, data in logs.items():
        # Past the head, too, where only spots lead to lines.
        for head in (HEAD_BYTES, 0):
            told = [
                replace(
                    explain_sources([Text(data, name)], fast.catalogue, fast.sites, matcher=one, head=head), stats=None
                )
                for one in (fast, plain)
            ]
            assert told[0] == told[1], name


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs a device")
def test_a_device_is_no_place_for_a_state(tmp_path: Path) -> None:
    device = tmp_path / "zero"
    device.symlink_to("/dev/zero")
    state, problem = load_state(device)
    assert not state.left and problem is not None and "not a regular file" in problem.message
    problem = write_whole(device, b"x")
    assert problem is not None and "not a regular file" in problem.message and device.is_symlink()

"""No figure in advice contradicts the log: every filled value is looked up in the log's own text.

The look-up is by simple expressions of its own over the raw lines of the start that failed, not by the
program's readers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from explain.conditions import OF_RELEASE
from explain.model import Finding, Report
from explain.pins import PINS
from tests.contexts.labelled import shared_logs
from tests.contexts.more_servers import MORE
from tests.contexts.servers import RELEASES, STORIES, Server
from tests.helpers import explain_text
from tests.test_fitting import fitted_records

SLOT = re.compile(r"\{([a-z][\w/]*)(?::\d)?\}")
NOTE = re.compile(r" \[([^\[\]]*`[^\[\]]*)\]$")
HAVE = re.compile(r"`--([a-z][\w-]*) ([^`]+)`")
GB = r"(-?\d+\.\d+) ?GB"
FIGURE = re.compile(r"\d+\.\d+|\d{2,}")
COMPUTED = frozenset({"lower", "higher", "left_then", "pool_then"})
SPECULATIVE = ("0.5.2", "0.5.18")


def told_by(log: str, finding: Finding) -> str:
    """The part of a log that is about the start in which a finding happened."""
    lines = log.split("\n")
    starts = [number for number, line in enumerate(lines, 1) if "server_args=" in line]
    begin = max((number for number in starts if number <= finding.last.line), default=0)
    end = min((number for number in starts if number > max(finding.last.line, begin)), default=len(lines) + 1)
    return "\n".join(lines[max(begin - 1, 0) : end - 1])


class Told:
    """What the raw text of one start says, by name of a slot."""

    def __init__(self, text: str, whole: str) -> None:
        self.text, self.whole = text, " ".join(whole.split())
        shows = ("server_args=", "sglang.launch_server", "sglang serve")
        self.launch = "\n".join(line for line in text.split("\n") if any(mark in line for mark in shows))
        target = text.partition("Memory pool end")[0]  # a draft model may load behind it
        self.begins = [float(one) for one in re.findall("Load weight begin[^\n]*?avail mem=" + GB, target)]
        self.ends = self._numbers("Load weight end[^\n]*?avail mem=" + GB)
        self.used = self._numbers("Load weight end[^\n]*?mem usage=" + GB)
        self.lefts = self._numbers("Memory pool end[^\n]*?avail mem=" + GB)
        self.pools = [
            float(k) + float(v) for k, v in re.findall(rf"KV Cache [^\n]*?K size: {GB}, V size: {GB}", text)
        ] + self._numbers("KV Cache [^\n]*?KV size: " + GB)

    def _numbers(self, pattern: str) -> list[float]:
        return [float(one) for one in re.findall(pattern, self.text)]

    def arguments(self, name: str) -> list[str]:
        flag = name.replace("_", "-")
        found = re.findall(
            rf"(?:\b{name}=|'{name}': |--{flag}[ =]|--{flag.removesuffix('-size')}[ =])('[^']*'|[^,)}}\s]+)",
            self.launch,
        )
        return [one.strip("'") for one in found]

    def has(self, name: str, value: str, values: dict[str, str]) -> bool:
        near = {
            "before": self.begins, "after": self.ends, "left": self.lefts, "pool": self.pools,
            "weights": [*self.used, *(begin - end for begin, end in zip(self.begins, self.ends, strict=False))],
            "running": self._numbers(r"#running-req: (\d+)"),
            "half_running": [one // 2 for one in self._numbers(r"#running-req: (\d+)")],
        }  # fmt: skip
        if name in near:
            return any(abs(one - float(value)) <= 0.051 for one in near[name])
        if name == "fraction":
            name = "mem_fraction_static"
        if name in COMPUTED:
            return self.follows(name, float(value))
        said = [one for part in name.split("/") for one in self.arguments(part)]
        said += re.findall(rf"\b{name}=(\d+)", self.text) if "/" not in name else []
        return value in said or _number(value) in map(_number, said) or (not said and value in self.whole)

    def follows(self, name: str, value: float) -> bool:
        """By SGLang's accounting: a change of the fraction by d moves d times before GB between pool and rest."""
        (fraction,) = {float(one) for one in self.arguments("mem_fraction_static")}
        before = min(self.begins)
        if name == "lower":
            return 0 < value < fraction
        if name == "higher":
            return fraction < value < 1
        if name == "pool_then":
            return 0 < value < min(self.ends)
        left = min(self.lefts) if self.lefts else before * (1 - fraction)
        return left < value < before


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def claims(log: str, report: Report) -> Iterator[tuple[str, str, bool]]:
    """(what is said, the value, whether the log has it) of every filled slot and note."""
    for finding in report.findings:
        if finding.record is None:
            continue
        told = Told(told_by(log, finding), f"{finding.text} {finding.message} {log}")
        texts = [*finding.solutions, *(one.reason for one in finding.dropped)]
        templates = [fit.text for fit in finding.record.fits if fit.text and "{" in fit.text]
        for text in texts:
            note = NOTE.search(text)
            # What a release lacks is no claim about the server.
            has = note[1] if note and not note[1].startswith("SGLang ") else ""
            for name, value in HAVE.findall(has):
                field = name.replace("-", "_")
                yield f"{finding.record.slug}: {text}", value, told.has(field, value, {})
            plain = text[: note.start()] if note else text
            if plain in finding.record.solutions:
                continue
            for template in templates:
                values = slots(template, plain)
                if values is not None:
                    for name, value in values.items():
                        right = (
                            of_release(name, value, report)
                            if name in OF_RELEASE
                            else value == finding.captures.get(name) or told.has(name, value, values)
                        )
                        yield f"{finding.record.slug}: {plain} [{name}]", value, right
                    break
            else:
                # In the release's own words, or a reason of ours: no figure that the record does not name.
                own = " ".join((*finding.record.solutions, *(fit.text or "" for fit in finding.record.fits)))
                own += f" {report.context.sglang_version}"
                same = plain.startswith("SGLang") or all(figure in own for figure in FIGURE.findall(plain))
                yield f"{finding.record.slug}: {plain}", "", same


def of_release(name: str, value: str, report: Report) -> bool:
    """The release as the context tells it, or a version that it pins (`test_pins` holds these to the wheels)."""
    if name in ("release", "one_release"):
        return value == report.context.sglang_version
    return f"={value.rpartition('==')[2]} " in f"{PINS[name]} "


def slots(template: str, text: str) -> dict[str, str] | None:
    names: list[str] = []
    pattern = ""
    place = 0
    for slot in SLOT.finditer(template):
        pattern += re.escape(template[place : slot.start()]) + "(.+?)"
        names.append(slot[1])
        place = slot.end()
    found = re.fullmatch(pattern + re.escape(template[place:]), text, re.DOTALL)
    return dict(zip(names, found.groups(), strict=True)) if found else None


@cache
def of_records(release: str) -> tuple[tuple[str, str], ...]:
    """The example of every fitted record behind a server's start and some batches of it."""
    found = []
    for number, record in enumerate(fitted_records()):
        server = Server(release, tp=(1, 4, 8)[number % 3], mem_fraction_static=(0.62, 0.8, 0.88, 0.93)[number % 4])
        server.args |= {"cuda_graph_max_bs": 256, "speculative_algorithm": "EAGLE", "quantization": "fp8"}
        server.start(before=78.4 - number % 7, after=61.2 - number % 5, left=9.3 - number % 6)
        server.batches(3, running=17 + number)
        server.wait(1)
        server.bare(*record.examples[0], "")
        server.sigquit()
        found.append((record.slug, server.text))
    return tuple(found)


def check(logs: Iterator[tuple[str, str]], fewest: int, capsys: pytest.CaptureFixture[str]) -> None:
    wrong, asked = [], 0
    for name, log in logs:
        for said, value, right in claims(log, explain_text(log)):
            asked += 1
            if not right:
                wrong.append(f"{name}: {value!r} in {said}")
    with capsys.disabled():
        print(f"\nfilled values: {asked - len(wrong)} of {asked} are in the log", *wrong[:40], sep="\n  ")
    assert not wrong
    assert asked >= fewest


def test_no_figure_contradicts_a_shared_log(capsys: pytest.CaptureFixture[str]) -> None:
    if not (logs := shared_logs()):
        pytest.skip("the labelled cases are not here (../shared)")
    texts = ((name, log if isinstance(log, str) else log.decode("utf-8", "replace")) for name, log, _ in logs)
    check(texts, 5, capsys)


def test_no_figure_contradicts_a_whole_server_log(capsys: pytest.CaptureFixture[str]) -> None:
    texts = (
        (f"{story.__name__} {release}", servers[0].text)
        for story in (*STORIES, *MORE)
        for release in RELEASES
        if len(servers := story(release)) == 1
    )
    check(texts, 40, capsys)


@pytest.mark.parametrize("release", SPECULATIVE)
def test_no_figure_contradicts_the_start_before_a_fitted_record(
    release: str, capsys: pytest.CaptureFixture[str]
) -> None:
    check(iter(of_records(release)), 100, capsys)


def test_the_figures_are_those_of_one_rank() -> None:
    """Ranks begin and end with different memory: nobody's difference is nobody's weights."""
    server = Server("0.5.10", tp=2, mem_fraction_static=0.95)
    server.arguments()
    for rank, before, after in (("TP0", 78.0, 30.0), ("TP1", 70.0, 31.0)):
        server.say(f"Load weight begin. avail mem={before:.2f} GB", rank)
        server.say(f"Load weight end. type=X, avail mem={after:.2f} GB, mem usage={before - after:.2f} GB.", rank)
    server.pool(200000, 26.1, 3.5)
    server.graphs(2.5, None)
    server.bare(
        "[2026-11-30 08:01:00 TP0] Scheduler hit an exception: Traceback (most recent call last):",
        '  File "/x/sglang/srt/model_executor/cuda_graph_runner.py", line 390, in __init__',
        "    raise Exception(",
        "Exception: Capture cuda graph failed: CUDA out of memory. Tried to allocate 1.50 GiB.",
        "",
    )
    report = explain_text(server.text)
    assert "Weights took 39.0 of 70.0 GB" in report.findings[0].solutions[0]
    assert all(right for _, _, right in claims(server.text, report))

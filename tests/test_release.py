"""Which release wrote a log: right ranges, and never a wrong exact answer."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explain.authoring.harvest import harvest
from explain.authoring.harvest_tree import version_key
from explain.launch import find_server_args
from explain.linehistory import Mark, decode, encode
from explain.linetracks import distances, marks_of, packed
from explain.model import Frame
from explain.release import infer
from explain.sitepack import CHECKOUT, PackError, SitePack, build_pack, empty_pack
from tests.authoring.test_harvest import tree

SHARED = Path(__file__).parents[2] / "shared"
FRAME = re.compile(r'File "?([^"\n]*?sglang/[^"\n]*?\.py)"?, line (\d+), in (\S+)\n\s*([^\n]*)')


@pytest.fixture(scope="module")
def shipped() -> SitePack:
    if not Path(CHECKOUT, "releases.txt").is_file():
        pytest.skip("no index was harvested here")
    return SitePack(build_pack(Path(CHECKOUT)))


def scheduler(shift: int, loads: bool = False) -> str:
    head = "import logging\n" * shift
    extra = "    load()\n" if loads else ""
    return f"{head}def run(a):\n{extra}    start(a)\n    finish(a)\n"


BRIGHT = """
def f(n):
    logger.info('the lamp is very bright')
    logger.info(f'the room is lit for {n} hours')
"""


@pytest.fixture
def small(tmp_path: Path) -> SitePack:
    """Seven releases of a made-up server."""
    folders = []
    for number in range(7):
        fields = "".join(f"    lamp_{index}: int = 0\n" for index in range(40 + number // 2 * 2))
        files = {
            "srt/server_args.py": f"class ServerArgs:\n{fields}",
            "srt/managers/scheduler.py": scheduler(number // 2, loads=number > 4),
            "srt/lamp.py": "" if number < 5 else BRIGHT,
        }
        folders.append(tree(tmp_path, f"1.0.{number}", files))
    harvest(folders, tmp_path / "index")
    return SitePack(build_pack(tmp_path / "index"))


def test_the_same_server_arguments_are_exact(small: SitePack) -> None:
    names = [f"lamp_{index}" for index in range(46)]
    assert infer(names, (), (), small)[0] == "1.0.6"
    assert infer(names[:42], (), (), small)[0] == "1.0.2 to 1.0.3"
    release, evidence = infer(names[:44], (), (), small)
    assert release == "1.0.4 to 1.0.5" and "44 server arguments" in evidence[0]


def test_nearly_the_same_server_arguments_are_a_range(small: SitePack) -> None:
    names = [f"lamp_{index}" for index in range(46)]
    release, _ = infer([*names, "own_lamp"], (), (), small)
    assert release is not None and " to " in release
    assert infer(["lamp_1", "lamp_2"], (), (), small) == (None, ())
    assert infer([f"other_{index}" for index in range(50)], (), (), small) == (None, ())


def test_lines_of_a_traceback(small: SitePack) -> None:
    frames = [
        Frame("/x/sglang/srt/managers/scheduler.py", 6, "run", "start(a)"),
        Frame("/x/sglang/srt/managers/scheduler.py", 7, "run", "finish(a)"),
    ]
    release, evidence = infer(None, frames, (), small)
    assert release == "1.0.5 to 1.0.6" and "2 lines" in evidence[0]
    # Neither lines of other files nor lines without their text say anything.
    assert infer(None, [Frame("/x/torch/nn.py", 6, "run", "start(a)")], (), small) == (None, ())
    assert infer(None, [Frame("/x/sglang/srt/managers/scheduler.py", 6, "run", None)], (), small) == (
        None,
        (),
    )
    assert infer(None, [Frame("/x/sglang/srt/managers/scheduler.py", 6, "run", "other(b)")], (), small)[0] is None


def test_wordings(small: SitePack) -> None:
    lines = ["[2026-11-30 08:00:00 TP0] the lamp is very bright", "the room is lit for 12 hours", "other"]
    release, evidence = infer(None, (), lines, small)
    assert release == "1.0.4 to 1.0.6" and "the lamp is very bright" in evidence[0]
    # One wording may come from another program.
    assert infer(None, (), lines[:1], small) == (None, ())


def test_nothing_is_said_without_an_index_or_evidence(small: SitePack) -> None:
    assert infer(None, (), (), small) == (None, ())
    names = [f"lamp_{index}" for index in range(46)]
    assert infer(names, (), ("Prefill batch. #new-seq: 1",), empty_pack()) == (None, ())


def test_a_line_history_reads_what_it_wrote() -> None:
    contents = [
        ("1", [(1, "abc"), (5, "012"), (30, "fff")]),
        ("2..4", [(2, "abc"), (6, "012"), (7, "00a"), (31, "fff")]),
        ("5", []),
        ("6", [(9, "abc")]),
    ]
    read = [(one.releases, list(zip(one.lines, one.digits, strict=True))) for one in decode(encode(contents))]
    assert read == contents
    with pytest.raises(ValueError):
        decode(["1\t=1abc", "2\tnot a change"])


marks = st.dictionaries(st.integers(1, 60), st.sampled_from(["abc", "012", "0bc", "c01"]), max_size=12)


@given(st.lists(marks, min_size=1, max_size=6), st.lists(st.tuples(st.integers(1, 70), st.just("abc")), max_size=2))
def test_a_packed_history_tells_the_same(contents: list[dict[int, str]], wanted: list[Mark]) -> None:
    wanted = [*wanted, (7, "012"), (30, "c01")]
    history = [(str(number), sorted(content.items())) for number, content in enumerate(contents)]
    content = packed(encode(history))
    assert list(marks_of(content)) == [(releases, tuple(marks)) for releases, marks in history]
    for (releases, away), (expected, marks) in zip(distances(content, wanted), history, strict=True):
        nearest = [min((abs(at - line) for at, one in marks if one == digits), default=None) for line, digits in wanted]
        assert (releases, away) == (expected, nearest)


def test_a_damaged_history_is_named(tmp_path: Path) -> None:
    (tmp_path / "releases.txt").write_text("1.0.0\n")
    (tmp_path / "lines-srt.tsv").write_text("# sglang/srt/lamp.py\n1.0.0\tnot a change\n")
    with pytest.raises(PackError, match=r"lines-srt\.tsv: sglang/srt/lamp\.py: no change"):
        build_pack(tmp_path)


@pytest.mark.parametrize("folder", ["cases", "real_logs"])
def test_labelled_logs(shipped: SitePack, folder: str) -> None:
    """At least 95 in 100 ranges hold the stated version, and no exact answer is wrong."""
    paths = sorted((SHARED / folder).glob("*.json"))
    if not paths:
        pytest.skip("the labelled logs are not here")
    right, wrong = [], []
    for path in paths:
        case = json.loads(path.read_text(encoding="utf-8"))
        beside = path.with_suffix(".log")
        log = beside.read_text(encoding="utf-8", errors="replace") if beside.exists() else str(case.get("log"))
        stated = re.match(r"v?(0\.\d+\.\d+(?:\.post\d+)?)$", case.get("sglang_version") or "")
        if stated is None:
            continue
        version = stated[1]
        arguments = next((a for line in log.splitlines() if (a := find_server_args(line))), None)
        frames = [Frame(f[0], int(f[1]), f[2], f[3]) for f in FRAME.findall(log)]
        release, _ = infer(list(arguments or ()), frames, log.splitlines()[:500], shipped)
        if release is None:
            continue
        first, _, last = release.partition(" to ")
        inside = version_key(first) <= version_key(version) <= version_key(last or first)
        (right if inside else wrong).append((path.name, version, release))
        assert inside or last, f"{path.name}: said exactly {release}, it is {version}"
    assert len(right) >= 0.95 * (len(right) + len(wrong)), wrong
    assert len(right) > 20

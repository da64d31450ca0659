"""Skeletons: facts from a log, a page or a dataset's record; the prose stays to be written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import regex

from explain.authoring.new import CannotStart, record_path, skeleton, write_skeleton
from explain.authoring.saved_page import below, facts_of_page, looks_like_page
from explain.authoring.slots import pattern_of_message, pattern_of_template
from explain.catalogue import Catalogue
from explain.needles import needles
from explain.pattern import compile_error
from explain.record import DATASET_FIELDS, derive_id, read_records
from explain.sites import SiteIndex

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
PROSE = ("documentation", "triggerScenarios", "commonSituations", "solutions", "preventionTips", "tags")

TRACEBACK = """\
[2026-11-30 08:14:58 TP3] Scheduler hit an exception: Traceback (most recent call last):
  File "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py", line 2587, in run_scheduler_process
    scheduler = Scheduler(server_args)
                ^^^^^^^^^^^^^^^^^^^^^^
  File "/sgl-workspace/sglang/python/sglang/srt/burrow.py", line 12, in dig
    raise QuokkaError(text)
sglang.srt.burrow.QuokkaError: Burrow 'west' needs 12.5 GiB at /data/burrows/west, has 3 of 8 rooms
[2026-11-30 08:14:59] Received sigquit from a child process. It usually means the child failed.
"""

PAGE = """\
quokka/quokka · warning · QuokkaError

The burrow is too sma

Error message

The burrow is too small: 3 rooms.
Dig more.

What it means

It means this.

Source

Thrown at burrow/dig.py:77

        raise QuokkaError()

View on GitHub (pinned to 0132848349)

Solutions

1. Dig

When it happens

Trigger: never

Analysis of quokka/quokka@0132848349 (2026-08-28). Data as JSON: /api/errors/0123456789abcdef. Report it.
"""


def test_a_traceback_gives_its_innermost_error() -> None:
    made = skeleton(TRACEBACK, "burrow-too-small")
    fields = made.fields
    assert fields["errorClass"] == "sglang.srt.burrow.QuokkaError"
    assert fields["errorMessage"] == "Burrow 'west' needs 12.5 GiB at /data/burrows/west, has 3 of 8 rooms"
    assert fields["repo"] == "sgl-project/sglang"
    assert fields["id"] == derive_id(fields["repo"], fields["errorClass"], fields["errorMessage"])
    assert fields["slug"] == "burrow-too-small"
    found = regex.search(fields["messagePattern"], "Burrow 'east' needs 1.25 GiB at /x/y, has 11 of 12 rooms")
    assert found is not None
    assert [fields[name] or None for name in PROSE] == [None] * 6
    assert any("site index does not know" in note for note in made.notes)


def test_the_example_is_the_traceback_without_anyones_code() -> None:
    (example,) = skeleton(TRACEBACK, "x").fields["examples"]
    assert example[0].startswith("[2026-11-30 08:14:58 TP3] Scheduler hit an exception")
    assert example[-1].startswith("sglang.srt.burrow.QuokkaError: Burrow")
    assert [line for line in example if not line.startswith(("[", "  File", "sglang.srt"))] == []


def test_carriers_come_off_and_secrets_stay_out() -> None:
    carried = "".join(f"2026-11-30T08:14:58.123456789Z stderr F {line}\n" for line in TRACEBACK.splitlines())
    assert skeleton(carried, "x").fields["examples"] == skeleton(TRACEBACK, "x").fields["examples"]
    secret = "[2026-11-30 08:14:58] ValueError: hf_token='hf_abcdefghijklmnopqrstuvwxyzABCDEFGH' is refused"
    assert "abcdefgh" not in json.dumps(skeleton(secret, "x").fields)


def test_a_bare_assertion_is_known_by_its_frame() -> None:
    text = TRACEBACK.partition("sglang.srt.burrow.Quokka")[0] + "AssertionError\n"
    made = skeleton(text, "x")
    assert made.fields["frames"] == ["sglang/srt/burrow.py:dig"]
    assert list(made.fields)[list(made.fields).index("lineNumber") + 1] == "frames"
    other = skeleton(text.replace("in dig", "in fill"), "x")
    assert other.fields["id"] != made.fields["id"]


def test_a_log_line_is_a_log_record() -> None:
    made = skeleton("[2026-11-30 08:14:58] WARNING: The burrow 7 is wet\n", "x")
    assert made.fields["errorType"] == "log"
    assert made.fields["errorClass"] is None
    assert "repo: name the repository" in " ".join(made.notes)


def test_a_site_of_the_index_gives_template_place_and_releases() -> None:
    sites = SiteIndex.load()
    if not sites.versions:
        pytest.skip("no site index")
    text = TRACEBACK.partition("sglang.srt.burrow.Quokka")[0]
    text += "NotImplementedError: HiCache does not support Inkling MTP draft state yet.\n"
    made = skeleton(text, "x", sites)
    assert made.fields["filePath"] == "python/sglang/srt/speculative/base_spec_worker.py"
    assert re.fullmatch(r".*/blob/v[\d.a-z]+/python/sglang/srt/.*\.py#L\d+", made.fields["githubUrl"])
    assert "releases" in made.notes[0]


def test_a_page_gives_its_facts_and_none_of_its_prose() -> None:
    assert looks_like_page(PAGE)
    made = skeleton(PAGE, "burrow-too-small")
    fields = made.fields
    assert fields["id"] == "0123456789abcdef"
    assert (fields["repo"], fields["severity"], fields["errorClass"]) == (
        "quokka/quokka",
        "warning",
        "QuokkaError",
    )
    assert fields["errorMessage"] == "The burrow is too small: 3 rooms.\nDig more."
    assert (fields["filePath"], fields["lineNumber"]) == ("burrow/dig.py", 77)
    assert fields["githubUrl"] == "https://github.com/quokka/quokka/blob/0132848349/burrow/dig.py#L77"
    assert (fields["analyzedSha"], fields["analyzedAt"]) == ("0132848349", "2026-08-28")
    assert regex.search(fields["messagePattern"], fields["errorMessage"])
    assert [fields[name] or None for name in PROSE] == [None] * 6
    assert "It means" not in json.dumps(fields)


def test_a_page_without_some_facts_says_which() -> None:
    made = skeleton("a/b · error · ValueError\n\nError message\n\nIt broke\n", "x")
    assert made.notes[1] == "the page does not say: id, filePath"
    assert below("Error message\n", "Solutions") == ""
    assert "lineNumber" not in facts_of_page("a/b · error\n")


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the dataset's samples are not beside the checkout")
def test_the_datasets_own_samples() -> None:
    page = skeleton((SEEDS / "002_d3546d0ed5e69d3e.txt").read_text(), "x").fields
    assert page["id"] == "0e7af5ad0316fee2"
    assert page["filePath"] == "python/sglang/srt/server_args.py"
    assert page["errorMessage"].startswith("--enable-int8-mamba-checkpoint is not supported together with --enable-")
    one = skeleton((SEEDS / "000_30cac3736014f94b.txt").read_text(), "x").fields
    assert one["id"] == "566c5bdce5bc7be3"
    assert one["sourceCode"] is None
    assert one["solutions"] == []


@pytest.mark.parametrize("text", ["", "\n\n", "  \n"])
def test_nothing_gives_nothing(text: str) -> None:
    with pytest.raises(CannotStart) as caught:
        skeleton(text, "x")
    assert "holds no message" in caught.value.problem.message


def test_a_skeleton_is_a_record_of_the_schema(tmp_path: Path) -> None:
    path = write_skeleton(tmp_path, "island/burrow-too-small", skeleton(TRACEBACK, "burrow-too-small"))
    assert path == tmp_path / "island" / "burrow-too-small.json"
    assert path.read_text().endswith("}\n")
    records, problems = read_records(path, path.read_bytes(), "island")
    assert problems == []
    raw = records[0].raw
    assert [name for name in raw if name in DATASET_FIELDS] == list(DATASET_FIELDS)
    assert len(Catalogue.of([tmp_path])) == 1


def test_a_record_is_never_overwritten(tmp_path: Path) -> None:
    made = skeleton(TRACEBACK, "x")
    write_skeleton(tmp_path, "a/x", made)
    with pytest.raises(CannotStart, match="exists already"):
        write_skeleton(tmp_path, "a/x", made)
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotStart, match="cannot be written"):
        write_skeleton(tmp_path / "file", "a/x", made)


@pytest.mark.parametrize("name", ["slug", "Area/slug", "a/b/c", "a/", "/b", "../a/b", "a/b.json", "a b/c"])
def test_a_name_is_area_and_slug(tmp_path: Path, name: str) -> None:
    with pytest.raises(CannotStart, match="is not AREA/SLUG"):
        record_path(tmp_path, name)


@pytest.mark.parametrize(
    ("template", "text", "captures"),
    [
        ("Rank {rank:int} of {} died", "Rank 3 of 8 died", {"rank": "3"}),
        ("{{braces}} and (parens) {name}", "{braces} and (parens) x y", {"name": "x y"}),
        ("{a} and {a}", "1 and 2", {"a": "1"}),
        ("load {ratio:float}.", "load 0.25.", {"ratio": "0.25"}),
        ("line one\nline {n:int}", "line one\nline 2", {"n": "2"}),
    ],
)
def test_a_template_becomes_a_pattern(template: str, text: str, captures: dict[str, str]) -> None:
    pattern = pattern_of_template(template)
    match = regex.fullmatch(pattern, text)
    assert match is not None, pattern
    assert match.groupdict() == captures


@pytest.mark.parametrize(
    ("message", "other"),
    [
        ("Got 3 of 8", "Got 11 of 12"),
        ("needs 12.5 GiB more", "needs 800 MB more"),
        ("cannot open /data/models/a", "cannot open /x/y"),
        ("value 'abc' is bad", "value 'x y' is bad"),
        ('key "abc" is bad', 'key "" is bad'),
        ("took 30 seconds", "took 2.5 s"),
        ("at 0x7f00aa", "at 0x1"),
        ("size (4+4) [x] {y} a|b $1^2 ends.", "size (5+6) [x] {y} a|b $7^9 ends."),
    ],
)
def test_runtime_values_become_slots(message: str, other: str) -> None:
    pattern = pattern_of_message(message)
    assert compile_error(pattern) is None
    assert regex.fullmatch(pattern, message), pattern
    assert regex.fullmatch(pattern, other), pattern


def test_names_with_digits_are_no_values() -> None:
    assert pattern_of_message("qwen3_next on sm90 with fp8") == "qwen3_next on sm90 with fp8"
    assert needles(pattern_of_message("FlashAttention v3 Backend requires SM>=80"))

"""Records in every shape the dataset has; problems with file and pointer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explain.model import Problem
from explain.record import derive_id, derive_slug, read_records, short_title

SEED = Path(__file__).parents[2] / "shared" / "seeds" / "000_30cac3736014f94b.txt"

BARE: dict[str, Any] = {
    "id": "0123456789abcdef",
    "repo": "sgl-project/sglang",
    "slug": "pool-is-empty",
    "errorMessage": "The pool is empty",
    "messagePattern": "pool is empty",
    "errorType": "exception",
    "errorClass": "RuntimeError",
    "severity": "error",
    "solutions": ["Raise --mem-fraction-static to 0.9"],
    "something": {"new": [1]},
}


def read(value: object, text: str | None = None) -> tuple[list[str], list[Problem]]:
    content = (text if text is not None else json.dumps(value)).encode()
    records, problems = read_records(Path("a/b.json"), content, "area")
    return [record.slug for record in records], problems


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(BARE),
        json.dumps(BARE, indent=2),
        "\ufeff" + json.dumps(BARE),
        json.dumps({"record": BARE, "datasetVersion": "2026"}),
        json.dumps([BARE]),
        json.dumps([{"record": BARE}], indent=1),
        json.dumps(BARE) + "\n",
        json.dumps({"record": BARE}) + "\n\n",
        "\n" + json.dumps([BARE]) + "\n",
    ],
)
def test_one_record_in_every_shape(text: str) -> None:
    assert read(None, text) == (["pool-is-empty"], [])


def test_several_records_in_an_array_and_in_json_lines() -> None:
    other = BARE | {"id": "f" * 16, "slug": "other"}
    assert read([BARE, {"record": other}]) == (["pool-is-empty", "other"], [])
    lines = json.dumps({"record": BARE}) + "\r\n\n" + json.dumps(other) + "\n"
    assert read(None, lines) == (["pool-is-empty", "other"], [])


def test_every_field_is_kept() -> None:
    records, _ = read_records(Path("x.json"), json.dumps({"record": BARE}).encode(), "kv-cache")
    assert dict(records[0].raw) == BARE
    assert list(records[0].raw) == list(BARE)
    assert (records[0].area, records[0].source) == ("kv-cache", "x.json")


@pytest.mark.skipif(not SEED.is_file(), reason="the dataset's sample is not beside the checkout")
def test_the_datasets_own_sample() -> None:
    records, problems = read_records(SEED, SEED.read_bytes(), "")
    assert problems == []
    (record,) = records
    assert record.id == "566c5bdce5bc7be3"
    assert record.error_class == "NotImplementedError"
    assert len(record.solutions) == 3
    assert record.raw["sourceCodeStart"] == 244
    assert record.role == "cause"


@pytest.mark.parametrize(
    ("change", "pointer", "words"),
    [
        ({"solutions": "one"}, "/solutions", "is text, must be an array"),
        ({"solutions": ["a", 3]}, "/solutions/1", "is a number, must be text"),
        ({"tags": {}}, "/tags", "is an object"),
        ({"severity": "fatal"}, "/severity", "is 'fatal'"),
        ({"role": "reason"}, "/role", "is 'reason'"),
        ({"lineNumber": "12"}, "/lineNumber", "whole number"),
        ({"lineNumber": True}, "/lineNumber", "a boolean"),
        ({"errorClass": ["A"]}, "/errorClass", "is an array"),
        ({"examples": [3]}, "/examples/0", "array of log lines"),
        ({"examples": [["a", None]]}, "/examples/0/1", "is null"),
        ({"nearMisses": ["text"]}, "/nearMisses/0", "is not a near-miss"),
        ({"nearMisses": [{"lines": [1], "because": "x"}]}, "/nearMisses/0/lines/0", "is a number"),
        ({"fits": [{"solution": 4, "when": {}}]}, "/fits/0/solution", "not the index of a solution"),
        ({"fits": [{"solution": 0, "when": []}]}, "/fits/0/when", "is an array"),
        ({"fits": [{"solution": 0, "then": "never"}]}, "/fits/0/then", "is 'never'"),
        ({"messagePattern": None, "errorMessage": None}, "/messagePattern", "is missing"),
        ({"messagePattern": 7}, "/messagePattern", "is a number"),
    ],
)
def test_a_wrong_field_is_named(change: dict[str, Any], pointer: str, words: str) -> None:
    slugs, problems = read([BARE | change, BARE])
    assert slugs == ["pool-is-empty"], "the good record of the file is read all the same"
    assert [p.pointer for p in problems] == [f"/0{pointer}"]
    assert words in problems[0].message
    assert problems[0].path == "a/b.json"


def test_all_problems_of_a_record_are_told_at_once() -> None:
    _, problems = read({"record": BARE | {"tags": 1, "severity": "x", "examples": 2}})
    assert {p.pointer for p in problems} == {"/record/tags", "/record/severity", "/record/examples"}


@pytest.mark.parametrize(
    ("text", "pointer", "words"),
    [
        ("", "", "is empty"),
        ("  \n", "", "is empty"),
        ('{"id": ', "line 1 column 8", "not valid JSON"),
        ('{\n  "id": 1,,\n}', "line 2 column 11", "not valid JSON"),
        ("null", "/", "is null, must be a record"),
        ('["text"]', "/0", "is text, must be a record"),
        ("[[]]", "/0", "is an array"),
    ],
)
def test_a_file_that_is_no_record(text: str, pointer: str, words: str) -> None:
    slugs, problems = read(None, text)
    assert slugs == []
    assert [p.pointer for p in problems] == [pointer]
    assert words in problems[0].message


def test_a_broken_line_of_json_lines_does_not_cost_the_others() -> None:
    other = BARE | {"slug": "other"}
    slugs, problems = read(None, "\n".join((json.dumps(BARE), '{"id": ', json.dumps(other), "3")))
    assert slugs == ["pool-is-empty", "other"]
    assert [p.pointer for p in problems] == ["line 2 column 8", "line 4"]


def test_bytes_that_are_not_text_are_a_problem() -> None:
    records, problems = read_records(Path("x.json"), b'{"id": "\xff\xfe"}', "")
    assert (records, len(problems)) == ([], 1)


def test_what_a_dataset_leaves_out_is_filled_in() -> None:
    records, problems = read_records(Path("x.json"), b'{"errorMessage": "Lost (all) of it"}', "")
    assert problems == []
    (record,) = records
    assert record.pattern == r"Lost\ \(all\)\ of\ it"
    assert record.slug == "lost-all-of-it"
    assert record.title == "Lost (all) of it"
    assert record.id == derive_id("", None, "Lost (all) of it")


@pytest.mark.parametrize(
    ("severity", "role"),
    [("critical", "cause"), ("error", "cause"), ("warning", "warning"), ("info", "noise")],
)
def test_the_role_follows_the_severity_where_none_is_stated(severity: str, role: str) -> None:
    records, _ = read_records(Path("x.json"), json.dumps(BARE | {"severity": severity}).encode(), "")
    assert records[0].role == role


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from([*BARE, "record", "examples", "nearMisses", "fits", "frames", "role"]),
                inner,
                max_size=5,
            )
        ),
        max_leaves=15,
    )
)
def test_no_json_value_breaks_the_reader(value: object) -> None:
    records, problems = read_records(Path("x.json"), json.dumps(value).encode(), "")
    assert records or problems or value == []


@given(st.binary(max_size=60))
def test_no_bytes_break_the_reader(content: bytes) -> None:
    records, problems = read_records(Path("x.json"), content, "")
    assert records or problems or not content.strip(b" \t\r\n[]")


def test_names_are_derived() -> None:
    assert derive_id("a/b", "ValueError", "x") == "a71109e91cec65e7"
    assert derive_id("a/b", None, "x") != derive_id("a/b", "ValueError", "x")
    assert derive_slug("It's “gone”: 3 GiB!") == "it-s-gone-3-gib"
    assert derive_slug("…") == "record"
    assert short_title("word " * 40) == "word " * 12 + "word…"
    assert len(short_title("x" * 200)) <= 70

"""Search: the right record first, whatever the spelling."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explain.authoring.search import search, similar_words, typing_errors
from explain.catalogue import Catalogue


def record(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"{number:016x}",
        "slug": f"record-{number}",
        "title": f"Thing {number} broke",
        "errorMessage": f"thing {number} broke into pieces",
        "documentation": "Nothing of note.",
    } | changes


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    records = [
        record(1, slug="pool-exhausted", title="KV pool exhausted", tags=["kv-pool"]),
        record(2, slug="pool-leak", documentation="The pool leaks because of a request that was exhausted."),
        record(3, slug="bitsandbytes-missing", title="Package bitsandbytes is missing"),
        record(4, slug="port-taken", title="Port is in use", errorMessage="[Errno 98] address already in use"),
        record(
            5,
            slug="transformers-too-old",
            title="Transformers is too old",
            solutions=["Upgrade transformers"],
        ),
    ]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(records))
    return Catalogue.of([path])


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("pool exhausted", "pool-exhausted"),
        ("EXHAUSTED Pool", "pool-exhausted"),
        ("pool leak", "pool-leak"),
        ("leaks", "pool-leak"),
        ("address already in use", "port-taken"),
        ("errno 98", "port-taken"),
        ("kv-pool", "pool-exhausted"),
        ("bitsandbites", "bitsandbytes-missing"),
        ("bitsandbytse package", "bitsandbytes-missing"),
        ("tranformers old", "transformers-too-old"),
        ("upgrade transfomers", "transformers-too-old"),
        ("exhuasted", "pool-exhausted"),
    ],
)
def test_the_best_record_comes_first(catalogue: Catalogue, words: str, first: str) -> None:
    hits = search(catalogue, words)
    assert hits, "something is found"
    assert catalogue.record(hits[0].number).slug == first
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_nothing_alike_finds_nothing(catalogue: Catalogue) -> None:
    assert search(catalogue, "quokka") == []
    assert search(catalogue, "") == []
    assert search(catalogue, "!!! ...") == []


def test_a_record_with_all_words_stands_above_one_with_some(catalogue: Catalogue) -> None:
    slugs = [catalogue.record(hit.number).slug for hit in search(catalogue, "pool exhausted request")]
    assert slugs[0] == "pool-leak", "the only one with all three words"


def test_the_limit_holds(catalogue: Catalogue) -> None:
    assert len(search(catalogue, "thing broke", 2)) == 2


@pytest.mark.parametrize(
    ("one", "other", "errors"),
    [
        ("memory", "memory", 0),
        ("memry", "memory", 1),
        ("memmory", "memory", 1),
        ("mempry", "memory", 1),
        ("mmeory", "memory", 1),
        ("mmery", "memory", 2),
        ("abc", "xyz", 3),
        ("a", "abcdef", 3),
    ],
)
def test_typing_errors_are_counted_up_to_a_bound(one: str, other: str, errors: int) -> None:
    assert typing_errors(one, other, 2) == errors
    assert typing_errors(other, one, 2) == errors


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_typing_errors_are_what_the_definition_says(one: str, other: str) -> None:
    def slow(a: str, b: str) -> int:
        if not a or not b:
            return len(a) + len(b)
        best = min(slow(a[1:], b) + 1, slow(a, b[1:]) + 1, slow(a[1:], b[1:]) + (a[0] != b[0]))
        if len(a) > 1 and len(b) > 1 and a[0] == b[1] and a[1] == b[0]:
            best = min(best, slow(a[2:], b[2:]) + 1)
        return best

    assert typing_errors(one, other, 2) == min(slow(one, other), 3)


def test_similar_words_are_the_nearest_first() -> None:
    words = ["memory", "memories", "memo", "theory", "members"]
    assert similar_words("memroy", words)[0] == "memory"
    assert similar_words("quokka", words) == []


def test_the_shipped_catalogue_is_searched_quickly() -> None:
    catalogue = Catalogue.load()
    best = 9.0
    for _ in range(3):
        started = time.process_time()
        hits = search(catalogue, "cuda grpah out of memroy")
        best = min(best, time.process_time() - started)
    assert hits
    assert best < 0.3, f"{best:.3f} s for {len(catalogue)} records"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("out of memory cuda graph capture", "graph-capture"),
        ("decode out of memory", "kv-pool"),
        ("hicache storage backend", "hicache"),
        ("flash infer not instaled", "flashinfer"),
        ("lora rank", "lora"),
    ],
)
def test_what_people_type_finds_the_shipped_record(words: str, expected: str) -> None:
    catalogue = Catalogue.load()
    slugs = [catalogue.record(hit.number).slug for hit in search(catalogue, words, 5)]
    assert any(expected in slug for slug in slugs), slugs

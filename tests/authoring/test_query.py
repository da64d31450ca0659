"""show and list: the record that is meant, by name, beginning, message or traceback."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from explain.authoring.query import Filter, list_records, look_up, names_of, related
from explain.authoring.releases import NoSuchRelease, possible_in
from explain.catalogue import Catalogue
from explain.sites import SiteIndex


def record(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"{number:016x}",
        "slug": f"record-{number}",
        "title": f"Thing {number} broke",
        "errorMessage": f"thing {number} broke into pieces",
        "messagePattern": rf"thing {number} broke into (?P<what>\w+)",
        "severity": "error",
    } | changes


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    records = {
        "memory": [
            record(1, slug="pool-exhausted", tags=["kv-pool", "memory"], errorClass="torch.OutOfMemoryError"),
            record(2, slug="pool-leak", tags=["kv-pool", "memory"], severity="warning", also=["port-taken"]),
        ],
        "network": [
            record(3, slug="port-taken", tags=["http"], errorClass="OSError", role="consequence"),
            record(4, slug="port-lost", tags=["http", "memory"], errorClass="ValueError"),
        ],
    }
    for area, some in records.items():
        (tmp_path / area).mkdir()
        for one in some:
            (tmp_path / area / f"{one['slug']}.json").write_text(json.dumps(one))
    return Catalogue.of([tmp_path])


@pytest.mark.parametrize(
    ("text", "way", "slugs"),
    [
        ("pool-leak", "name", ["pool-leak"]),
        ("  Pool-Leak\n", "name", ["pool-leak"]),
        ("0000000000000003", "name", ["port-taken"]),
        ("pool-e", "prefix", ["pool-exhausted"]),
        ("po", "prefix", ["pool-exhausted", "pool-leak", "port-lost", "port-taken"]),
        ("thing 2 broke into bits", "message", ["pool-leak"]),
        ("ValueError: thing 4 broke into bits", "message", ["port-lost"]),
        ("[2026-11-30 08:14:58 TP0] thing 2 broke into bits", "message", ["pool-leak"]),
        ("thing 4 broke into bits", "message", ["port-lost"]),
        ("quokka", "nothing", []),
        ("", "nothing", []),
    ],
)
def test_a_record_is_found_by_what_people_paste(catalogue: Catalogue, text: str, way: str, slugs: list[str]) -> None:
    answer = look_up(catalogue, text)
    assert (answer.way, names_of(catalogue, answer.numbers)) == (way, slugs)
    assert answer.certain == (len(slugs) == 1)


def test_a_traceback_is_read_as_one(catalogue: Catalogue) -> None:
    text = (
        "[2026-11-30 08:14:58 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        '  File "/x/a.py", line 3, in f\n    work()\nOSError: thing 3 broke into bits\n'
    )
    answer = look_up(catalogue, text)
    assert (answer.way, names_of(catalogue, answer.numbers)) == ("message", ["port-taken"])


def test_a_message_that_nothing_matches_gives_the_nearest_by_words(catalogue: Catalogue) -> None:
    answer = look_up(catalogue, "the thing fell into pieces")
    assert answer.way == "words"
    assert not answer.certain


@pytest.mark.parametrize(
    ("wanted", "slugs"),
    [
        (Filter(), ["pool-exhausted", "pool-leak", "port-lost", "port-taken"]),
        (Filter(areas=("network",)), ["port-lost", "port-taken"]),
        (Filter(areas=("network", "memory")), ["pool-exhausted", "pool-leak", "port-lost", "port-taken"]),
        (Filter(tags=("MEMORY",)), ["pool-exhausted", "pool-leak", "port-lost"]),
        (Filter(tags=("memory",), areas=("network",)), ["port-lost"]),
        (Filter(severities=("warning",)), ["pool-leak"]),
        (Filter(roles=("consequence",)), ["port-taken"]),
        (Filter(classes=("outofmemoryerror",)), ["pool-exhausted"]),
        (Filter(classes=("torch.OutOfMemoryError", "OSError")), ["pool-exhausted", "port-taken"]),
        (Filter(areas=("nowhere",)), []),
    ],
)
def test_filters_combine(catalogue: Catalogue, wanted: Filter, slugs: list[str]) -> None:
    assert names_of(catalogue, list_records(catalogue, wanted)) == slugs


def test_related_records_are_those_named_and_those_alike(catalogue: Catalogue) -> None:
    def near(slug: str) -> list[str]:
        return names_of(catalogue, related(catalogue, catalogue.find(slug)[0]))

    assert near("pool-leak") == ["port-taken", "pool-exhausted"]
    assert near("port-taken")[0] == "pool-leak", "named by the other side"


def test_a_release_keeps_what_it_can_print_and_what_is_tied_to_none(tmp_path: Path) -> None:
    sites = SiteIndex.load()
    if not sites.versions:
        pytest.skip("no site index")
    old, new = sites.versions[0], "0.5.20"
    catalogue = Catalogue.load()
    message = "HiCache does not support Inkling MTP draft state yet."
    tied = record(2, errorMessage=message, messagePattern="HiCache does not", errorClass="NotImplementedError")
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(record(1)) + "\n" + json.dumps(tied))
    catalogue = Catalogue.of([path])
    assert possible_in(catalogue, [0, 1], f"v{new}", sites) == [0, 1]
    assert possible_in(catalogue, [0, 1], old, sites) == [0]
    with pytest.raises(NoSuchRelease):
        possible_in(catalogue, [0], "0.1.2", sites)


def test_names_and_lists_of_the_shipped_catalogue_are_quick() -> None:
    started = time.process_time()
    catalogue = Catalogue.load()
    list_records(catalogue, Filter(severities=("error",)))
    related(catalogue, look_up(catalogue, catalogue.record(0).slug).numbers[0])
    assert time.process_time() - started < 0.4

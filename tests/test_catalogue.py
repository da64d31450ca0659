"""The packed catalogue: quick, complete, rebuilt when a record changes, and the same in a wheel."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from explain import catalogue as module
from explain.cache import cache_directory, read_cached, write_cached
from explain.catalogue import Catalogue
from explain.model import Record
from explain.pack import cached_pack, load_pack
from explain.packing import build_pack, dump_pack
from explain.recordfiles import record_files

ROOT = Path(__file__).parents[1]
SEEDS = ROOT.parent / "shared" / "seeds"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test has a cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "sglang-explain"


def record(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "id": f"{number:016x}",
        "repo": "o/r",
        "slug": f"record-{number}",
        "errorMessage": f"The widget {number} broke",
        "messagePattern": f"widget {number} broke",
        "errorClass": "ValueError",
        "severity": "error",
        "solutions": [f"Replace widget {number}"],
    } | changes


def write(path: Path, *records: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(one) for one in records))
    return path


def load(*paths: Path) -> Catalogue:
    return Catalogue.load(paths, only=True)


# --------------------------------------------------------------------------- what it holds


def test_a_folder_of_records_in_all_shapes(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    write(folder / "memory" / "a.json", record(1))
    write(folder / "memory" / "b.jsonl", {"record": record(2), "datasetVersion": "x"}, record(3))
    write(folder / "c.json", [record(4), record(5)])
    write(folder / "deep" / "er" / "d.txt", record(6))
    (folder / "README.md").write_text("# not a record")
    (folder / "notes.txt").write_text("[2026-11-30 08:00:00] a log")
    (folder / ".hidden").mkdir()
    write(folder / ".hidden" / "e.json", record(7))
    catalogue = load(folder)
    assert catalogue.problems == ()
    assert sorted(one.slug for one in catalogue) == [f"record-{n}" for n in range(1, 7)]
    areas = {catalogue.record(n).slug: catalogue.area(n) for n in range(len(catalogue))}
    assert areas["record-1"] == "memory"
    assert areas["record-4"] == ""
    assert areas["record-6"] == "er"


def test_a_record_is_what_its_file_says(tmp_path: Path) -> None:
    written = record(1, frames=["sglang/srt/a.py:f"], unknown=["kept"])
    catalogue = load(write(tmp_path / "a.json", written))
    found = catalogue.record(0)
    assert isinstance(found, Record)
    assert dict(found.raw) == written
    assert catalogue.raw(0) == written
    assert catalogue.facts(0) == ("ValueError", ("sglang/srt/a.py:f",))
    assert catalogue.needles() == (("widget 1 broke", False, 0),)
    assert catalogue.pattern(0).search("the widget 1 broke") is not None
    assert catalogue.pattern(0) is catalogue.pattern(0)


def test_a_users_record_replaces_the_shipped_one_of_the_same_id(tmp_path: Path) -> None:
    shipped = write(tmp_path / "shipped" / "a.json", record(1), record(2))
    own = write(tmp_path / "own.json", record(1, slug="mine", messagePattern="another text"))
    problems: list[Any] = []
    packs = [build_pack(record_files([path], problems)) for path in (shipped, own)]
    catalogue = Catalogue(packs)
    assert [one.slug for one in catalogue] == ["mine", "record-2"]
    assert catalogue.needles() == (("another text", False, 0), ("widget 2 broke", False, 1))
    assert catalogue.problems == ()


def test_two_records_of_one_source_with_one_id_are_a_problem(tmp_path: Path) -> None:
    catalogue = load(write(tmp_path / "a.json", record(1), record(1, slug="again")))
    assert [one.slug for one in catalogue] == ["again"]
    assert "has the id of a record in" in catalogue.problems[0].message


def test_records_without_a_literal_are_reached_by_frames(tmp_path: Path) -> None:
    bare = record(1, messagePattern=r"^\d+$", frames=["sglang/srt/a.py"])
    catalogue = load(write(tmp_path / "a.json", bare, record(2)))
    assert catalogue.problems == ()
    assert list(catalogue.without_needle()) == [0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"messagePattern": "open (paren"}, "does not compile: missing )"),
        ({"messagePattern": r"^\d+$", "errorClass": None}, "has no literal text to find it by"),
        ({"messagePattern": r"(a+a+)+broken\$", "errorMessage": "aaabroken"}, "is too slow"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_told_by_name_and_the_rest_work(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    path = write(tmp_path / "a.json", record(1, **changes), record(2))
    catalogue = load(path)
    assert [one.slug for one in catalogue] == ["record-2"]
    (problem,) = catalogue.problems
    assert "record-1" in problem.message and words in problem.message
    assert problem.path == str(path)


def test_bad_paths_and_files_are_problems(tmp_path: Path) -> None:
    good = write(tmp_path / "good" / "a.json", record(1))
    broken = tmp_path / "good" / "b.json"
    broken.write_text('{"id": ')
    empty = tmp_path / "empty"
    empty.mkdir()
    catalogue = load(good.parent, tmp_path / "missing", empty)
    assert [one.slug for one in catalogue] == ["record-1"]
    told = {problem.path: problem.message for problem in catalogue.problems}
    assert told[str(tmp_path / "missing")].startswith("cannot be read: no such file")
    assert told[str(empty)] == "holds no records"
    assert "not valid JSON" in told[str(broken)]


def test_both_named_group_spellings(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.json",
        record(1, messagePattern=r"widget (?<number>\d+) broke"),
        record(2, messagePattern=r"gadget (?P<number>\d+) broke"),
    )
    catalogue = load(path)
    for number, text in enumerate(("widget 7 broke", "gadget 7 broke")):
        match = catalogue.pattern(number).search(text)
        assert match is not None and match["number"] == "7"


def test_find_by_id_slug_and_unique_beginning(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", record(1, slug="pool"), record(2, slug="pool-leak"), record(3, slug="other"))
    catalogue = load(path)
    assert catalogue.find("pool") == [0]
    assert catalogue.find("pool-") == [1]
    assert catalogue.find("po") == [0, 1]
    assert catalogue.find(" OTHER ") == [2]
    assert catalogue.find("0" * 15 + "2") == [1]
    assert catalogue.find("nothing") == []
    assert catalogue.find("") == []


@pytest.mark.skipif(not SEEDS.is_dir(), reason="the dataset's samples are not beside the checkout")
def test_the_datasets_folder_gives_its_record() -> None:
    catalogue = load(SEEDS)
    assert [one.id for one in catalogue] == ["566c5bdce5bc7be3"]
    assert catalogue.problems == ()


# --------------------------------------------------------------------------- packing and caching


def test_a_pack_survives_writing_and_reading(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", record(1), record(2, messagePattern="(broken"))
    pack = build_pack(record_files([path], []))
    again = load_pack(dump_pack(pack))
    assert again is not None
    assert again.index.dump() == pack.index.dump()
    assert (again.body, again.key, again.digest) == (pack.body, pack.key, pack.digest)
    assert again.problems() == pack.problems() != []


@pytest.mark.parametrize("damage", [b"", b"x", b"sglang-explain catalogue\n", None])
def test_damaged_packs_are_no_packs(tmp_path: Path, damage: bytes | None) -> None:
    content = dump_pack(build_pack(record_files([write(tmp_path / "a.json", record(1))], [])))
    assert load_pack(content[: len(content) - 3] if damage is None else damage) is None
    assert load_pack(content.replace(b'"digest"', b'"dogest"')) is None


def test_a_changed_record_changes_the_catalogue_and_its_digest(tmp_path: Path) -> None:
    path = write(tmp_path / "p" / "a.json", record(1))
    first = load(path.parent)
    assert load(path.parent).digest == first.digest
    write(path, record(1, documentation="Changed"))
    os.utime(path, ns=(1, 1))
    second = load(path.parent)
    assert second.record(0).documentation == "Changed"
    assert second.digest != first.digest
    write(path.parent / "b.json", record(2))
    assert len(load(path.parent)) == 2
    path.unlink()
    assert [one.slug for one in load(path.parent)] == ["record-2"]


def test_only_changed_files_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "p"
    for number in range(5):
        write(folder / f"{number}.json", record(number))
    load(folder)
    compiled: list[str] = []
    monkeypatch.setattr("explain.packing.compile_error", compiled.append)
    write(folder / "3.json", record(3, slug="changed", documentation="longer than before"))
    catalogue = load(folder)
    assert compiled == ["widget 3 broke"]
    assert [one.slug for one in catalogue] == ["record-0", "record-1", "record-2", "changed", "record-4"]
    assert load(folder).digest == Catalogue.of([folder]).digest


def test_a_pack_in_the_cache_is_not_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.json", record(1), record(2, messagePattern="(broken"))
    before = load(path)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("built again")

    monkeypatch.setattr("explain.packing.build_pack", never)
    assert load(path).digest == before.digest
    assert load(path).problems == before.problems


@pytest.mark.parametrize("damage", ["cut", "flip", "foreign", "folder"])
def test_a_damaged_cache_is_built_again(tmp_path: Path, own_cache: Path, damage: str) -> None:
    path = write(tmp_path / "a.json", record(1))
    load(path)
    (cached,) = own_cache.iterdir()
    content = cached.read_bytes()
    if damage == "folder":
        cached.unlink()
        cached.mkdir()
    else:
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        cached.write_bytes({"cut": content[:middle], "flip": flipped, "foreign": b"something else"}[damage])
    assert [one.slug for one in load(path)] == ["record-1"]


def test_without_a_cache_directory_all_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert len(load(write(tmp_path / "a.json", record(1)))) == 1
    assert write_cached("x", b"1") is False
    assert read_cached("x") is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_cache_is_left_alone(tmp_path: Path, own_cache: Path) -> None:
    own_cache.mkdir(parents=True)
    own_cache.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert len(load(write(tmp_path / "a.json", record(1)))) == 1
    assert list(own_cache.iterdir()) == []


def test_the_cache_is_all_or_nothing(own_cache: Path) -> None:
    assert Path(cache_directory()) == own_cache
    assert write_cached("name", b"content")
    assert read_cached("name") == b"content"
    assert [path.name for path in own_cache.iterdir()] == ["name"]


# --------------------------------------------------------------------------- the shipped catalogue


def test_the_shipped_catalogue_has_no_problems() -> None:
    catalogue = Catalogue.load()
    assert catalogue.problems == ()
    assert len(catalogue) >= 120
    assert len({one.slug for one in catalogue}) == len(catalogue)


@pytest.mark.parametrize("record_id", ["566c5bdce5bc7be3", "0e7af5ad0316fee2"])
def test_the_datasets_samples_are_shipped_under_their_own_ids(record_id: str) -> None:
    catalogue = Catalogue.load()
    assert catalogue.number(record_id) is not None


def test_the_shipped_catalogue_loads_in_milliseconds() -> None:
    Catalogue.load()
    times = []
    for _ in range(5):
        started = time.process_time()
        catalogue = Catalogue.load()
        catalogue.needles()
        times.append(time.process_time() - started)
    assert min(times) < 0.04, f"{min(times):.3f} s for {len(catalogue)} records"


def test_a_wheel_holds_the_same_catalogue_and_no_raw_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, text=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extract("explain/_data/catalogue.pack", tmp_path)
    assert not [name for name in names if name.endswith((".json", ".jsonl"))]
    assert not [name for name in names if name.startswith(("tests/", "patterns/"))]
    assert "explain/py.typed" in names
    checkout = Catalogue.load()
    monkeypatch.setattr(module, "SHIPPED", tmp_path / "explain" / "_data" / "catalogue.pack")
    monkeypatch.setattr(module, "CHECKOUT", tmp_path / "nowhere")
    installed = Catalogue.load()
    assert installed.problems == ()
    assert installed.digest == checkout.digest
    assert [one.raw for one in installed] == [one.raw for one in checkout]
    assert [one.source for one in installed] == [one.source for one in checkout]


def test_a_damaged_shipped_pack_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "catalogue.pack"
    broken.write_bytes(b"half")
    monkeypatch.setattr(module, "SHIPPED", broken)
    catalogue = Catalogue.load()
    assert len(catalogue) == 0
    assert "is damaged" in catalogue.problems[0].message
    assert "pip install" in catalogue.problems[0].hint


def test_cached_pack_names_files_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "mine" / "a.json", record(1))
    monkeypatch.chdir(tmp_path)
    pack = cached_pack(record_files([Path("mine")], []), "name.pack")
    assert pack.index.sources == [os.path.join("mine", "a.json")]

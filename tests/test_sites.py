"""The site index: confirming messages, finding places, moves between releases, packs, the shipped data.

The facts of the shipped index were read from the releases themselves; `tests/test_sites_trees.py` says how.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from explain import registry as registries
from explain.authoring.harvest import harvest
from explain.authoring.harvest_extend import extended
from explain.model import Frame, SiteInfo
from explain.registry import Registry
from explain.sitepack import CHECKOUT, MAGIC, PackError, SitePack, build_pack, empty_pack, read_shipped_pack
from explain.sites import SiteIndex
from explain.sitesource import public_url, source_around
from explain.templates import anonymous, match, parsed, unquoted, written
from tests.authoring.test_harvest import tree

SHARED = Path(__file__).parents[2] / "shared"
LAMP = """
def check(name, size):
    if size:
        raise ValueError(f"lamp {name} is {size} W too bright")
    assert name
    assert size, f"{size=}"
    raise KeyError(f"no lamp called {name}")

def warn(name, count):
    logger.warning(f"lamp {name} burned out after {count:d} hours")
    logger.error(f"{name} failed: {count}")
"""
INT8 = (
    "--enable-int8-mamba-checkpoint is not supported together with --enable-hierarchical-cache: "
    "the host-offload path is not int8-aware. Disable one of them."
)
INKLING = "HiCache does not support Inkling MTP draft state yet."


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def lamps(tmp_path: Path) -> SiteIndex:
    old = tree(tmp_path, "1.0.0", {"srt/lamp.py": LAMP})
    new = tree(tmp_path, "1.0.1", {"srt/rooms/lamp.py": "import logging\n" + LAMP})
    last = tree(tmp_path, "1.0.2", {"srt/rooms/lamp.py": "def check(name):\n    pass\n"})
    harvest([old, new, last], tmp_path / "index")
    return SiteIndex(SitePack(build_pack(tmp_path / "index")))


@pytest.fixture(scope="module")
def shipped() -> SiteIndex:
    if not Path(CHECKOUT, "releases.txt").is_file():
        pytest.skip("no index was harvested here")
    return SiteIndex(SitePack(build_pack(Path(CHECKOUT))))


def confirmed(index: SiteIndex, exception: str | None, message: str) -> list[SiteInfo]:
    """The sites whose literal is in the message and whose template the message is."""
    return [
        index.site(number)
        for needle, _, number in index.needles()
        if needle in message and index.confirm(number, exception, message) is not None
    ]


# --------------------------------------------------------------------------- templates


@pytest.mark.parametrize(
    ("template", "message", "values"),
    [
        ("lamp {name} is off", "lamp kitchen is off", {"name": "kitchen"}),
        ("lamp {name} is off", "lamp kitchen is off and on", None),
        ("lamp {name} is off", "lamp one\nand two is off", {"name": "one\nand two"}),
        ("lamp {name} is off", "lamp  is off", {"name": ""}),
        ("lamp {name} is off: {why}", "lamp a is off: is off: b", {"name": "a", "why": "is off: b"}),
        ("lamp {}: {}", "lamp a: b: c", {"value1": "a", "value2": "b: c"}),
        ("lamp {name}: {name}", "lamp a: b", {"name": "a", "name_2": "b"}),
        ("lamp: {why}", "lamp:", {"why": ""}),
        ("{count:int} lamps", "7 lamps", {"count": "7"}),
        ("{count:int} lamps", "no lamps", None),
        ("{watts:float} W", "40.5 W", {"watts": "40.5"}),
        ("at {a:int}, {b:int} W", "at 1, 2 W", {"a": "1", "b": "2"}),
        ("{a} of {b:int} W", "one of x of 2 W", {"a": "one of x", "b": "2"}),
        ("{{{name}}} is off", "{kitchen} is off", {"name": "kitchen"}),
        ("lamp is\noff", "lamp is off", {}),
        ("lamp  is off", "lamp is\noff", {}),
        ("lamp", "", None),
    ],
)
def test_a_template_matches_like_a_glob(template: str, message: str, values: dict[str, str] | None) -> None:
    assert match(template, message) == values


def test_a_log_template_may_be_followed_by_lines() -> None:
    assert match("lamp {name} is off", "lamp a is off\nTraceback", whole=False) == {"name": "a"}
    assert match("lamp {name} is off", "lamp a is off\nTraceback") is None
    assert match("lamp {name} is off", "my lamp a is off", whole=False) is None


def test_the_notation_reads_what_it_writes() -> None:
    for template in ("plain", "{name:repr} {{x}} {count:int}", "{}{{}}", "a{b}c{d:float}"):
        assert written(parsed(template)) == template
    assert anonymous("lamp {name:int} {{x}}") == "lamp {} {{x}}"
    assert unquoted("'a \\'b\\' \\\\ \\n'") == "a 'b' \\ \n"


def test_a_hostile_message_takes_no_time() -> None:
    template = "a{}" * 40 + "end"
    begin = time.perf_counter()
    assert match(template, "a" * 20_000) is None
    assert match("{a:int}, {b:int}, {c:int}", ", " * 20_000) is None
    assert time.perf_counter() - begin < 2


# --------------------------------------------------------------------------- look-ups


def test_an_exception_needs_its_class_and_its_whole_message(lamps: SiteIndex) -> None:
    message = "lamp kitchen is 40 W too bright"
    (site,) = confirmed(lamps, "ValueError", message)
    assert (site.file, site.function, site.line) == ("sglang/srt/rooms/lamp.py", "check", 5)
    assert confirmed(lamps, "package.module.ValueError", message)
    for exception, text in ((None, message), ("TypeError", message), ("ValueError", message + " for me")):
        assert confirmed(lamps, exception, text) == []


def test_a_key_error_prints_its_text_quoted(lamps: SiteIndex) -> None:
    for message in ("'no lamp called kitchen'", "\"no lamp called 'x'\"", "'no lamp called \\'x\\' \"y\"'"):
        assert len(confirmed(lamps, "KeyError", message)) == 1


def test_a_log_message_is_known_from_its_start(lamps: SiteIndex) -> None:
    (site,) = confirmed(lamps, None, "lamp a burned out after 12 hours")
    assert site.kind == "log:warning"
    assert confirmed(lamps, None, "my lamp a burned out after 12 hours") == []
    assert confirmed(lamps, None, "lamp a burned out after many hours") == []
    # It starts with a value and says little: anything might print it.
    assert confirmed(lamps, None, "the kitchen failed: 12") == []


def test_a_frame_leads_to_bare_and_short_sites(lamps: SiteIndex) -> None:
    place = ("sglang/srt/rooms/lamp.py", "check", "AssertionError")
    (bare,) = lamps.at_frame(*place, "  assert  name")[:1]
    assert lamps.site(bare).template == "" and lamps.confirm(bare, "AssertionError", "") == {}
    numbers = lamps.at_frame(*place, 'assert size, f"{size=}"')
    assert lamps.confirm(numbers[0], "AssertionError", "size=0") == {"size": "0"}
    assert bare not in lamps.at_frame(*place, "assert something_else")
    assert bare not in lamps.at_frame(*place, None)
    assert bare in lamps.at_frame(*place, None, line=6)
    assert lamps.at_frame("sglang/srt/rooms/lamp.py", "check", "OSError", None) == ()
    assert lamps.at_frame("sglang/srt/other.py", "check", "ValueError", None) == ()


def test_a_site_says_when_it_moved_and_that_it_is_gone(lamps: SiteIndex) -> None:
    message = "lamp a is 1 W too bright"
    number = next(n for needle, _, n in lamps.needles() if needle in message)
    site = lamps.site(number)
    assert (site.first_version, site.last_version, site.gone) == ("1.0.0", "1.0.1", True)
    assert site.moves == ("sglang/srt/lamp.py:check 1.0.0",)
    old = lamps.site(number, [Frame("/x/sglang/srt/lamp.py", 4, "check", None)])
    assert (old.file, old.line) == ("sglang/srt/lamp.py", 4)
    assert lamps.site(number, version="1.0.0").file == "sglang/srt/lamp.py"


def test_show_finds_by_id_place_function_and_message(lamps: SiteIndex) -> None:
    (site,) = confirmed(lamps, "ValueError", "lamp a is 1 W too bright")
    asked = (site.id, site.id[:10], "rooms/lamp.py:5", "ValueError: lamp a is 1 W too bright")
    for text in asked:
        assert [lamps.site(number).id for number in lamps.find(text)] == [site.id], text
    assert site.id in {lamps.site(number).id for number in lamps.find("check")}
    assert lamps.find("no such thing at all") == ()


def test_a_rewording_is_near(lamps: SiteIndex) -> None:
    (near,) = lamps.nearest("lamp kitchen has burned out, after 12 long hours", 1)
    assert "burned out" in lamps.site(near).template
    assert lamps.nearest("connection reset by peer") == ()
    assert lamps.nearest("") == ()


# --------------------------------------------------------------------------- packs


def test_a_damaged_pack_is_an_error(lamps: SiteIndex, tmp_path: Path) -> None:
    content = build_pack(tmp_path / "index")
    for broken in (b"", b"not a pack", MAGIC, content[:-1], content[: len(content) // 2]):
        with pytest.raises(PackError):
            SitePack(broken)
    head = bytearray(content)
    head[len(MAGIC) + 20] ^= 1
    with pytest.raises(PackError):
        SitePack(bytes(head))
    sections = bytearray(content)
    for place in range(len(content) // 2, len(content)):
        sections[place] ^= 1
    pack = SitePack(bytes(sections))
    with pytest.raises(PackError):
        pack.entry(len(pack) - 1)


def test_a_foreign_text_index_is_an_error_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "releases.txt").write_text("1.0.0\n")
    (tmp_path / "templates-srt.jsonl").write_text('{"id":1}\n[]\n')
    with pytest.raises(PackError, match=r"templates-srt\.jsonl: line 2"):
        build_pack(tmp_path)


def test_a_damaged_cache_is_built_again(lamps: SiteIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explain.sitepack.CHECKOUT", tmp_path / "index")
    monkeypatch.setattr("explain.sitepack.SHIPPED", tmp_path / "none.pack")
    first = read_shipped_pack()
    (cached,) = (tmp_path / "cache" / "sglang-explain").glob("sites-*.pack")
    cached.write_bytes(cached.read_bytes()[:100])
    assert read_shipped_pack().digest == first.digest == lamps.digest


def test_no_index_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explain.sitepack.CHECKOUT", tmp_path / "none")
    monkeypatch.setattr("explain.sitepack.SHIPPED", tmp_path / "none.pack")
    index = SiteIndex.load()
    assert len(index) == 0 and list(index.needles()) == [] and index.versions == ()
    assert index.at_frame("sglang/srt/lamp.py", "check", "ValueError", "x") == ()
    assert index.nearest("anything") == () and index.find("anything") == ()
    assert Registry(empty_pack()).flag_infos("--tp-size") == ()


def test_an_own_copy_is_indexed_once(lamps: SiteIndex, tmp_path: Path) -> None:
    fork = tree(
        tmp_path,
        "1.0.2.dev1",
        {"srt/lamp.py": LAMP + "\ndef f():\n    raise ValueError('the fork is bent')\n"},
    )
    index, problems = extended(lamps, fork, 1)
    assert problems == []
    (site,) = confirmed(index, "ValueError", "the fork is bent")
    assert (site.first_version, site.file, site.gone) == ("1.0.2.dev1", "sglang/srt/lamp.py", False)
    assert index.digest != lamps.digest and index.versions[-1] == "1.0.2.dev1"
    kept = list((tmp_path / "cache" / "sglang-explain").glob("sites-own-*.pack"))
    assert len(kept) == 1
    kept[0].write_bytes(b"damaged")
    again, _ = extended(lamps, fork, 1)
    assert again.digest == index.digest
    same, problems = extended(lamps, tmp_path / "nothing")
    assert same is lamps and problems


def test_a_release_of_the_index_is_not_indexed_again(tmp_path: Path) -> None:
    files = {"srt/server_args.py": "def f():\n    g()\n", "srt/lamp.py": LAMP}
    release = tree(tmp_path, "1.0.0", files)
    harvest([release], tmp_path / "index")
    index = SiteIndex(SitePack(build_pack(tmp_path / "index")))
    assert extended(index, release, 1) == (index, [])
    changed = tree(tmp_path / "own", "1.0.0", {**files, "srt/server_args.py": "def f():\n    h()\n"})
    assert extended(index, changed, 1)[0] is not index


def test_the_source_around_a_site(lamps: SiteIndex, tmp_path: Path) -> None:
    (site,) = confirmed(lamps, "ValueError", "lamp a is 1 W too bright")
    shown = source_around(tmp_path / "1.0.1", site)
    assert [line.text.strip() for line in shown if line.here] == [
        'raise ValueError(f"lamp {name} is {size} W too bright")'
    ]
    assert source_around(tmp_path / "1.0.2", site) == []
    assert public_url(site) == ("https://github.com/sgl-project/sglang/blob/v1.0.1/python/sglang/srt/rooms/lamp.py#L5")


# --------------------------------------------------------------------------- the shipped index


def test_the_shipped_index_is_small_and_quick(shipped: SiteIndex, tmp_path: Path) -> None:
    content = build_pack(Path(CHECKOUT))
    assert len(content) <= 4_000_000
    assert len(zlib.compress(content)) <= 3_000_000  # as a wheel holds it
    path = tmp_path / "sites.pack"
    path.write_bytes(content)
    begin = time.perf_counter()
    index = SiteIndex(SitePack(path.read_bytes()))
    for number in index.at_frame("sglang/srt/arg_groups/mamba_hook.py", "handle_int8_mamba_checkpoint", None, None):
        index.confirm(number, "ValueError", INT8)
        index.site(number)
    assert time.perf_counter() - begin < 0.25


def test_every_needle_is_safe_and_in_its_template(shipped: SiteIndex) -> None:
    (pack,) = shipped.packs
    for row, needle in enumerate(pack.needles):
        if needle:
            assert re.fullmatch(r"[ !#-%(-.0-;=?-\[\]-~]{6,24}", needle), needle
            assert any(needle in part for part in parsed(pack.entry(row)["text"]) if isinstance(part, str))


def test_ids_are_unique_and_stable_in_the_text(shipped: SiteIndex) -> None:
    (pack,) = shipped.packs
    lines = [line for path in sorted(Path(CHECKOUT).glob("templates-*.jsonl")) for line in path.open()]
    ids = [re.match(r'\{"id":"([0-9a-f]{16})"', line) for line in lines]
    assert len({found[1] for found in ids if found}) == len(lines) == len(pack)
    for row in range(0, len(pack), 501):
        found = ids[row]
        assert found is not None and shipped.site(row).id == found[1]


def test_healthy_lines_are_no_errors(shipped: SiteIndex) -> None:
    path = SHARED / "healthy_lines.txt"
    if not path.is_file():
        pytest.skip("the healthy lines are not here")
    prefix = re.compile(r"^(?:\x1b\[\d+m)?\[[^\]]*\] ?|\x1b\[[0-9;]*m")
    for line in path.read_text(encoding="utf-8").splitlines():
        message = prefix.sub("", line)
        for site in confirmed(shipped, None, message):
            assert site.kind in ("log:warning", "warn", "log:error"), (line, site)


@pytest.mark.parametrize(
    ("exception", "message", "first", "last", "file", "moves"),
    [
        (
            "ValueError",
            INT8,
            "0.5.18",
            None,
            "sglang/srt/arg_groups/mamba_hook.py",
            ("sglang/srt/server_args.py:_handle_int8_mamba_checkpoint 0.5.18",),
        ),
        (
            "NotImplementedError",
            INKLING,
            "0.5.18",
            "0.5.21",
            "sglang/srt/speculative/base_spec_worker.py",
            (),
        ),
    ],
)
def test_the_seed_errors(
    shipped: SiteIndex,
    exception: str,
    message: str,
    first: str,
    last: str | None,
    file: str,
    moves: tuple[str, ...],
) -> None:
    (site,) = confirmed(shipped, exception, message)
    assert (site.first_version, site.file, site.gone) == (first, file, last is not None)
    assert last is None or site.last_version == last
    assert site.moves == moves and site.gaps == ()


def test_flags_by_release(shipped: SiteIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry(shipped.packs[0])
    monkeypatch.setattr(registries, "registry", lambda: registry)
    assert registries.flag_exists("--tp-size") and registries.flag_exists("--tp-size", "0.4.0")
    assert registries.flag_exists("--tensor_parallel_size=8")
    assert not registries.flag_exists("--no-such-flag")
    assert not registries.flag_exists("--enable-int8-mamba-checkpoint", "0.5.2")
    assert registries.flag_exists("--enable-int8-mamba-checkpoint", "0.5.23")
    info = registries.flag_info("--enable-hierarchical-cache")
    assert info is not None and info.command == "server" and not info.gone
    assert registries.env_exists("SGLANG_LOG_MS") and not registries.env_exists("SGLANG_NO_SUCH")
    assert not registries.env_exists("SGLANG_LOG_MS", "0.4.0")
    assert registries.file_exists("sglang/srt/managers/scheduler.py")
    assert registries.file_exists("sglang/srt/managers/") and not registries.file_exists("sglang/nothing.py")


@pytest.mark.parametrize(
    ("version", "count"),
    [("0.4.0", 77), ("0.4.6.post5", 143), ("0.5.2", 210), ("0.5.10", 349), ("0.5.23", 546)],
)
def test_server_arguments_by_release(shipped: SiteIndex, version: str, count: int) -> None:
    assert len(Registry(shipped.packs[0]).fields_of(version)) == count


def test_an_installed_release_that_the_index_knows_is_not_read(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """A newer one or a fork is: its own errors are then known."""
    from explain import sitesource
    from explain.run import load_sites

    (tmp_path / "sglang" / "srt").mkdir(parents=True)
    (tmp_path / "sglang" / "__init__.py").write_text("")
    (tmp_path / "sglang" / "srt" / "lamp.py").write_text(
        "def light(watts):\n    raise ValueError(f'the lamp of tomorrow takes {watts} watts')\n"
    )
    monkeypatch.setattr(sitesource, "installed_sglang", lambda: tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    message = "the lamp of tomorrow takes 60 watts"

    def known(release: str) -> bool:
        (tmp_path / f"sglang-{release}.dist-info").mkdir()
        sites, _ = load_sites(None)
        (tmp_path / f"sglang-{release}.dist-info").rmdir()
        return any(sites.confirm(number, "ValueError", message) is not None for number in sites.find(message))

    assert not known("0.5.23")
    assert known("9.9.9")


def test_the_literals_of_an_index_do_not_depend_on_the_order_of_sets() -> None:
    code = """
from random import Random
from explain.siteneedles import choose
for dice in map(Random, range(300)):
    texts = ["topk kernels only support k <= 32: k={k:repr}"]
    for word in ("kernels", "only", "support", "k", "topk"):
        texts += [f"{word} {{x}}"] * dice.randrange(200)
    print(choose(texts, [False] * len(texts), [])[0])
"""
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            cwd=Path(__file__).parents[1],
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "11", "24")
    }
    assert len(found) == 1

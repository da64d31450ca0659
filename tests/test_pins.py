"""What releases pin, against the wheels where they are at hand."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from explain.pins import PINS, pinned
from explain.registry import registry, releases_of

TREES = os.environ.get("SGLANG_EXPLAIN_TREES")
PACKAGES = {
    "needs_transformers": ("transformers",),
    "needs_flashinfer": ("flashinfer-python",),
    "needs_kernel": ("sgl-kernel", "sglang-kernel"),
    "needs_torch": ("torch",),
}
REQUIRES = re.compile(r"^Requires-Dist: (?P<name>[\w.-]+)(?:\[[^\]]*\])? *\(?==(?P<version>[\w.]+)\)?", re.MULTILINE)


@pytest.mark.parametrize(
    ("release", "name", "asked"),
    [
        ("0.4.0", "needs_transformers", None),
        ("0.4.6.post5", "needs_transformers", "4.51.1"),
        ("0.5.6.post1", "needs_transformers", "5.0.0rc0"),
        ("0.5.9", "needs_kernel", "sgl-kernel==0.3.21"),
        ("0.5.10", "needs_kernel", "sglang-kernel==0.4.1"),
        ("0.5.4 to 0.5.5", "needs_torch", "2.8.0"),
        ("0.5.5 to 0.5.6", "needs_torch", None),
        ("0.5.23", "needs_flashinfer", "0.7.2"),
        (None, "needs_flashinfer", None),
    ],
)
def test_pins(release: str | None, name: str, asked: str | None) -> None:
    assert pinned(name, releases_of(release)) == asked


@pytest.mark.skipif(not TREES, reason="SGLANG_EXPLAIN_TREES names no folder of releases")
@pytest.mark.parametrize("name", PINS)
def test_pins_are_those_of_the_wheels(name: str) -> None:
    for release in registry().versions:
        (metadata,) = Path(str(TREES), release).glob("*.dist-info/METADATA")
        found = {
            (package["name"].lower().replace("_", "-"), package["version"])
            for package in REQUIRES.finditer(metadata.read_text())
        }
        asked = [one for one in found if one[0] in PACKAGES[name]]
        told = pinned(name, releases_of(release))
        if told is None:
            assert not asked, release
        else:
            package, _, version = told.rpartition("==")
            assert (package or PACKAGES[name][0], version) in asked, (release, told, asked)

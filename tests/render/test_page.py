"""A record as a page, and lists of records."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import explain.render
from explain.render.page import render_list, render_record
from explain.render.text import text_width
from tests.render.reports import RAW, record


def test_a_page_says_everything_the_record_says() -> None:
    text = render_record(record(), [record(slug="other", title="Another error")], width=80, color=False)
    joined = " ".join(text.split())
    for field in ("title", "slug", "id", "severity", "documentation", "triggerScenarios", "commonSituations"):
        assert RAW[field] in joined, field
    for solution in RAW["solutions"]:
        assert solution in joined
    assert "Leave 4 GB free" in joined and "other: Another error" in joined and RAW["githubUrl"] in joined


@pytest.mark.parametrize("width", [70, 80, 200])
def test_a_page_fits_the_width(width: int) -> None:
    for line in render_record(record(), width=width, color=False).splitlines():
        assert "http" in line or text_width(line) <= min(width, 100)


def test_colour_changes_nothing_but_colour() -> None:
    colored = render_record(record(), width=80, color=True)
    assert re.sub(r"\x1b\[[\d;]+m", "", colored) == render_record(record(), width=80, color=False)


def test_a_list_never_cuts_a_slug() -> None:
    records = [
        record(slug="a-rather-long-slug-" * 3, title="A title " * 8),
        record(slug="short", title="Short"),
    ]
    wide = render_list(records, width=10_000, color=False, by_area=False)
    assert len(wide.splitlines()) == 3 and ("A title " * 8).strip() in wide
    narrow = render_list(records, width=60, color=False, by_area=True)
    assert narrow.splitlines()[0] == "memory" and "a-rather-long-slug-" * 3 in narrow
    assert narrow.endswith("2 records\n")
    assert render_list([], width=80, color=False, by_area=True) == "0 records\n"


LEAVES = ("explain.model", "explain.values", "explain.expressions")


def test_renderers_import_only_the_model() -> None:
    for path in Path(next(iter(explain.render.__path__))).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                allowed = name in LEAVES or name.startswith("explain.render")
                assert not name.startswith("explain") or allowed, f"{path.name} imports {name}"

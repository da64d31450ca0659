"""A record as a page, and lists of records."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import explain.render
from explain.render.page import render_list, render_record
from explain.render.text import fold, text_width
from explain.values import replace
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


@pytest.mark.parametrize("width", [40, 60, 79, 110])
def test_a_narrow_list_breaks_titles_between_words(width: int) -> None:
    title = "GPU out of memory while building or loading the weights of a large model"
    text = render_list([record(slug="short-slug", title=title)], width=width, color=False, by_area=False)
    assert " ".join(text.split()) == f"short-slug {title} 1 record"
    assert all(text_width(line) <= width for line in text.splitlines())


def test_facts_and_tags_of_a_narrow_page_break_between_words() -> None:
    tags = tuple(f"a-rather-long-tag-{number}" for number in range(4))
    text = render_record(replace(record(slug="a-rather-long-slug"), tags=tags), width=40, color=False)
    rows = text.splitlines()
    assert "  Record   a-rather-long-slug" in rows and "           a-rather-long-tag-1," in rows


@pytest.mark.parametrize(
    ("text", "width", "rows"),
    [
        ("short  with   blanks", 20, ["short  with   blanks"]),
        ("It fires on one event at a.log:7", 12, ["It fires on", "one event at", "a.log:7"]),
        ("    CUDA out  of memory", 15, ["    CUDA out", "    of memory"]),
        ("pattern   no  memory (?:left|now)", 24, ["pattern   no  memory", "          (?:left|now)"]),
        ("pattern   [\\d.]+\\d[\\d.]+\\d", 22, ["pattern   [\\d.]+\\d[\\d.", "          ]+\\d"]),
        ("of /x/sglang/srt/managers/scheduler.py", 20, ["of", "/x/sglang/srt/", "managers/scheduler.p", "y"]),
        ("one\n\ntwo", 20, ["one", "", "two"]),
        ("", 20, [""]),
    ],
)
def test_long_lines_fold_between_words_and_keep_their_blanks(text: str, width: int, rows: list[str]) -> None:
    assert fold(text, width) == rows


@given(st.text(st.characters(codec="utf-8")), st.integers(1, 60))
def test_folding_loses_nothing_but_blanks(text: str, width: int) -> None:
    assert "".join("".join(fold(text, width)).split()) == "".join(text.split())


LEAVES = ("explain.model", "explain.values", "explain.expressions")


def test_renderers_import_only_the_model() -> None:
    for path in Path(next(iter(explain.render.__path__))).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                allowed = name in LEAVES or name.startswith("explain.render")
                assert not name.startswith("explain") or allowed, f"{path.name} imports {name}"

"""SGLang releases to the conditions of their messages, for those who have no copy of SGLang at hand.

For every place of the index, in the newest release that has it: what must hold for it, as facts about names and
values, in plain words. Calls, subscripts and whatever else is a piece of a program are left out, and that they
are is marked.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from explain.authoring.harvest_tree import Tree
from explain.guardfacts import part_of
from explain.guards import guard_in

LONGEST = 70
MOST = 3
"""Conditions of a place, the innermost ones."""
LEFT_OUT = "…"
_QUESTION = re.compile(r"\b(?:len|isinstance|hasattr)\([\w., ']*\)")
_INVOLVED = re.compile(r"[()\[\]{}\\]| for | if |lambda|:=|await |\bf['\"]|'[^']*$")
"""What makes a condition a piece of a program instead of a fact about names and values."""
Wanted = dict[str, dict[str, set[int]]]
"""By release and file, the lines to read."""


def wanted_places(index: Path) -> Wanted:
    """The places of the index in the newest release that has them, by that release."""
    wanted: Wanted = {}
    for path in sorted(index.glob("templates-*.jsonl")):
        for row in path.read_text("utf-8").splitlines():
            entry = json.loads(row)
            if entry["kind"] not in ("raise", "assert") or not entry.get("text"):
                continue  # a traceback that ends in a bare assertion shows the test itself
            for file, _, line, releases in entry["sites"]:
                newest = releases.rpartition(",")[2].rpartition("..")[2]
                wanted.setdefault(newest, {}).setdefault(file, set()).add(line)
    return wanted


def read_guards(tree: Tree, wanted: dict[str, set[int]]) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """(file, line, conditions) of the places of one release. Files that do not parse have none."""
    for file, text in tree.files:
        lines = wanted.get(file)
        if not lines:
            continue
        try:
            module = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for line in sorted(lines):
            guard = guard_in(module, line)
            conditions = kept(guard.conditions) if guard is not None else ()
            if conditions:
                yield file, line, conditions


def kept(conditions: Iterable[str]) -> tuple[str, ...]:
    """The conditions that are plain, `…` for a run of others; empty where none is plain."""
    found: list[str] = []
    for condition in conditions:
        if len(condition) <= LONGEST and not _INVOLVED.search(_QUESTION.sub("", condition)):
            found.append(condition)
        elif not found or found[-1] != LEFT_OUT:
            found.append(LEFT_OUT)
    nearest = found[-MOST:] if len(found) <= MOST else [LEFT_OUT, *found[-MOST:]]
    return tuple(nearest) if any(condition != LEFT_OUT for condition in nearest) else ()


def write_guards(output: Path, found: Iterable[tuple[str, int, tuple[str, ...]]]) -> None:
    """Writes the text files anew: the same bytes for the same facts. A place in two releases keeps the first given."""
    parts: dict[str, dict[str, dict[int, tuple[str, ...]]]] = {}
    for file, line, conditions in found:
        parts.setdefault(part_of(file), {}).setdefault(file, {}).setdefault(line, conditions)
    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob("*.tsv"):
        old.unlink()
    for part, files in parts.items():
        rows = []
        for file, places in sorted(files.items()):
            rows.append(f"# {file}")
            rows += ["\t".join((str(line), *conditions)) for line, conditions in sorted(places.items())]
        (output / f"{part}.tsv").write_text("\n".join(rows) + "\n", "utf-8")

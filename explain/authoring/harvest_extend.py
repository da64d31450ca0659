"""A fork, or a release newer than the index: its own SGLang is harvested on the spot, once, and kept."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from explain.authoring.harvest import modules
from explain.authoring.harvest_merge import Merger
from explain.authoring.harvest_module import Module, read_module
from explain.authoring.harvest_tree import Tree, read_tree
from explain.cache import read_cached, write_cached
from explain.linetracks import marks_of
from explain.model import Problem
from explain.sitefacts import identity, release_numbers
from explain.sitepack import FORMAT, PackError, SitePack, pack_entries
from explain.sites import SiteIndex

WITNESSES = (
    "sglang/srt/server_args.py",
    "sglang/srt/managers/scheduler.py",
    "sglang/srt/model_executor/model_runner.py",
    "sglang/srt/managers/tokenizer_manager.py",
)
"""Files that differ between any two releases: a copy that has a release's is taken for that release."""


def extended(index: SiteIndex, path: Path, processes: int | None = None) -> tuple[SiteIndex, list[Problem]]:
    """The index with the sites that the SGLang at `path` has and it has not, and what could not be read.

    The same index where the copy is one of its releases. The result is kept in the user's cache for as long
    as the copy does not change.
    """
    tree, problems = read_tree(path)
    if tree is None:
        return index, problems
    shipped = index.packs[0]
    if same_release(shipped, tree):
        return index, problems
    name = f"sites-own-{_state(shipped, tree)}.pack"
    cached = read_cached(name)
    if cached is not None:
        with suppress(PackError):
            return index.with_pack(SitePack(cached)), problems
    content = _pack(shipped, tree, problems, processes or os.cpu_count() or 1)
    write_cached(name, content)
    return index.with_pack(SitePack(content)), problems


def same_release(pack: SitePack, tree: Tree) -> bool:
    """Whether the copy is a release of the index, unchanged as far as its main files tell."""
    if tree.version not in pack.versions:
        return False
    number = pack.versions.index(tree.version)
    texts = dict(tree.files)
    for name in WITNESSES:
        history = marks_of(pack.history_of(name))
        told = next((marks for releases, marks in history if number in release_numbers(releases, pack.order)), None)
        try:
            own = read_module(texts[name]).marks if name in texts else None
        except (SyntaxError, ValueError):
            return False
        if told != own:
            return False
    return True


def _state(pack: SitePack, tree: Tree) -> str:
    digest = hashlib.sha256(json.dumps([FORMAT, pack.digest, tree.version]).encode())
    for name, text in tree.files:
        digest.update(f"{name}\0{len(text)}\0".encode())
        digest.update(text.encode("utf-8", "replace"))
    return digest.hexdigest()[:16]


def _pack(pack: SitePack, tree: Tree, problems: list[Problem], processes: int) -> bytes:
    cache: dict[str, Module | str] = {}
    merger = Merger()
    merger.add(tree.version, tree.files, modules(tree, cache, problems, processes))
    known = {}
    for number in range(len(pack)):
        entry = pack.entry(number)
        known[identity(entry)] = {(site[0], site[1]) for site in entry["sites"]}
    entries = []
    for lines in merger.lines().values():
        for line in lines:
            entry = json.loads(line)
            places = known.get(entry["id"], set())
            entry["sites"] = [site for site in entry["sites"] if (site[0], site[1]) not in places]
            if entry["sites"]:
                entries.append(entry)
    digest = _state(pack, tree) * 2
    registries = {
        name: [json.loads(line) for line in lines] for name, lines in merger.registry.lines(merger.versions).items()
    }
    return pack_entries(entries, registries, merger.versions, digest, {}, {})

"""SGLang releases to the site index.

Each source is a wheel or a folder of one release. The index is text, one template a line, sorted, the same
bytes for the same sources. What cannot be read is named and left out. Files that releases share are read
once.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from explain.authoring.harvest_guards import read_guards, wanted_places, write_guards
from explain.authoring.harvest_merge import Merger
from explain.authoring.harvest_module import Module, read_module
from explain.authoring.harvest_tree import Tree, read_tree, version_key
from explain.model import Problem


def harvest(paths: Sequence[Path], output: Path, processes: int = 0) -> list[Problem]:
    """Writes the index of the releases at `paths` into `output`; returns what could not be read.

    Two sources of one release are a problem: the first is taken. `processes` share the reading, 0 for one a
    processor. Raises OSError where `output` cannot be written.
    """
    problems: list[Problem] = []
    cache: dict[str, Module | str] = {}
    versions: dict[str, Path] = {}
    merger = Merger()
    processes = processes or os.cpu_count() or 1
    for path in sorted(
        paths,
        key=lambda p: version_key(p.stem.removeprefix("sglang-").split("-")[0] if p.is_file() else p.name),
    ):
        tree, found = read_tree(path)
        problems += found
        if tree is None:
            continue
        if tree.version in versions:
            message = f"is release {tree.version} again, after {versions[tree.version]}"
            problems.append(Problem(str(path), "", message, "it was left out"))
            continue
        versions[tree.version] = path
        merger.add(tree.version, tree.files, modules(tree, cache, problems, processes))
    merger.write(output)
    wanted = wanted_places(output)
    newest_first = sorted((version for version in versions if version in wanted), key=version_key, reverse=True)
    write_guards(output / "guards", _guards([(versions[version], wanted[version]) for version in newest_first]))
    return problems


def _guards(trees: Iterable[tuple[Path, dict[str, set[int]]]]) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """The conditions of the places of each release. Its problems were told when it was read first."""
    for path, wanted in trees:
        tree, _ = read_tree(path)
        if tree is not None:
            yield from read_guards(tree, wanted)


def modules(tree: Tree, cache: dict[str, Module | str], problems: list[Problem], processes: int) -> dict[str, Module]:
    """What each file of the tree holds, by its path; files that do not parse are named and left out."""
    digests = {name: hashlib.sha1(text.encode()).hexdigest() for name, text in tree.files}
    texts = {digests[name]: text for name, text in tree.files if digests[name] not in cache}
    cache.update(zip(texts, _read_all(list(texts.values()), processes), strict=True))
    found: dict[str, Module] = {}
    for name, digest in digests.items():
        module = cache[digest]
        if isinstance(module, str):
            problems.append(Problem(tree.origin, name, f"does not parse: {module}", "the file was left out"))
        else:
            found[name] = module
    return found


def _read_all(texts: Sequence[str], processes: int) -> Iterable[Module | str]:
    if processes < 2 or len(texts) < 50:
        return [_read(text) for text in texts]
    with concurrent.futures.ProcessPoolExecutor(processes) as pool:
        return list(pool.map(_read, texts, chunksize=20))


def _read(text: str) -> Module | str:
    try:
        return read_module(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return str(error)

"""Peers that would take hours on a whole log, timed on its first bytes: a naive loop, and `searchkit`.

`python -m tests.bench.slow naive|searchkit LOG BYTES` prints the seconds of the search alone, without the start.
"""

from __future__ import annotations

import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from explain.catalogue import Catalogue


def naive(text: str) -> float:
    """Every pattern of the catalogue on every line."""
    catalogue = Catalogue.load()
    patterns = [catalogue.pattern(number).compiled for number in range(len(catalogue))]
    started = time.perf_counter()
    for line in text.splitlines():
        for pattern in patterns:
            pattern.search(line)
    return time.perf_counter() - started


def searchkit(text: str) -> float:
    """The same patterns, as one definition each, by the library's file searcher."""
    from searchkit import FileSearcher, SearchDef

    catalogue = Catalogue.load()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "server.log")
        log.write_text(text, "utf-8")
        searcher = FileSearcher(max_parallel_tasks=2)
        for number in range(len(catalogue)):
            pattern = catalogue.pattern(number).text
            try:
                searcher.add(SearchDef(pattern), str(log))
            except Exception:  # a pattern in `regex` syntax that `re` does not take
                continue
        started = time.perf_counter()
        searcher.run()
        return time.perf_counter() - started


PEERS = {"naive": naive, "searchkit": searchkit}


def installed() -> list[str]:
    return [name for name in PEERS if name == "naive" or find_spec(name)]


def main() -> None:
    name, log, share = sys.argv[1:]
    with open(log, "rb") as file:
        text = file.read(int(share)).decode("utf-8", "replace")
    print(PEERS[name](text))


if __name__ == "__main__":
    main()

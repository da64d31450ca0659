"""Hyperscan alone over the same bytes with as many threads as we use: what the scan itself costs."""

from __future__ import annotations

import hashlib
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from explain.scanner import HyperscanScanner

BLOCK = 1 << 20


def hash_of(literals: list[tuple[bytes, bool]]) -> str:
    return hashlib.sha256(b"\n".join(literal for literal, _ in literals)).hexdigest()


def main() -> None:
    needles, log = sys.argv[1:]
    literals = [(line, False) for line in Path(needles).read_bytes().splitlines()]
    scanner = HyperscanScanner(literals, f"bare {hash_of(literals)}")
    with open(log, "rb", buffering=0) as file, ThreadPoolExecutor(2) as pool:
        waiting = []
        found = 0
        while block := file.read(BLOCK):
            waiting.append(pool.submit(scanner.find, block))
            if len(waiting) > 4:
                found += len(waiting.pop(0).result())
        print(found + sum(len(one.result()) for one in waiting))


if __name__ == "__main__":
    main()

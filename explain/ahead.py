"""Blocks with their spots; while one block is read, threads scan the next ones."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from explain.model import Block
from explain.sources import InputError

if TYPE_CHECKING:
    from concurrent.futures import Future

SMALL_BYTES = 64 * 1024
AHEAD = 16
"""Blocks that are scanned while an earlier one is read."""
Ends = Callable[[bytes], "list[int]"]
"""Where spots end, rising."""


def scanned_ahead(blocks: Iterator[Block], ends: Ends) -> Iterator[tuple[Block, list[int]]]:
    """Blocks with the rising end offsets of their spots; later blocks are scanned by threads meanwhile."""
    for block in blocks:
        if len(block.data) >= SMALL_BYTES and not block.last:
            yield from _scanned_by_threads(itertools.chain([block], blocks), ends)
            return
        # A live pipe hands out what it has: nothing may wait for the next block.
        yield block, ends(block.data)


def _scanned_by_threads(blocks: Iterator[Block], ends: Ends) -> Iterator[tuple[Block, list[int]]]:
    # Imported where there is something to scan side by side: a small log is over before.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=2, thread_name_prefix="scan") as pool:
        waiting: list[tuple[Block, Future[list[int]]]] = []
        failure: InputError | None = None
        try:
            for block in blocks:
                if not waiting and len(block.data) < SMALL_BYTES:
                    yield block, ends(block.data)
                    continue
                waiting.append((block, pool.submit(ends, block.data)))
                while waiting and (len(waiting) > AHEAD or waiting[0][1].done()):
                    yield _scanned(*waiting.pop(0))
        except InputError as error:
            failure = error  # behind what could be read before it
        while waiting:
            yield _scanned(*waiting.pop(0))
        if failure is not None:
            raise failure


def _scanned(block: Block, future: Future[list[int]]) -> tuple[Block, list[int]]:
    return block, future.result()

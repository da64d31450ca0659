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
AHEAD = 4
"""Blocks that are scanned while an earlier one is read."""
Find = Callable[[bytes], "list[tuple[int, int]]"]


def scanned_ahead(blocks: Iterator[Block], find: Find) -> Iterator[tuple[Block, list[int]]]:
    """Blocks with the rising end offsets of their spots; later blocks are scanned by threads meanwhile."""
    for block in blocks:
        if len(block.data) >= SMALL_BYTES and not block.last:
            yield from _scanned_by_threads(itertools.chain([block], blocks), find)
            return
        # A live pipe hands out what it has: nothing may wait for the next block.
        yield block, spot_ends(find, block.data)


def _scanned_by_threads(blocks: Iterator[Block], find: Find) -> Iterator[tuple[Block, list[int]]]:
    # Imported where there is something to scan side by side: a small log is over before.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=2, thread_name_prefix="scan") as pool:
        waiting: list[tuple[Block, Future[list[int]]]] = []
        failure: InputError | None = None
        try:
            for block in blocks:
                if not waiting and len(block.data) < SMALL_BYTES:
                    yield block, spot_ends(find, block.data)
                    continue
                waiting.append((block, pool.submit(spot_ends, find, block.data)))
                while waiting and (len(waiting) > AHEAD or waiting[0][1].done()):
                    yield _scanned(*waiting.pop(0))
        except InputError as error:
            failure = error  # behind what could be read before it
        while waiting:
            yield _scanned(*waiting.pop(0))
        if failure is not None:
            raise failure


def spot_ends(find: Find, data: bytes) -> list[int]:
    """Where spots end, rising. A hostile block has a spot at every fourth byte: only this little waits of them."""
    return sorted({end for _, end in find(data)})


def _scanned(block: Block, future: Future[list[int]]) -> tuple[Block, list[int]]:
    return block, future.result()

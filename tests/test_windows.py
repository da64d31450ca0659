"""Which lines are read, and their numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from explain.model import Block
from explain.windows import LINES_AFTER, LINES_BEFORE, Window


def blocks_of(data: bytes, sizes: list[int]) -> list[Block]:
    """Blocks that end at line ends, as sources make them."""
    blocks, position, turn = [], 0, 0
    while position < len(data):
        stop = data.find(b"\n", min(position + max(sizes[turn % len(sizes)], 1), len(data)) - 1)
        stop = len(data) if stop < 0 else stop + 1
        blocks.append(Block(0, position, data[position:stop], stop == len(data)))
        position, turn = stop, turn + 1
    return blocks


def read(data: bytes, sizes: list[int], needle: bytes = b"SPOT", head: int = 0) -> tuple[list[tuple[int, str]], Window]:
    window = Window(lambda: False, head=head)
    lines = []
    for block in blocks_of(data, sizes):
        ends, position = [], block.data.find(needle)
        while position >= 0:
            ends.append(position + len(needle))
            position = block.data.find(needle, position + 1)
        lines.extend((line.number, line.text) for line in window.lines_of(block, ends))
    return lines, window


def test_only_the_neighbourhood_of_spots_is_read() -> None:
    data = b"".join(b"line %d%s\n" % (n, b" SPOT" if n == 500 else b"") for n in range(1, 2001))
    lines, window = read(data, [4096])
    assert [number for number, _ in lines] == list(range(500 - LINES_BEFORE, 500 + LINES_AFTER + 1))
    assert all(text.split()[1] == str(number) for number, text in lines)
    assert window.lines == 2000 and window.bytes == len(data)


def test_the_head_is_read_whole() -> None:
    data = b"".join(b"line %d\n" % n for n in range(1, 101))
    lines, _ = read(data, [64], head=80)
    assert lines[0] == (1, "line 1") and len(lines) >= 10


def test_last_line_without_an_end_is_counted() -> None:
    _, window = read(b"a\nb\nc", [100])
    assert window.lines == 3
    _, window = read(b"a\nb\nc SPOT", [100])
    assert window.lines == 3


@given(
    st.lists(st.sampled_from([b"x", b"SPOT", b"long " * 9, b""]), min_size=1, max_size=300),
    st.lists(st.integers(1, 400), min_size=1, max_size=5),
    st.booleans(),
)
def test_blocks_make_no_difference(rows: list[bytes], sizes: list[int], ended: bool) -> None:
    data = b"\n".join(rows) + (b"\n" if ended else b"")
    lines, window = read(data, sizes)
    whole, whole_window = read(data, [10**9])
    assert lines == whole
    assert (window.lines, window.bytes) == (whole_window.lines, whole_window.bytes)
    texts = data.split(b"\n")
    assert all(texts[number - 1].decode() == text for number, text in lines)
    assert {number for number, text in lines if "SPOT" in text} == {
        number for number, text in enumerate(texts, 1) if b"SPOT" in text
    }

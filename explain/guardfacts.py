"""When SGLang's own messages are raised, where no copy of SGLang is at hand: conditions that were harvested.

A line for each place in the newest release that has it, in plain words (see `guards`); nothing is read before
somebody asks. A checkout keeps the text, the wheel a compressed file.

    # sglang/srt/managers/x.py
    123<TAB>tp_size % dp_size is not 0<TAB>enable_x is set
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = os.path.dirname(os.path.realpath(__file__))
SHIPPED = os.path.join(PACKAGE, "_data", "guards.z")
CHECKOUT = os.path.join(os.path.dirname(PACKAGE), "patterns", "sites", "guards")


def conditions_at(file: str, line: int) -> tuple[str, ...]:
    """What must hold for the message at a place, `file` from `sglang/` on; empty where that is not known."""
    text = _text(file)
    start = text.find(f"# {file}\n")
    if start < 0 or (start and text[start - 1] != "\n"):
        return ()
    block = text[start:end] if (end := text.find("\n# ", start)) >= 0 else text[start:]
    for row in block.split("\n")[1:]:
        number, *conditions = row.split("\t")
        if number == str(line):
            return tuple(conditions)
    return ()


def _text(file: str) -> str:
    try:
        if os.path.isfile(SHIPPED):
            with open(SHIPPED, "rb") as shipped:
                return zlib.decompress(shipped.read()).decode()
        path = os.path.join(CHECKOUT, f"{part_of(file)}.tsv")
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8") as text:
            return text.read()
    except (OSError, ValueError, zlib.error):
        return ""  # it only adds to what is told: without it the rest is told


def part_of(file: str) -> str:
    """The name of the text file that holds a source file's places: its package and the folder in it."""
    parts = file.split("/")[1:-1][:2]
    return "-".join(parts) or "sglang"


def packed(folder: Path) -> bytes | None:
    """The text files of a folder as the wheel has them; None where there are none."""
    texts = [path.read_bytes() for path in sorted(folder.glob("*.tsv"))]
    return zlib.compress(b"".join(texts), 9) if texts else None

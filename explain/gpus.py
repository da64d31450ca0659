"""GPU generations by the names that drivers and kernel configurations use."""

from __future__ import annotations

import re

from explain.expressions import expression

GENERATIONS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (generation, expression(rf"\b(?:{names})\b"))
    for generation, names in (
        ("blackwell", r"G?B[123]00|RTX PRO \w+|RTX 50\d\d|GB10|Thor"),
        ("hopper", r"G?H(?:20|100|200|800)"),
        ("ada", r"L4|L40S?|L20|RTX 40\d\d|RTX \d+ Ada"),
        ("ampere", r"A100|A800|A10G?|A30|A40|A16|RTX 30\d\d|RTX A\d+"),
        ("turing", r"T4|RTX 20\d\d|GTX 16\d\d|TITAN RTX"),
        ("volta", r"V100S?|TITAN V"),
        ("cdna4", r"MI35\d\w?"),
        ("cdna3", r"MI3[02]\d\w?"),
        ("cdna2", r"MI2\d\d\w?"),
    )
)
NAMES = tuple(generation for generation, _ in GENERATIONS)


def generation_of(name: str | None) -> str | None:
    """`hopper` for `NVIDIA H100 80GB HBM3`; None for a name that is not known."""
    words = re.sub(r"[_-]", " ", name or "")
    return next((generation for generation, pattern in GENERATIONS if pattern.search(words)), None)

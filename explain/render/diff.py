"""Shows an example fix as a difference: what to take out, what to put in, what stays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from explain.expressions import expression
from explain.render.text import text_width
from explain.values import dataclass

_HEADING = expression(r"\s*(?:#|//)\s*(before|after)\b[\s:]*(.*)", re.IGNORECASE)
_COMMAND = expression(r"(?:^|\s)--?[a-zA-Z]|\b(?:python3?|sglang|pip|docker|export)\s")

Sign = Literal["-", "+", " "]


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line to show. `sign` is "-" (goes), "+" (comes) or " " (stays, or no difference is known)."""

    sign: Sign
    text: str


def example_lines(example: str, width: int) -> list[DiffLine]:
    """The lines of an example fix, at most about `width` columns wide.

    Text with `# before` and `# after` parts is compared: commands option by option, anything else line by
    line. Text without them is given as it is.
    """
    lines: list[DiffLine] = []
    for before, after in _pairs(example):
        if lines:
            lines.append(DiffLine(" ", ""))
        if after is None:
            lines += [DiffLine(" ", line) for line in before]
        else:
            lines += _compare(before, after, width)
    return lines


def _pairs(example: str) -> Iterator[tuple[list[str], list[str] | None]]:
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in example.expandtabs(4).split("\n"):
        heading = _HEADING.match(line)
        if heading:
            note = heading.group(2).strip()
            parts.append((heading.group(1).lower(), [f"# {note.strip('()')}"] if note else []))
        else:
            parts[-1][1].append(line.rstrip())
    trimmed = [(name, _trim(lines)) for name, lines in parts]
    position = 0
    while position < len(trimmed):
        name, lines = trimmed[position]
        if name == "before" and position + 1 < len(trimmed) and trimmed[position + 1][0] == "after":
            yield lines, trimmed[position + 1][1]
            position += 1
        elif lines:
            yield lines, None
        position += 1


def _trim(lines: list[str]) -> list[str]:
    start, end = 0, len(lines)
    while start < end and not lines[start].strip():
        start += 1
    while end > start and not lines[end - 1].strip():
        end -= 1
    return lines[start:end]


def _compare(before: list[str], after: list[str], width: int) -> list[DiffLine]:
    (comments, old), (more, new) = _commands(before), _commands(after)
    if len(old) == len(new) and all(_COMMAND.search(line) for line in (*old, *new)):
        lines = [DiffLine(" ", comment) for comment in dict.fromkeys((*comments, *more))]
        for left, right in zip(old, new, strict=True):
            lines += _compare_command(left, right, width)
        return lines
    return list(_lines(before, after, width))


def _commands(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """The comments, and the logical command lines: a backslash at the end joins the next line."""
    joined = [line.strip() for line in "\n".join(lines).replace("\\\n", " ").split("\n") if line.strip()]
    return [line for line in joined if line.startswith("#")], [line for line in joined if not line.startswith("#")]


def _compare_command(before: str, after: str, width: int) -> list[DiffLine]:
    old, new = _words(before), _words(after)
    steps = list(_steps(old, new))
    kept = sum(len(word) for sign, words in steps if sign == " " for word in words)
    if kept * 3 < max(len(before), len(after)):
        return [*_pack("-", old, width), *_pack("+", new, width)]
    lines: list[DiffLine] = []
    for sign, words in steps:
        lines += _pack(sign, words, width, indent="  " if lines else "")
    return lines


def _words(command: str) -> list[str]:
    """The words of a command; an option and its value are one, and so is a quoted text."""
    words: list[str] = []
    for word in re.findall(r"(?:[^\s'\"]|'[^']*'|\"[^\"]*\"|['\"])+", command):
        open_option = words and words[-1].startswith("-") and " " not in words[-1] and "=" not in words[-1]
        if open_option and not word.startswith(("-", "#", "&", "|", ";", ">")):
            words[-1] = f"{words[-1]} {word}"
        else:
            words.append(word)
    return words


def _pack(sign: Sign, words: Sequence[str], width: int, indent: str = "") -> list[DiffLine]:
    lines: list[str] = []
    for word in words:
        if lines and text_width(lines[-1]) + 1 + text_width(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append((indent if not lines else indent or "  ") + word)
    return [DiffLine(sign, line) for line in lines]


def _steps(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Sign, Sequence[str]]]:
    from difflib import SequenceMatcher

    for step, left, left_end, right, right_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if step == "equal":
            yield " ", old[left:left_end]
        else:
            if left_end > left:
                yield "-", old[left:left_end]
            if right_end > right:
                yield "+", new[right:right_end]


def _lines(before: Sequence[str], after: Sequence[str], width: int) -> Iterator[DiffLine]:
    for sign, lines in _steps(before, after):
        for line in lines:
            if text_width(line) > width and _COMMAND.search(line):
                yield from _pack(sign, _words(line), width)
            else:
                yield DiffLine(sign, line)

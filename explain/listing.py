"""A server's list of arguments that a paste spread over lines, or that begins in its middle, made one line again.

Only such a line is read as arguments, and only there no words of it are taken for errors.
"""

from __future__ import annotations

from collections.abc import Sequence

from explain.expressions import expression
from explain.model import Line
from explain.prefixes import read_prefix
from explain.registry import registry
from explain.serverargs import open_brackets
from explain.values import replace

__all__ = ["MARK", "looks_listed", "whole_listings"]

MARK = "server_args="
_BEGIN = expression(r"server_args=(?:ServerArgs\(|\{)")
_PAIRS = expression(r"(?:^|, ?|\n\s*)(?:'(?P<quoted>[a-z]\w{2,60})': |(?P<name>[a-z]\w{2,60})=)")
_FEWEST = 6
_LONGEST = 256 * 1024
_MOST_LINES = 2000


def looks_listed(text: str) -> bool:
    """Whether a line may be the rest of a list of arguments: cheap, and often wrong."""
    return text.count("=") + text.count("': ") >= _FEWEST and MARK not in text and read_prefix(text) is None


def whole_listings(lines: Sequence[Line]) -> list[Line]:
    """The lines with each list of arguments in one, from `server_args=` to its closing bracket.

    A log whose first line is the rest of such a list gets the beginning that the cut took.
    """
    done: list[Line] = []
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        if not done and looks_listed(line.text):
            line = _with_beginning(line)
        if MARK in line.text and (found := _BEGIN.search(line.text)) is not None:
            whole = line.text.rstrip().endswith("}" if found[0][-1] == "{" else ")")
            if not whole:
                line, index = _joined(line, found.end(), lines, index)
        done.append(line)
    return done


def _joined(line: Line, start: int, lines: Sequence[Line], index: int) -> tuple[Line, int]:
    """`line` with the lines behind it up to its closing bracket; as it is where none of them has it."""
    parts = [line.text]
    state = open_brackets(line.text[start:])
    following = index
    size = len(line.text)
    while state is not None and following < min(len(lines), index + _MOST_LINES) and size < _LONGEST:
        text = lines[following].text.rstrip("\r")
        if lines[following].key != line.key or MARK in text or read_prefix(text) is not None:
            return line, index
        # Broken behind a comma or a bracket is written so; anywhere else a narrow window broke it.
        spaced = parts[-1].endswith((",", "(", "{", "["))
        part = text.strip() if spaced or text.startswith("    ") else text
        parts.append(f" {part}" if spaced else part)
        state = open_brackets(parts[-1], state)
        size += len(part)
        following += 1
    if state is not None or following == index:
        return line, index
    return replace(line, text="".join(parts)), following


def _with_beginning(line: Line) -> Line:
    names = [(found["quoted"], found["name"]) for found in _PAIRS.finditer(line.text)]
    known = registry().fields
    quoted = [one for one, _ in names if one in known]
    plain = [one for _, one in names if one in known]
    if max(len(quoted), len(plain)) < max(_FEWEST, len(names) // 2):
        return line
    # The first name or value is cut, and what is left of it may be another name.
    cut = line.text.find(", ") + 2
    begin = "server_args={" if len(quoted) > len(plain) else "server_args=ServerArgs("
    return replace(line, text=begin + line.text[cut:]) if cut > 1 else line

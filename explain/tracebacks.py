"""Text of Python tracebacks -> `Traceback`. Pure: no state, no input, linear in the length of the text.

Reads what Python 3.8 to 3.14 print, and what is left of it after copying: no indentation, no header, a cut
first word, blank lines doubled, frames behind the exception, several frames on one line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import starmap
from typing import Literal

from explain.expressions import expression
from explain.model import Frame, Traceback
from explain.values import replace

HEADER = "Traceback (most recent call last)"
Link = Literal["", "context", "cause", "group"]

FRAME = expression(
    r'\s*(?:[|+❱>]\s*)?(?:F?i?l?e? ?)?\\?"(?P<file>[^"\n\\]{1,400})\\?", line (?P<line>\d{1,7})'
    r"(?:,? in (?P<function>[^\n]{1,200}?))?\s*$"
)
FRAME_MARK = '", line '


def match_frame(text: str) -> re.Match[str] | None:
    """The frame that a line is, None for any other line. The cheap test comes first: most lines are no frames."""
    return FRAME.match(text) if FRAME_MARK in text else None


# What a frame looks like somewhere in a line that lost its line ends.
INLINE_FRAME = expression(r'File \\?"[^"\n\\]{1,400}\\?", line \d{1,7}(?:,? in \S+)?')
_MARKER_STARTS = frozenset("~^.[|")
_FRAME_STARTS = frozenset('FfIiLlEe"\\|+>❱TD')
"""How a frame, or what ends a traceback, may begin, with first letters lost and rails before it."""
_MARKERS = expression(r"\s*(?:[\s~^|]+|\.\.\.<\d+ lines?>\.\.\.|\[Previous line repeated \d+ more times?\]|\.\.\.)\s*$")
_LINKS: tuple[tuple[str, Link], ...] = (
    ("During handling of the above exception, another exception occurred", "context"),
    ("The above exception was the direct cause of the following exception", "cause"),
)
_CODE_NEVER = re.escape("".join(sorted({*_MARKER_STARTS, *_FRAME_STARTS, " "})))
_USUAL_FRAME = expression(
    r'  File "([^"\n\\]{1,400})", line (\d{1,7}), in (\S{1,200})\n'
    rf"    ([^\s{_CODE_NEVER}][^\n]*)\n"
)
_USUALLY = 64
_RAIL = expression(r"\s*(?:\||\+-\+-+|\+)(?:-* ?\d* ?-*)? ?")
_CLASS = r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*"
_EXCEPTION = expression(rf"(?P<name>{_CLASS})(?:: (?P<message>.*)|:?\s*$)", re.DOTALL)
_SURE_SUFFIX = expression(
    r"(?:Error|Exception|Exit|Interrupt|Iteration|Warning|Failure|Timeout|TimedOut|Abort|Aborted|NotFound|Group|"
    r"OutOfResources|Cancelled|Rejected|Unavailable|Again|IsEnabled|Undefined|Invalid|Denied|Closed|Disconnect|Died|"
    r"Empty|Full|Expired|Refused|Exceeded|Unauthorized|Forbidden|BadRequest|[a-z]error)"
    r"(?:\[\w+\])?$"
)
_NOT_CLASSES = frozenset({"Message", "Arguments", "Usage", "Process", "Thread", "Python", "Expected", "Got", "Note"})
_LONGEST_CODE = 1_000


def is_exception_line(text: str, *, sure: bool = True) -> bool:
    """Whether `text` is the `Class: message` line that ends a traceback.

    `sure` asks for a class name that can hardly be anything else; without it any dotted capitalised name
    passes, which is right only at the indentation where Python prints it.
    """
    return read_exception(text, sure=sure) is not None


def read_exception(text: str, *, sure: bool = True) -> tuple[str, str] | None:
    """(class, first line of the message) of an exception line, None where it is none."""
    text = text.strip()
    if text[:1] in ("`", "*"):
        text = text.strip("`* ")  # a paste that sets the line in Markdown
    if not text or len(text) > 1_000_000:
        return None
    head = text[:300]
    found = _EXCEPTION.match(head) if ":" in head or len(text) < 300 else None
    if not found:
        return None
    name = found["name"]
    last = name.rpartition(".")[2]
    if last in _NOT_CLASSES or not (last[0].isupper() or _SURE_SUFFIX.search(last)):
        return None
    message = text[found.start("message") :] if found["message"] is not None else ""
    if _SURE_SUFFIX.search(last):
        # `ncclSystemError: …` stands inside NCCL's own messages; Python prints lower-case classes with their module.
        if last[0].islower() and "." not in name:
            return None
        # `Segmentation.Error` is prose, `ERROR` a level.
        return None if last.isupper() else (name, message)
    if sure or not (last[0].isupper() and not last.isupper()):
        return None
    return (name, message)


def parse(lines: Sequence[str], start: int = 0) -> tuple[Traceback | None, int]:
    """The chain of exceptions printed from `lines[start]` on, and the index behind it.

    `lines[start]` is the header line, a frame (a paste without its head) or an exception line. The outermost
    exception is returned, the ones printed before hang on `cause`. None where no frame and no exception was
    found. The exception's message takes all lines up to what surely does not belong to it.
    """
    chain: Traceback | None = None
    link: Link = ""
    index = start
    while index < len(lines):
        block, index = _block(lines, index)
        if block is None:
            break
        chain = replace(block, cause=chain, linked=link if chain else "")
        following, linked = _linked(lines, index)
        if not linked:
            break
        link, index = linked, following
        upcoming = _skip_blank(lines, index)
        if upcoming >= len(lines) or not (HEADER in lines[upcoming] or match_frame(_unrail(lines[upcoming]))):
            break
        index = upcoming
    return chain, index


def chain_of(traceback: Traceback) -> list[Traceback]:
    """The exceptions of one chain, the innermost (first raised) first."""
    found: list[Traceback] = []
    here: Traceback | None = traceback
    while here is not None:
        found.append(here)
        here = here.cause
    return found[::-1]


def _skip_blank(lines: Sequence[str], index: int) -> int:
    while index < len(lines) and not _unrail(lines[index]).strip():
        index += 1
    return index


def _unrail(line: str) -> str:
    """A line of an exception group without its rails."""
    stripped = line.lstrip()
    if stripped[:1] in "|+" and stripped[:1]:
        return _RAIL.sub("", line, count=1)
    return line


def _linked(lines: Sequence[str], index: int) -> tuple[int, Link]:
    """(index behind the connecting sentence, its meaning) if one stands at `index` or after blank lines."""
    index = _skip_blank(lines, index)
    if index < len(lines):
        for sentence, link in _LINKS:
            if sentence in lines[index]:
                return index + 1, link
    return index, ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _block(lines: Sequence[str], index: int) -> tuple[Traceback | None, int]:
    """One exception: frames, then `Class: message`. Reversed order (exception first) is read too."""
    frames: list[tuple[str, int, str, str | None]] = []
    base = -1
    if HEADER in lines[index]:
        before = lines[index].partition(HEADER)[0]
        base = _indent(lines[index]) if not before.strip(" |+`>") else -1
        index += 1
    elif (first := read_exception(_unrail(lines[index]))) and not match_frame(lines[index]):
        return _exception_first(lines, index, first)
    code_wanted = False
    frame_indent = -1
    while index < len(lines):
        if usual := _usual_frames(lines, index):
            frames += usual
            index += 2 * len(usual)
            frame_indent, code_wanted = 2, False
            continue
        line = _unrail(lines[index])
        stripped = line.strip()
        if not stripped or (stripped[0] in _MARKER_STARTS and _MARKERS.match(line)):
            index += 1
            continue
        if code_wanted and stripped[0] not in _FRAME_STARTS and len(line) - len(line.lstrip()) > frame_indent > 0:
            # The usual case at once: below a frame stands its code, farther to the right.
            frames[-1] = (*frames[-1][:3], stripped[:_LONGEST_CODE])
            code_wanted = False
            index += 1
            continue
        if found := match_frame(line):
            frames.append(_frame(found))
            frame_indent = _indent(line)
            code_wanted = True
            index += 1
            continue
        if HEADER in line or any(sentence in line for sentence, _ in _LINKS):
            # A nested header (exception group) goes on; a connecting sentence without an exception is a cut.
            if HEADER in line and not frames:
                index += 1
                continue
            break
        indent = _indent(line)
        indented = frame_indent > max(base, 0) or (frame_indent > 0 and indent < frame_indent)
        at_base = indented and indent <= max(base, frame_indent - 2, 0)
        exception = read_exception(line, sure=not (at_base and frames and base >= -1 and indented))
        if exception and not (indented and indent > frame_indent):
            message, end = _message(lines, index, exception[1])
            return Traceback(tuple(starmap(Frame, frames)), exception[0], message), end
        if code_wanted and frames:
            frames[-1] = (*frames[-1][:3], line.strip()[:_LONGEST_CODE])
            code_wanted = False
            index += 1
            continue
        if frames and indented and indent > frame_indent:
            index += 1  # further lines of one statement (Python 3.13)
            continue
        if not frames and base >= -1 and index + 1 < len(lines) and indent > max(base, 0):
            index += 1
            continue
        break
    if not frames:
        return None, index
    return Traceback(tuple(starmap(Frame, frames)), None, ""), index


def _usual_frames(lines: Sequence[str], index: int) -> list[tuple[str, int, str, str | None]]:
    """The frames from `index` on that are printed as Python does it: a line, and one line of code below it."""
    if not lines[index].startswith('  File "'):
        return []
    return usual_frames("\n".join((*lines[index : index + _USUALLY], "")))


def usual_frames(text: str) -> list[tuple[str, int, str, str | None]]:
    """The frames that `text` begins with, each with its code: (file, line, function, code)."""
    found: list[tuple[str, int, str, str | None]] = []
    position = 0
    while frame := _USUAL_FRAME.match(text, position):
        file, line, function, code = frame.groups()
        found.append((file, int(line), function.strip("*`"), code.strip()[:_LONGEST_CODE]))
        position = frame.end()
    return found


def _exception_first(lines: Sequence[str], index: int, first: tuple[str, str]) -> tuple[Traceback, int]:
    """An exception line without frames before it; frames right behind it belong to it (reversed order)."""
    message, end = _message(lines, index, first[1])
    frames: tuple[Frame, ...] = ()
    following = _skip_blank(lines, end)
    if following <= end + 1 and following < len(lines) and match_frame(lines[following]):
        behind, after = _block(lines, following)
        if behind is not None and behind.exception is None:
            frames = behind.frames
            end = after
    return Traceback(frames, first[0], message), end


def _frame(found: re.Match[str]) -> tuple[str, int, str, str | None]:
    return found["file"], int(found["line"]), (found["function"] or "").strip().strip("*`"), None


def ends_message(line: str) -> bool:
    """Whether `line` cannot belong to the message of the exception above it."""
    if HEADER in line or any(sentence in line for sentence, _ in _LINKS) or match_frame(line):
        return True
    return bool(_OTHERS.match(line)) or is_exception_line(line)


# What other writers on the same stream begin their lines with.
_OTHERS = expression(
    r"\s*(?:Process \S+:$|Exception (?:in thread|ignored in)|Task exception was never|future: <Task|"
    r"--- Logging error ---|Fatal Python error|terminate called|Message: '|Thread 0x|Current thread 0x|"
    r"Killed\b|Aborted|Terminated\b|Quit\b|Segmentation fault|Bus error|\S+: line \d+: +\d+ |srun: |slurmstepd: |"
    r"Extension modules: |usage: |\[Gloo\]|root@\S+:|\(\w+\) .*[$#] |\$ |```|"
    r"frame #\d+: |Exception raised from |command terminated with exit code|exited with code|sys:\d+: |"
    r"[\w./-]+\[\d+\]: |systemd\[\d+\]|\w+-\d+ exited with code|ray\.exceptions\.)"
)


def _message(lines: Sequence[str], index: int, first: str) -> tuple[str, int]:
    """The message that starts on `lines[index]`, joined by newlines, and the index behind it.

    A blank line does not end it (ImportError texts of sgl_kernel hold several) unless what follows is
    somebody else's; two blank lines in a row end it once it has text.
    """
    parts = [first.rstrip()]
    margin = " " * _indent(_unrail(lines[index]))
    end = index + 1
    here = end
    blanks = 0
    while here < len(lines) and len(parts) < 120:
        line = _unrail(lines[here])
        if not line.strip():
            blanks += 1
            here += 1
            if blanks > 1 and any(parts):
                break
            continue
        if ends_message(line):
            break
        if blanks and _MARKERS.match(line):
            break
        parts.extend([""] * min(blanks, 1))
        blanks = 0
        if not _MARKERS.match(line) or line.strip() == "...":
            parts.append(line.rstrip().removeprefix(margin))
        here += 1
        end = here
    return "\n".join(parts).rstrip(), end


def split_inline(text: str) -> list[str]:
    """The lines of a traceback whose line ends were lost: one element before each frame and exception."""
    marks = text.count(FRAME_MARK)
    if not marks or (marks < 2 and HEADER not in text) or not INLINE_FRAME.search(text):
        return [text]
    pieces: list[str] = []
    position = 0
    for found in INLINE_FRAME.finditer(text):
        pieces.extend(_between(text[position : found.start()]))
        pieces.append("  " + found[0])
        position = found.end()
    pieces.extend(_between(text[position:]))
    return [piece for piece in pieces if piece.strip()]


def _between(text: str) -> list[str]:
    """What stands between two frames: the first one's code, an exception, a connecting sentence, a header."""
    pieces = [text.strip()]
    for mark in (*(sentence for sentence, _ in _LINKS), HEADER):
        pieces = [part for piece in pieces for part in _at_mark(piece, mark)]
    return [part for piece in pieces for part in _split_tail(piece)]


def _at_mark(text: str, mark: str) -> list[str]:
    before, found, after = text.partition(mark)
    if not found:
        return [text]
    if mark == HEADER:
        # What stands before a header on its line is its heading, unless an exception stands there.
        end = after[:1] == ":"
        head = f"{before}{mark}:" if not _INLINE_EXCEPTION.search(before) else f"{mark}:"
        first = [] if not _INLINE_EXCEPTION.search(before) else [before]
        return [*first, head, after[end:].strip()]
    return [before, mark + ":", after.lstrip(": ")]


_INLINE_EXCEPTION = expression(
    r"(?:^|\s)(?P<name>(?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception|Exit|Interrupt|Resources)|"
    r"(?:[a-z_]\w*\.)+[A-Z]\w*)(?:: |$)"
)


def _split_tail(text: str) -> list[str]:
    """A frame's code and the exception behind it."""
    if not text or HEADER in text:
        return [text]
    found = _INLINE_EXCEPTION.search(text)
    if found is None:
        return ["    " + text]
    code, rest = text[: found.start()].strip(), text[found.start("name") :]
    return (["    " + code] if code else []) + [rest]

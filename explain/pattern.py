"""A record's `messagePattern`: the literals any match must contain, and the compiled expression.

`needles` reads the pattern the way the `regex` library does, as far as that is needed to know which
characters every match must contain. What it does not understand it treats as "anything", so a needle may be
missing but never wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from time import perf_counter

import regex

from explain.literals import Part
from explain.ordinary import ORDINARY_TEXT
from explain.regexparts import parse

SHORTEST_NEEDLE = 4
LONGEST_NEEDLE = 24
"""Longer literals select no better, and are cut in two more often by a hard-wrapped line."""

DEFAULT_TIMEOUT = 0.25
FEW_TIMEOUTS = 16
SLOW_SHARE = 10
"""A pattern that was too slow more often, and on more than one of so many texts, is given up."""

UNSAFE = frozenset("\"'\\<>&/")
"""Characters that JSON or HTML escaping may rewrite, so that a needle with one could hide."""

COMMON = (
    *("token usage", "#running-req", "#queue-req", "gen throughput", "Decode batch", "Prefill batch"),
    *("#new-token", "#cached-token", "cuda graph", "server_args", "HTTP", "Receive", "Finish", "memory"),
    *("sglang", "python", "model", "request", "server", "error", "Error", "CUDA", "torch", "tensor"),
    *("not supported", "is not", "must be", " with ", " the ", " for ", "failed", "None", "size"),
)
"""What healthy lines and most errors say alike: worth little in a needle."""


@dataclass(frozen=True, slots=True)
class Needle:
    """A literal that stands in every text its branch of the pattern matches.

    Printable ASCII without the characters JSON or HTML escaping rewrites, on one line. A caseless needle is
    lower case and is looked for without regard to ASCII case.
    """

    text: str
    caseless: bool = False


class Pattern:
    """A `messagePattern` that is compiled on first need.

    `search` never raises on any text and never runs longer than its timeout: a pattern that is slow on a
    text does not match it, and the time-out is counted in `timeouts`. One that is slow again and again is not
    searched for any more: a hundred thousand texts must not take a day. Compiling a bad pattern raises
    `regex.error`; whoever loads records asks `compile_error` first.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.timeouts = 0
        self._searches = 0

    def __repr__(self) -> str:
        return f"Pattern({self.text!r})"

    @cached_property
    def compiled(self) -> regex.Pattern[str]:
        return compiled(self.text)

    @cached_property
    def weight(self) -> int:
        """How many characters the pattern fixes: what makes one match more telling than another."""
        return parse(self.text).part.weight

    def search(self, text: str, timeout: float = DEFAULT_TIMEOUT) -> regex.Match[str] | None:
        """The first match anywhere in the text, None without one or after `timeout` seconds."""
        if self.timeouts >= FEW_TIMEOUTS and self.timeouts * SLOW_SHARE > self._searches:
            return None
        self._searches += 1
        try:
            return self.compiled.search(text, timeout=timeout)
        except TimeoutError:
            self.timeouts += 1
            return None

    def agreement(self, text: str, timeout: float = DEFAULT_TIMEOUT) -> tuple[int, int]:
        """The longest beginning of one of the pattern's branches that still matches somewhere in the text.

        Its start and end in the pattern, counted in whole parts of the top level; (0, 0) where not even a
        first part matches. For telling an author where a pattern stops to agree with a line.
        """
        best, failed = (0, 0), set()
        for start, end in parse(self.text).steps:
            if start in failed:
                continue
            try:
                if regex.search(self.text[start:end], text, timeout=timeout) is None:
                    failed.add(start)
                elif end - start > best[1] - best[0]:
                    best = (start, end)
            except (regex.error, TimeoutError):
                continue
        return best

    def matched_up_to(self, text: str, timeout: float = DEFAULT_TIMEOUT) -> int:
        """Up to which character the pattern agrees with the text; see `agreement`."""
        return self.agreement(text, timeout)[1]


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> regex.Pattern[str]:
    # The library's own cache is small and throws everything out at once.
    return regex.compile(pattern, cache_pattern=False)


def compile_error(pattern: str) -> str | None:
    """Why `regex` refuses the pattern, None if it takes it."""
    try:
        compiled(pattern)
    except regex.error as error:
        return str(error)
    except RecursionError:
        return "groups nested too deep"
    return None


def trap(pattern: str, message: str, *, length: int, seconds: float = 0.2) -> str | None:
    """A text of some `length` on which the pattern takes longer than `seconds`, None where none is known.

    Tries text made of what the pattern likes. A slow answer counts only when it is slow three times, so that
    a busy machine is not taken for a slow pattern.
    """
    if sum(map(pattern.count, "*+{")) < 2:
        return None
    tried = Pattern(pattern)
    for text in hostile_texts(pattern, message, length):
        for _ in range(3):
            before, started = tried.timeouts, perf_counter()
            tried.search(text, timeout=seconds)
            if tried.timeouts == before and perf_counter() - started < seconds:
                break
        else:
            return text
    return None


def hostile_texts(pattern: str, message: str, length: int) -> Iterable[str]:
    """Repeated pieces (characters, the message without its end, needles), half a message and a long tail."""
    pieces = ["a", " ", "0", "1 ", "a.b", "'", "x=1, ", message[:-1]]
    pieces += [needle.text for needle in needles(pattern)[:3]]
    for piece in pieces:
        if piece:
            yield (piece * (length // len(piece) + 1))[:length] + "\x00"
    half, rest = message[: len(message) // 2], message[len(message) // 2 :]
    for piece in ("9", "a ", "a"):
        long = (piece * length)[:length]
        yield half + long
        # With the end that the pattern wants, so that no quick look for a missing literal saves it.
        yield half + long + rest + "\x00"


@lru_cache(maxsize=4096)
def needles(pattern: str) -> tuple[Needle, ...]:
    """Literals of which at least one stands in any text the pattern matches.

    One for each alternative branch, the most telling run of each. Empty when some branch has no usable run
    of four characters, or the pattern uses what this reader does not know (verbose or fuzzy matching).
    """
    parsed = parse(pattern)
    cover = best_cover(parsed.part)
    if cover is None:
        return ()
    if parsed.caseless:
        cover = tuple(dict.fromkeys(text.lower() for text in cover))
    return tuple(Needle(text, parsed.caseless) for text in cover)


def best_cover(part: Part) -> tuple[str, ...] | None:
    """The best of all sets of literals that the part offers, each cut to its most telling run."""
    best: tuple[str, ...] | None = None
    best_score = 0.0
    for choice in part.choices:
        runs = {telling_run(text) for text in choice}
        if "" in runs or not runs:
            continue
        score = min(telling(run) for run in runs) - 0.5 * (len(runs) - 1)
        if best is None or score > best_score:
            best, best_score = tuple(sorted(runs)), score
    return best


def usable_runs(text: str) -> Iterable[str]:
    """The longest stretches of a literal that no carrier rewrites, without blanks at their ends."""
    run = ""
    for character in text + "\n":
        if " " <= character <= "~" and character not in UNSAFE:
            run += character
            continue
        if len(run.strip()) >= SHORTEST_NEEDLE:
            yield run.strip()
        run = ""


def telling_run(text: str) -> str:
    """The stretch of a literal, at most `LONGEST_NEEDLE` long, that says most; "" without a usable one."""
    best, best_score = "", -1.0
    for run in usable_runs(text):
        for window in windows(run):
            score = telling(window)
            if score > best_score:
                best, best_score = window, score
    return best


def windows(run: str) -> Iterable[str]:
    """Stretches of whole words that fit a needle; pieces of a word only where the word alone is too long."""
    if len(run) <= LONGEST_NEEDLE:
        yield run
        return
    starts = [0, *(i + 1 for i, character in enumerate(run) if character == " ")]
    for start in starts:
        piece = run[start : start + LONGEST_NEEDLE + 1]
        if len(piece) > LONGEST_NEEDLE:
            cut = piece.rfind(" ")
            piece = piece[:cut] if cut > 0 else piece[:LONGEST_NEEDLE]
        piece = piece.strip()
        if len(piece) >= SHORTEST_NEEDLE:
            yield piece


def telling(run: str) -> float:
    """How rare a literal is in logs, roughly: its length, without what most lines say alike."""
    score = sum(0.3 if c == " " else 1.0 if c.islower() else 1.3 for c in run)
    for word in COMMON:
        if word in run:
            score -= 0.7 * len(word)
    # In every ordinary line: better than nothing, worse than anything else.
    return 0.01 if run in ORDINARY_TEXT else max(score, 0.1)

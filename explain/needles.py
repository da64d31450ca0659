"""The literals any match of a `messagePattern` must contain.

The pattern is read the way the `regex` library does, as far as that is needed to know which characters every
match must contain. What is not understood is treated as "anything", so a needle may be missing but never wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from time import perf_counter

from explain.literals import Part
from explain.ordinary import ORDINARY_TEXT
from explain.pattern import Pattern
from explain.regexparts import parse
from explain.values import dataclass

SHORTEST_NEEDLE = 4
LONGEST_NEEDLE = 24
"""Longer literals select no better, and are cut in two more often by a hard-wrapped line."""

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

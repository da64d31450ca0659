"""A record's `messagePattern`, compiled when it is needed and never slower than its timeout."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

from explain.required import Requirement, meets, read_requirement

DEFAULT_TIMEOUT = 0.25
FEW_TIMEOUTS = 16
WITHOUT_DIGITS = dict.fromkeys(map(ord, "0123456789"))
SLOW_SHARE = 10
"""A pattern that was too slow more often, and on more than one of so many texts, is given up."""


class Pattern:
    """A `messagePattern` that is compiled on first need.

    `search` never raises on any text and never runs longer than its timeout: a pattern that is slow on a
    text does not match it, and the time-out is counted in `timeouts`. One that is slow again and again is not
    searched for any more: a hundred thousand texts must not take a day. Compiling a bad pattern raises
    `regex.error`; whoever loads records asks `compile_error` first.
    """

    def __init__(self, text: str, weight: int | None = None, required: str = "") -> None:
        """`weight` and `required` where they are known already: reading the pattern for them takes a while."""
        self.text = text
        self._weight = weight
        self._required = required
        self.timeouts = 0
        self._searches = 0

    def __repr__(self) -> str:
        return f"Pattern({self.text!r})"

    @cached_property
    def compiled(self) -> regex.Pattern[str]:
        return compiled(self.text)

    @property
    def weight(self) -> int:
        """How many characters the pattern fixes: what makes one match more telling than another."""
        if self._weight is None:
            from explain.regexparts import parse

            self._weight = parse(self.text).part.weight
        return self._weight

    @cached_property
    def _requirement(self) -> Requirement:
        return read_requirement(self._required)

    @cached_property
    def _requirement_without_digits(self) -> Requirement:
        return read_requirement(self._required.translate(WITHOUT_DIGITS))

    def could_match(self, bare: str) -> bool:
        """Whether a text might match that has digits somewhere in it, and is `bare` without them."""
        return meets(bare, self._requirement_without_digits)

    def search(self, text: str, timeout: float = DEFAULT_TIMEOUT) -> regex.Match[str] | None:
        """The first match anywhere in the text, None without one or after `timeout` seconds."""
        if self.timeouts >= FEW_TIMEOUTS and self.timeouts * SLOW_SHARE > self._searches:
            return None
        if not meets(text, self._requirement):
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
        first part matches. A part that may be empty is counted where it took characters, or where something
        behind it agrees: alone it agrees with any text. For telling an author where a pattern stops to agree
        with a line.
        """
        import regex

        from explain.regexparts import parse

        best, failed = (0, 0), set()
        steps = parse(self.text).steps
        last = dict(steps)
        branch, before, length = -1, 0, 0
        for start, end in steps:
            if start in failed:
                continue
            if start != branch:
                branch, before, length = start, start, 0
            try:
                found = regex.search(self.text[start:end], text, timeout=timeout)
                if found is None:
                    failed.add(start)
                    continue
                longer = len(found[0]) > length
                asks = longer or regex.fullmatch(self.text[before:end], "", timeout=timeout) is None
            except (regex.error, TimeoutError):
                continue
            before, length = end, len(found[0])
            if (asks or end == last[start]) and end - start > best[1] - best[0]:
                best = (start, end)
        return best

    def matched_up_to(self, text: str, timeout: float = DEFAULT_TIMEOUT) -> int:
        """Up to which character the pattern agrees with the text; see `agreement`."""
        return self.agreement(text, timeout)[1]


@lru_cache(maxsize=4096)
def compiled(pattern: str) -> regex.Pattern[str]:
    # Imported where a pattern is searched for: an ordinary log needs none.
    import regex

    # The library's own cache is small and throws everything out at once.
    return regex.compile(pattern, cache_pattern=False)


def compile_error(pattern: str) -> str | None:
    """Why `regex` refuses the pattern, None if it takes it."""
    import regex

    try:
        compiled(pattern)
    except regex.error as error:
        return str(error)
    except RecursionError:
        return "groups nested too deep"
    return None

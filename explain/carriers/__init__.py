"""What a line went through on its way to us, taken off again. One small file a carrier.

A carrier's module has `NAME`, `STARTS` (the characters its lines can begin with), `SAMPLES` (a raw line and
what is left of it) and `strip(line, memory)`: what the line held, or None where it did not come this way. A
carrier that is not sure leaves the line alone: a missed one costs less than a false one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

from explain.carriers import (
    box,
    compose,
    cri,
    csv_export,
    escaped,
    fastchat,
    fence,
    gcp,
    github_actions,
    jenkins,
    journald,
    journald_more,
    json_lines,
    json_pretty,
    kernel,
    kibana,
    kubectl,
    mpirun,
    notebook,
    powershell,
    python_logging,
    quote,
    rank,
    ray,
    ray_worker,
    rich,
    skypilot,
    srun,
    stern,
    table,
    timestamps,
    torchelastic,
)
from explain.carriers.ansi import without_codes
from explain.carriers.clean import cleaned, without_entities, without_progress
from explain.carriers.csv_export import continued
from explain.carriers.fence import without_last_mark
from explain.carriers.memory import Memory
from explain.carriers.ray import without_repeats
from explain.model import Stripped
from explain.reflow import at_actors, at_stamps

Strip = Callable[[str, Memory], "list[Stripped] | None"]

# The order decides where two could fire: the one that takes more comes first.
CARRIERS: tuple[ModuleType, ...] = (
    kubectl, jenkins, mpirun, rank, torchelastic, kernel,
    ray, skypilot, ray_worker,
    cri, journald, table, timestamps, fastchat, csv_export,
    json_lines, python_logging,
    github_actions, kibana, gcp, compose, stern, srun,
    quote, rich, box, fence, powershell, journald_more, notebook, json_pretty,
)  # fmt: skip
MAX_DEPTH = 8
"""Carriers in carriers that are taken off; deeper ones are no accident of logging."""
MAX_PIECES = 20_000
"""Lines that one physical line may hold."""
MAX_LABELS = 4_096
"""Names of streams that are remembered of one source."""


def by_first(strip_of: Callable[[ModuleType], Strip]) -> dict[str, tuple[Strip, ...]]:
    """For each character what takes off the carriers whose lines can begin with it."""
    table: dict[str, list[Strip]] = {}
    for carrier in CARRIERS:
        strip = strip_of(carrier)
        for character in carrier.STARTS:
            table.setdefault(character, []).append(strip)
    return {character: tuple(strips) for character, strips in table.items()}


_BY_FIRST = by_first(lambda carrier: carrier.strip)


class Carriers:
    """Takes carriers off the lines of one source, outermost first. Lines must come in order."""

    def __init__(self, by_first: Mapping[str, tuple[Strip, ...]] = _BY_FIRST) -> None:
        self._memory = Memory()
        self._by_first = by_first

    def strip(self, line: str) -> list[Stripped]:
        """What `line` (without its line end) held: usually one line, several where one line carried more.

        `time` is that of the outermost carrier that has one; `key` joins the labels of all of them. A line
        that nothing carried comes back as it is.
        """
        found: list[Stripped] = []
        self._memory.number += 1
        if len(self._memory.known) > MAX_LABELS or len(self._memory.unfinished) > MAX_LABELS:
            self._memory.known.clear()
            self._memory.unfinished.clear()
        if line[:1] == "\ufeff":
            line = line[1:]
        self._peel(line, "", None, False, 0, 0, found)
        return found

    def _peel(
        self,
        text: str,
        key: str,
        time: str | None,
        partial: bool,
        repeats: int,
        depth: int,
        found: list[Stripped],
    ) -> None:
        """Appends to `found` what is left of `text`, which came out of the carriers named by `key`."""
        if "\r" in text:
            lines = without_progress(text)
            for line in lines[:-1]:
                self._peel(line, key, time, False, 0, depth, found)
            text = lines[-1]
        text = without_codes(text)
        if "&" in text:
            text = without_entities(text, self._memory)
        if depth and key in self._memory.unfinished:
            # The rest of a line that was cut: its beginning is not a line's beginning.
            whole = self._memory.unfinished[key]
            if not partial:
                del self._memory.unfinished[key]
            found.append(Stripped(text, whole, time, partial, repeats))
            return
        self._memory.stream = key
        pieces = self._taken_off(text) if text and depth < MAX_DEPTH else None
        if pieces is None:
            if " pid=" in text and len(parts := at_actors(text)) > 1:
                for part in parts[:-1]:
                    self._peel(part, key, time, False, 0, depth + 1, found)
                self._peel(parts[-1], key, time, partial, repeats, depth + 1, found)
                return
            times = 0
            if text:
                text = cleaned(text)
                if "x across cluster]" in text:
                    text, times = without_repeats(text)
                if text[-1:] == "`":
                    text = without_last_mark(text, self._memory)
            if '"' in text:
                text = continued(text, self._memory)
            if text.find("[20", 1) > 0:
                *before, text = at_stamps(text)
                found += [Stripped(part, key, time) for part in before]
            found.append(Stripped(text, key, time, partial, repeats + times))
            return
        for piece in pieces:
            inner = f"{key}/{piece.key}" if key and piece.key else key or piece.key
            lines = piece.text.split("\n") if "\n" in piece.text else [piece.text]
            cut = partial or piece.partial
            begun = inner if cut and piece.partial else ""
            for number, line in enumerate(lines[:MAX_PIECES], start=1):
                last = number == len(lines)
                self._peel(
                    line,
                    inner,
                    time or piece.time,
                    cut and last,
                    repeats + piece.repeats if last else 0,
                    depth + 1,
                    found,
                )
            if begun and found and begun not in self._memory.unfinished:
                self._memory.unfinished[begun] = found[-1].key

    def _taken_off(self, text: str) -> list[Stripped] | None:
        """The outermost carrier's pieces, None where there is none."""
        first = text[0]
        # A server's own stamp at once: most lines begin with it.
        if first == "[" and text[1:3] == "20" and text[11:12] == " ":
            after = text[20:22]
            labels = after[:1] == " " and after[1:].isalpha()
            if labels or (after == "] " and text[22:23] not in "[{"):
                return escaped.strip(text)
        for strip in self._by_first.get(first, ()):
            if (pieces := strip(text, self._memory)) is not None:
                return pieces
        return escaped.strip(text)

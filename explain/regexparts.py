"""Reads a regular expression as far as needed to know which literals every match must contain.

Covers the syntax of the `regex` library that records use: groups of all kinds, alternatives, classes,
escapes, quantifiers, inline flags. Pure, no compiled expression involved, linear in the pattern's length.
"""

from __future__ import annotations

from explain.literals import ANYTHING, EMPTY, Part, either, join, repeated, with_choices
from explain.values import dataclass, field

ZERO_WIDTH_ESCAPES = frozenset("bBAZzmMGK")
CLASS_ESCAPES = frozenset("dDwWsSpPNRXhHvVLg")
CONTROL_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "a": "\a"}


class Unknown(Exception):
    """The pattern uses something this reader does not model."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A whole pattern. `steps`: for each part of its top level, where its branch starts and where it ends.

    `branches`: the alternatives of the top level.
    """

    part: Part
    caseless: bool = False
    steps: tuple[tuple[int, int], ...] = ()
    branches: tuple[Part, ...] = ()


def parse(pattern: str) -> Parsed:
    """Never raises; a pattern that is not understood, or not valid, requires nothing."""
    reader = _Reader(pattern)
    try:
        part = reader.alternatives(0)
        if reader.position < len(pattern):
            raise Unknown("unbalanced parenthesis")
    except (Unknown, IndexError, ValueError, RecursionError):
        return Parsed(ANYTHING, steps=((0, len(pattern)),), branches=(ANYTHING,))
    return Parsed(with_choices(part), reader.caseless, tuple(reader.steps), tuple(map(with_choices, reader.branches)))


@dataclass(slots=True)
class _Reader:
    pattern: str
    position: int = 0
    caseless: bool = False
    steps: list[tuple[int, int]] = field(default_factory=list)
    branches: list[Part] = field(default_factory=list)

    def peek(self, text: str) -> bool:
        return self.pattern.startswith(text, self.position)

    def take(self) -> str:
        character = self.pattern[self.position]
        self.position += 1
        return character

    def alternatives(self, depth: int) -> Part:
        branches = [self.sequence(depth)]
        while self.peek("|"):
            self.position += 1
            branches.append(self.sequence(depth))
        if depth == 0:
            self.branches = branches
        return either(branches)

    def sequence(self, depth: int) -> Part:
        parts: list[Part] = []
        start = self.position
        while self.position < len(self.pattern) and not self.peek("|") and not self.peek(")"):
            parts.append(self.quantified(self.atom(depth)))
            if depth == 0:
                self.steps.append((start, self.position))
        return join(parts)

    def quantified(self, part: Part) -> Part:
        while self.position < len(self.pattern):
            bounds = self.quantifier()
            if bounds is None:
                return part
            lowest, highest = bounds
            if self.position < len(self.pattern) and self.pattern[self.position] in "?+":
                self.position += 1
            part = repeated(part, lowest, highest)
        return part

    def quantifier(self) -> tuple[int, int | None] | None:
        character = self.pattern[self.position]
        if character in "*+?":
            self.position += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[character]
        if character != "{":
            return None
        end = self.pattern.find("}", self.position)
        inner = self.pattern[self.position + 1 : end] if end > 0 else ""
        lowest, comma, highest = inner.partition(",")
        if not inner or not (lowest + highest).isdigit() or not (lowest or comma):
            if inner and set(inner) <= set("eids<=0123456789,:+ "):
                raise Unknown("fuzzy matching")
            return None
        self.position = end + 1
        if not comma:
            return int(lowest), int(lowest)
        return int(lowest or 0), int(highest) if highest else None

    def atom(self, depth: int) -> Part:
        character = self.take()
        if character == "\\":
            return self.escape()
        if character == "[":
            return self.character_class()
        if character == "(":
            return self.group(depth + 1)
        if character in "^$":
            return EMPTY
        if character == ".":
            return ANYTHING
        return Part(frozenset({character}), (), 1)

    def escape(self) -> Part:
        character = self.take()
        if character in ZERO_WIDTH_ESCAPES:
            return EMPTY
        if character in CLASS_ESCAPES or character.isdigit():
            if self.peek("{") and character in "pPNg":
                self.position = self.pattern.index("}", self.position) + 1
            elif self.peek("<") and character in "gL":
                self.position = self.pattern.index(">", self.position) + 1
            return ANYTHING
        return Part(frozenset({self.escaped_character(character)}), (), 1)

    def escaped_character(self, character: str) -> str:
        if character in CONTROL_ESCAPES:
            return CONTROL_ESCAPES[character]
        digits = {"x": 2, "u": 4, "U": 8}.get(character)
        if digits is not None:
            code = self.pattern[self.position : self.position + digits]
            self.position += digits
            return chr(int(code, 16))
        if character.isalnum():
            raise Unknown(f"escape \\{character}")
        return character

    def character_class(self) -> Part:
        """A class of few single characters is known exactly; any other stands for anything."""
        known: set[str] | None = set()
        if self.peek("^"):
            self.position += 1
            known = None
        first = True
        while first or not self.peek("]"):
            first = False
            character = self.take()
            if character == "[" and self.peek(":"):
                self.position = self.pattern.index(":]", self.position) + 2
                known = None
                continue
            if character == "\\":
                escaped = self.take()
                if escaped in CLASS_ESCAPES or escaped.isdigit():
                    if self.peek("{") and escaped in "pPN":
                        self.position = self.pattern.index("}", self.position) + 1
                    known = None
                    continue
                character = "\b" if escaped == "b" else self.escaped_character(escaped)
            if self.peek("-") and not self.peek("-]"):
                self.position += 1
                if self.take() == "\\":
                    self.position += 1
                known = None
            if known is not None:
                known.add(character)
        self.position += 1
        if not known or len(known) > 6:
            return ANYTHING
        return Part(frozenset(known))

    def group(self, depth: int) -> Part:
        looks_around: bool | None = False
        if self.peek("?"):
            self.position += 1
            looks_around = self.group_opening()
            if looks_around is None:
                return EMPTY
        part = self.alternatives(depth)
        if self.take() != ")":
            raise Unknown("group not closed")
        return EMPTY if looks_around else part

    def group_opening(self) -> bool | None:
        """Past `?…` of a group: True for a look-around, None for one without a body."""
        if self.peek("#"):
            self.position = self.pattern.index(")", self.position) + 1
            return None
        for sign in ("<=", "<!", "=", "!"):
            if self.peek(sign):
                self.position += len(sign)
                return True
        for sign in ("P<", "<", "'"):
            if self.peek(sign):
                closing = "'" if sign == "'" else ">"
                self.position = self.pattern.index(closing, self.position + len(sign)) + 1
                return False
        for sign in (":", ">", "|"):
            if self.peek(sign):
                self.position += 1
                return False
        return self.flags()

    def flags(self) -> bool | None:
        end = self.position
        while self.pattern[end].isalnum() or self.pattern[end] == "-":
            end += 1
        flags = self.pattern[self.position : end]
        switched_on = flags.partition("-")[0]
        if not flags or self.pattern[end] not in ":)" or set(switched_on) - set("aimsuLfbe01V"):
            raise Unknown(f"group (?{flags}")
        if set(switched_on) & set("be"):
            raise Unknown("fuzzy matching")
        if "i" in switched_on:
            self.caseless = True
        self.position = end + 1
        return None if self.pattern[end] == ")" else False

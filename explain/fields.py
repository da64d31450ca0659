"""Typed fields out of a JSON object, every wrong one told with its JSON pointer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from explain.model import Problem
from explain.values import dataclass, field


@dataclass(slots=True)
class FieldReader:
    """Reads typed fields of one JSON object and notes a problem for each that has another type."""

    path: str
    pointer: str
    problems: list[Problem]
    values: Mapping[str, Any] = field(default_factory=dict)
    sound: bool = True

    def problem(self, name: str, message: str, hint: str = "") -> None:
        self.sound = False
        place = f"{self.pointer}/{name}" if name else self.pointer.removesuffix(": ") or "/"
        self.problems.append(Problem(self.path, place, message, hint))

    def optional_text(self, name: str) -> str | None:
        value = self.values.get(name)
        if value is None or isinstance(value, str):
            return value
        self.problem(name, f"is {kind_of(value)}, must be text or null")
        return None

    def text(self, name: str, default: str = "") -> str:
        return self.optional_text(name) or default

    def optional_number(self, name: str) -> int | None:
        value = self.values.get(name)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        self.problem(name, f"is {kind_of(value)}, must be a whole number or null")
        return None

    def array(self, name: str) -> list[Any]:
        value = self.values.get(name)
        if value is None:
            return []
        if isinstance(value, list):
            return value
        self.problem(name, f"is {kind_of(value)}, must be an array or null")
        return []

    def texts(self, name: str) -> tuple[str, ...]:
        return self.all_text(name, self.array(name))

    def all_text(self, name: str, values: list[Any]) -> tuple[str, ...]:
        for index, value in enumerate(values):
            if not isinstance(value, str):
                self.problem(f"{name}/{index}", f"is {kind_of(value)}, must be text")
        return tuple(value for value in values if isinstance(value, str))


def kind_of(value: Any) -> str:
    """The JSON name of a value's type, with its article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "text"
    return "an array" if isinstance(value, list) else "an object"

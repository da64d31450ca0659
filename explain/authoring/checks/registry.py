"""The registry of checks, shared by the command, the tests and the continuous integration."""

from __future__ import annotations

from collections.abc import Callable

from explain.authoring.book import Book, Entry

Check = Callable[[Entry, Book], None]

CHECKS: dict[str, Check] = {}
"""Every check by name, in the order in which they run."""


def check(function: Check) -> Check:
    """Registers a check under its name, with hyphens."""
    CHECKS[function.__name__.replace("_", "-")] = function
    return function

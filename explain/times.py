"""Printed times as moments, and the seconds between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from explain.expressions import expression

if TYPE_CHECKING:
    from datetime import datetime

_TIME = expression(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:[.,](\d{1,6}))?")


def seconds_between(before: str | None, after: str | None) -> float | None:
    """Seconds from one printed time to another; None where one is missing or has no date."""
    first = read_time(before) if after else None
    second = read_time(after) if first else None
    return (second - first).total_seconds() if first and second else None


def read_time(text: str | None) -> datetime | None:
    """A printed time; None for one without a date."""
    found = _TIME.search(text or "")
    if found is None:
        return None
    from datetime import datetime

    try:
        moment = datetime.fromisoformat(f"{found[1]} {found[2]}")
    except ValueError:
        return None
    return moment.replace(microsecond=int((found[3] or "").ljust(6, "0")[:6] or 0))

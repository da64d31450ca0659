"""What the options that offer a choice may be given."""

from __future__ import annotations

FORMATS = ("terminal", "json", "jsonl", "markdown")
COLORS = ("auto", "always", "never")
LEVELS = ("error", "warning", "never")

"""The named checks on records: what a record must be before it may ship.

Each check is a function of one entry and the book it stands in, and says what is wrong by `entry.says`. What
it promises is its docstring.
"""

# In the order in which they run.
from explain.authoring.checks import schema, pattern, firing, prose, commands, facts, fits  # noqa: F401, I001
from explain.authoring.checks.registry import CHECKS, Check

__all__ = ["CHECKS", "Check"]

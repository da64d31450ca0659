"""Regular expressions that are compiled when they are first used: a short run needs a few of hundreds."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast

_METHODS = ("match", "search", "fullmatch", "finditer", "findall", "sub", "split", "pattern")


class _Expression:
    """Stands for a compiled expression. After the first use, its methods are those of the compiled one."""

    __slots__ = ("_given", *_METHODS)

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._given = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        pattern, flags = self._given
        compiled = re.compile(pattern, flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def expression(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """The expression; one that is wrong raises `re.error` where it is used first."""
    return cast("re.Pattern[AnyStr]", _Expression(pattern, flags))

"""The flags of a launch command, under the names that servers print their arguments by.

Only what the command says is known: no default is filled in. Flags that no release has are left out.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from explain.expressions import expression
from explain.registry import FlagInfo, registry

__all__ = ["arguments_of"]

_NUMBER = expression(r"-?\d{1,15}(?:\.\d{1,9})?(?:[eE]-?\d{1,2})?")
_START = expression(r"sglang\.launch_server|sglang\s+serve\b")
_ENDS = frozenset({"|", "||", "&", "&&", ";", ">", ">>", "2>", "2>&1", "&>"})
MAX_WORDS = 1000
_TEXTS = ("path", "name", "host", "addr", "key", "template", "revision", "password", "url")
"""What such arguments hold is text, even where it is made of digits."""


def arguments_of(command: str) -> dict[str, Any]:
    """The arguments that a launch command sets; a flag without a value is True.

    `--tp 8`, `--tp-size 8` and `--tp=8` are the same. A value that the command leaves to the shell (`$TP`) is not
    known.
    """
    begun = _START.search(command)
    if begun is None:
        return {}
    words = _words(command[begun.end() :])
    found: dict[str, Any] = {}
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word in _ENDS:
            break
        if not word.startswith("--"):
            if index == 1 and not word.startswith("-"):
                found["model_path"] = word  # `sglang serve MODEL`
            continue
        flag, has_value, value = word.partition("=")
        info = _flag(flag)
        values = [value] if has_value else []
        while not has_value and index < len(words) and not _is_flag(words[index]):
            values.append(words[index])
            index += 1
        if info is None or any("$" in one or "{{" in one for one in values):
            continue
        name = _field(info)
        if not values:
            found[name] = True
        elif len(values) == 1:
            found[name] = values[0] if name.endswith(_TEXTS) else _value(values[0])
        else:
            found[name] = [_value(one) for one in values]
    return found


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text, posix=True)
    except ValueError:  # a quote that the log cut: what follows it is one value, and not whole
        words = []
        for word in text.split():
            if word.count("'") % 2 or word.count('"') % 2:
                return words[: -1 if words and _is_flag(words[-1]) else None][:MAX_WORDS]
            words.append(word.strip("'\""))
    return words[:MAX_WORDS]


def _is_flag(word: str) -> bool:
    return word in _ENDS or (word.startswith("-") and _NUMBER.fullmatch(word) is None)


@lru_cache(maxsize=1)
def _by_flag() -> Mapping[str, FlagInfo]:
    found: dict[str, FlagInfo] = {}
    for info in registry().server_flags():
        for flag in (info.name, *info.aliases):
            found.setdefault(flag.replace("_", "-"), info)
    return found


def _flag(flag: str) -> FlagInfo | None:
    """The server's flag of that name, or the one whose beginning it is, as the parser understands it."""
    known = _by_flag()
    flag = flag.replace("_", "-")
    for whole in (flag, f"{flag}-size"):
        if whole in known:
            return known[whole]
    fields = {info.field: info for name, info in known.items() if name.startswith(flag)} if len(flag) > 3 else {}
    return next(iter(fields.values())) if len(fields) == 1 else None


def _field(info: FlagInfo) -> str:
    """The name that servers print; that of the flag, where one field took in another."""
    own = info.name.lstrip("-").replace("-", "_")
    return own if own in registry().fields else info.field


def _value(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text or "e" in text.lower() else int(text)
    return text

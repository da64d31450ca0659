"""Whether advice in prose is already followed.

Only what the text says plainly is judged: an imperative at the start (`Add`, `Set`, `Use`) and flags with
their values in its first sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from explain.expressions import expression
from explain.model import LaunchContext
from explain.registry import FlagInfo, registry, releases_of
from explain.relevance import FLAG, SENTENCE, UNJOINED

_VERB = expression(r"\W*(?P<verb>[A-Za-z]+)")
_FLAG = expression(rf"{UNJOINED}(?P<flag>{FLAG})(?:[ =](?P<value>[\w./-]+))?")
_SENTENCE = expression(SENTENCE)
_ADDS = frozenset(
    {"add", "set", "use", "pass", "enable", "specify", "choose", "give", "select", "start", "launch", "try", "serve"}
)
_REMOVES = frozenset({"remove", "drop", "omit", "unset"})
_OTHERWISE = expression(r"\b(?:or|instead of|remove|drop|upgrade)\b|\bwithout `?--")
"""Behind these words stands something else that may help."""
_MORE = expression(r"(?<!\bto )\b(?:set|add|use|pass|bound|raise|lower|upgrade|load|restrict)\b")
# Expressions that few solutions need are text: `re` compiles and keeps them on first use.
_BOUND = r"\W*(?:Lower|Reduce|Raise|Increase) `?--[\w-]+`?(?: (?:further )?from \S+)? to (?P<first>\d[\d.]*)"
_NUMBER = r"(?<![\w.-])\d+(?:\.\d+)?(?![\w.]*\w)"
_WITHOUT = (
    r"\W*(?:start|run|serve|launch|restart|test)\b[^`.;]{0,40}\bwithout `?--|\W*(?:turn|switch) off `?--"
    r"|\W*leave `?--[\w-]+`?(?: [\w.]+)? out\b"
)
_UPGRADE = (
    r"\W*upgrade (?:SGLang )?(?P<how>to|past|beyond) (?P<release>0\.\d+\.\d+(?:\.post\d+)?)"
    r"(?: or (?:later|newer|above))?(?! image)"
)
_OFF: tuple[object, ...] = (None, False, "", [], {})
_PROSE = frozenset({"on", "or", "and", "to", "for", "if", "in", "with", "as", "is", "only", "below", "above", "by"})


def note_on(solution: str, context: LaunchContext) -> str | None:
    """Why a solution is not worth trying first on this server, as a short note; None where nothing speaks
    against it."""
    if upgrade := _upgraded(solution, context.sglang_version):
        return upgrade
    verb = found["verb"].lower() if (found := _VERB.match(solution)) else ""
    sentence = _SENTENCE.split(solution, maxsplit=1)[0]
    named = [
        (info, one["value"]) for one in _FLAG.finditer(sentence) if (info := _server_flag(one["flag"])) is not None
    ]
    if not named:
        return None
    removes = verb in _REMOVES or re.match(_WITHOUT, sentence.lower())
    if verb in _ADDS and not removes and not _OTHERWISE.search(sentence):
        there = [_in_place(info, value, context) for info, value in named]
        if all(there):
            return f"you already have {_listed([_as_set(info, context) for info, _ in named])}"
    if verb in ("lower", "reduce", "raise", "increase") and (bound := _within(sentence, named, context)):
        return bound
    if removes and not _MORE.search(_FLAG.sub("", sentence)) and all(_is_off(info, context) for info, _ in named):
        names = dict.fromkeys(info.name for info, _ in named)
        return f"{_listed(list(names))} {'is' if len(names) == 1 else 'are'} not set here"
    return None


def _within(sentence: str, named: Sequence[tuple[FlagInfo, str | None]], context: LaunchContext) -> str | None:
    """Whether a number is as low, or as high, as a sentence tells to make it; of several the last one counts."""
    found = re.match(_BOUND, sentence)
    actual = context.server_args.get(_field(named[0][0], context)) if found and len(named) == 1 else None
    if found is None or isinstance(actual, bool) or not isinstance(actual, int | float) or actual <= 0:
        return None
    wanted = [float(one) for one in re.findall(_NUMBER, sentence[found.start("first") :])]
    lower = "Lower" in found[0] or "Reduce" in found[0]
    if not wanted or not (actual <= min(wanted) if lower else actual >= max(wanted)):
        return None
    return f"`{named[0][0].name}` is {actual} already"


def _upgraded(solution: str, version: str | None) -> str | None:
    """Whether the release that a solution asks for, or a later one, wrote the log."""
    if "pgrade " not in solution:
        return None
    asked = re.match(_UPGRADE, solution[:1].lower() + solution[1:])
    numbers = releases_of(version)
    if (
        asked is None
        or _OTHERWISE.search(_SENTENCE.split(solution[asked.end() :], maxsplit=1)[0])
        or not numbers
        or asked["release"] not in registry().versions
    ):
        return None
    least = registry().versions.index(asked["release"]) + (asked["how"] != "to")
    return f"this is SGLang {version} already" if min(numbers) >= least else None


def _field(info: FlagInfo, context: LaunchContext) -> str:
    """The argument as this release prints it: a flag that was renamed later had its own name then."""
    own = info.name.lstrip("-").replace("-", "_")
    return own if own in context.server_args else info.field


def _as_set(info: FlagInfo, context: LaunchContext) -> str:
    value = context.server_args[_field(info, context)]
    return info.name if value is True else f"{info.name} {value}"


def _server_flag(flag: str) -> FlagInfo | None:
    return next((info for info in registry().flag_infos(flag) if info.command == "server"), None)


def _in_place(info: FlagInfo, value: str | None, context: LaunchContext) -> bool:
    """Whether the server runs with this flag, and with this value where one is named."""
    actual = context.server_args.get(_field(info, context))
    if actual is True:
        return True
    if value is None or value in _PROSE or isinstance(actual, bool) or actual is None:
        return False
    return _same(actual, value)


def _same(actual: Any, value: str) -> bool:
    if isinstance(actual, int | float):
        try:
            return float(value) == float(actual)
        except (ValueError, OverflowError):
            return False
    return str(actual) == value


def _is_off(info: FlagInfo, context: LaunchContext) -> bool:
    field = _field(info, context)
    return field in context.server_args and context.server_args[field] in _OFF


def _listed(names: Sequence[str]) -> str:
    return " and ".join(f"`{name}`" for name in dict.fromkeys(names))

"""Whether advice in prose is already followed, or names flags that the release lacks.

Only what the text says plainly is judged: an imperative at the start (`Add`, `Set`, `Use`) and flags with
their values in its first sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from explain.conditions import releases_of
from explain.expressions import expression
from explain.model import LaunchContext
from explain.registry import FlagInfo, registry

_VERB = expression(r"\W*(?P<verb>[A-Za-z]+)")
_FLAG = expression(r"(?<![\w-])(?P<flag>--[a-z][a-z0-9-]*[a-z0-9])(?:[ =](?P<value>[\w./-]+))?")
_SENTENCE = expression(r"(?<=[a-z`)\d])[.;:](?:\s|$)")
_ADDS = frozenset({"add", "set", "use", "pass", "enable", "specify", "choose", "give", "select", "start", "launch"})
_REMOVES = frozenset({"remove", "drop", "omit", "unset"})
_OTHERWISE = expression(r"\b(?:or|without|instead of|remove|drop|upgrade)\b")
"""Behind these words stands something else that may help."""
_MORE = expression(r"\b(?:set|add|use|pass|bound|raise|lower|upgrade|load|restrict)\b")
_OFF: tuple[object, ...] = (None, False, "", [], {})
_PROSE = frozenset({"on", "or", "and", "to", "for", "if", "in", "with", "as", "is", "only", "below", "above", "by"})


def note_on(solution: str, context: LaunchContext, *, fitted: bool = False) -> str | None:
    """Why a solution is not worth trying first on this server, as a short note; None where nothing speaks
    against it.

    Of a `fitted` one the record's author knew what is set; only the release may lack its flags.
    """
    verb = found["verb"].lower() if (found := _VERB.match(solution)) else ""
    sentence = _SENTENCE.split(solution, maxsplit=1)[0]
    named = [
        (info, one["value"]) for one in _FLAG.finditer(sentence) if (info := _server_flag(one["flag"])) is not None
    ]
    if not named or verb == "upgrade":
        return None
    lacking = _lacking([info for info, _ in named], context.sglang_version)
    if lacking:
        release = context.sglang_version or ""
        return f"SGLang {release} has no {_listed(lacking)}"
    if fitted:
        return None
    if verb in _ADDS and not _OTHERWISE.search(sentence):
        there = [_in_place(info, value, context) for info, value in named]
        if all(there):
            return f"you already have {_listed([_as_set(info, context) for info, _ in named])}"
    if verb in _REMOVES and not _MORE.search(sentence) and all(_is_off(info, context) for info, _ in named):
        names = dict.fromkeys(info.name for info, _ in named)
        return f"{_listed(list(names))} {'is' if len(names) == 1 else 'are'} not set here"
    return None


def _as_set(info: FlagInfo, context: LaunchContext) -> str:
    value = context.server_args[info.field]
    return info.name if value is True else f"{info.name} {value}"


def _server_flag(flag: str) -> FlagInfo | None:
    return next((info for info in registry().flag_infos(flag) if info.command == "server"), None)


def _lacking(infos: Sequence[FlagInfo], version: str | None) -> list[str]:
    """The flags' names where no release that may have written the log has any of them."""
    numbers = releases_of(version)
    if not numbers:
        return []
    versions = [registry().versions[number] for number in numbers]
    have = any(version in other.releases for info in infos for other in _spellings(info) for version in versions)
    return [] if have else [info.name for info in infos]


def _spellings(info: FlagInfo) -> tuple[FlagInfo, ...]:
    return tuple(one for one in registry().flag_infos(info.name) if one.command == "server")


def _in_place(info: FlagInfo, value: str | None, context: LaunchContext) -> bool:
    """Whether the server runs with this flag, and with this value where one is named."""
    if info.field not in context.server_args:
        return False
    actual = context.server_args[info.field]
    if actual is True:
        return True
    if value is None or value in _PROSE or isinstance(actual, bool) or actual in _OFF:
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
    return info.field in context.server_args and context.server_args[info.field] in _OFF


def _listed(names: Sequence[str]) -> str:
    return " and ".join(f"`{name}`" for name in dict.fromkeys(names))

"""Which server arguments were chosen: those that differ from what the release takes by itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from explain.registry import FlagInfo, registry, releases_of

_NEVER = frozenset({"random_seed", "nccl_port", "server_uuid", "served_model_name", "tokenizer_path"})
"""Arguments that differ from start to start, or repeat another one."""
_OFF: tuple[object, ...] = (None, False, "", [], {})


def chosen_arguments(args: Mapping[str, Any], version: str | None) -> dict[str, Any]:
    """The arguments whose values are no default of any release that may have written the log.

    Where no default is known, those that are set. Releases resolve some values themselves before they print
    them, so a few that nobody chose may be among them: `worked_out` tells which.
    """
    known = _known()
    versions = _versions(version)
    return {
        name: value
        for name, value in args.items()
        if name not in _NEVER
        and value not in _OFF
        and not any(
            default == value and isinstance(default, bool) == isinstance(value, bool)
            for default in _defaults(known.get(name, []), versions)
        )
    }


def worked_out(chosen: Mapping[str, Any], version: str | None, command: str | None) -> frozenset[str]:
    """Those of the chosen arguments that the server may have set by itself.

    Their default is none, or not known, and the launch command, where the log shows it, does not name them.
    """
    known = _known()
    versions = _versions(version)
    words = set(re.findall(r"--[a-z][\w-]*", command or ""))
    return frozenset(
        name
        for name in chosen
        if all(default is None for default in _defaults(known.get(name, []), versions))
        and not any(words & {info.name, *info.aliases} for info in known.get(name, []))
    )


def _known() -> dict[str, list[FlagInfo]]:
    known: dict[str, list[FlagInfo]] = {}
    for info in registry().server_flags():
        known.setdefault(info.field, []).append(info)
    return known


def _versions(version: str | None) -> set[str]:
    return {registry().versions[number] for number in releases_of(version)} or set(registry().versions)


def _defaults(infos: list[FlagInfo], versions: set[str]) -> Iterator[Any]:
    """The defaults that the releases have."""
    order = registry().order
    for info in infos:
        for span, default in info.defaults.items():
            for part in span.split(","):
                first, _, last = part.partition("..")
                low, high = order.get(first, 0), order.get(last or first, len(order))
                if any(low <= order[version] <= high for version in versions):
                    yield default

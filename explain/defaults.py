"""Which server arguments were chosen: those that differ from what the release takes by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from explain.conditions import releases_of
from explain.registry import FlagInfo, registry

_NEVER = frozenset({"random_seed", "nccl_port", "server_uuid", "served_model_name", "tokenizer_path"})
"""Arguments that differ from start to start, or repeat another one."""
_OFF: tuple[object, ...] = (None, False, "", [], {})


def chosen_arguments(args: Mapping[str, Any], version: str | None) -> dict[str, Any]:
    """The arguments whose values are no default of any release that may have written the log.

    Where no default is known, those that are set. Releases resolve some values themselves before they print
    them, so a few that nobody chose may be among them.
    """
    known: dict[str, list[FlagInfo]] = {}
    for info in registry().server_flags():
        known.setdefault(info.field, []).append(info)
    versions = {registry().versions[number] for number in releases_of(version)} or set(registry().versions)
    return {
        name: value
        for name, value in args.items()
        if name not in _NEVER and value not in _OFF and not _is_default(value, known.get(name, []), versions)
    }


def _is_default(value: Any, infos: list[FlagInfo], versions: set[str]) -> bool:
    order = {name: number for number, name in enumerate(registry().versions)}
    for info in infos:
        for span, default in info.defaults.items():
            if default != value or isinstance(default, bool) != isinstance(value, bool):
                continue
            for part in span.split(","):
                first, _, last = part.partition("..")
                low, high = order.get(first, 0), order.get(last or first, len(order))
                if any(low <= order[version] <= high for version in versions):
                    return True
    return False

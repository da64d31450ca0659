"""The names that SGLang's releases know, as the checks ask for them: releases are numbers, 0 the oldest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cached_property

from explain.registry import Registry
from explain.sitefacts import release_numbers
from explain.sitepack import shipped_pack
from explain.sitereader import SitePack

FILE = re.compile(rb'\["(sglang/[^"]+\.py)"')

Releases = frozenset[int]
NONE: Releases = frozenset()


class Names:
    """Looks up flags, environment variables, files and functions in a site index.

    Where no index was built it knows nothing, and `known` is false: then nothing can be checked.
    """

    def __init__(self, pack: SitePack) -> None:
        self._pack = pack
        self._registry = Registry(pack)
        self.versions = pack.versions

    @classmethod
    def load(cls) -> Names:
        return cls(shipped_pack())

    @property
    def known(self) -> bool:
        return bool(self.versions) and bool(self._flags)

    @property
    def newest(self) -> int:
        return len(self.versions) - 1

    def number(self, version: str) -> int | None:
        return self._pack.order.get(version)

    @cached_property
    def _flags(self) -> Mapping[str, Releases]:
        """Every spelling of every command's flags."""
        return self._spellings(server=False)

    @cached_property
    def _server_flags(self) -> Mapping[str, Releases]:
        return self._spellings(server=True)

    def _spellings(self, *, server: bool) -> Mapping[str, Releases]:
        found: dict[str, Releases] = {}
        for row in self._pack.registry("flags"):
            if not server or row["command"] == "server":
                releases = frozenset(release_numbers(row["releases"], self._pack.order))
                for name in (row["flag"], *row.get("aliases", ())):
                    found[name] = found.get(name, NONE) | releases
        return found

    def flag(self, name: str, *, server: bool = False) -> Releases:
        """The releases that take a flag; of the server only, or of any of SGLang's commands.

        `--tp` counts as `--tp-size`: the command line takes it, and people write it.
        """
        table = self._server_flags if server else self._flags
        return table.get(name) or self._server_flags.get(f"{name}-size", NONE)

    def flags_starting(self, beginning: str) -> bool:
        return any(name.startswith(beginning) for name in self._flags)

    def similar_flags(self, name: str) -> list[str]:
        return get_close_matches(name, self._flags, 2, 0.7)

    @cached_property
    def _variables(self) -> Mapping[str, Releases]:
        rows = self._pack.registry("environment")
        return {row["variable"]: frozenset(release_numbers(row["releases"], self._pack.order)) for row in rows}

    def variable(self, name: str) -> Releases:
        return self._variables.get(name, NONE)

    def similar_variables(self, name: str) -> list[str]:
        return get_close_matches(name, self._variables, 2, 0.8)

    @cached_property
    def files(self) -> frozenset[str]:
        """Every file of any release that the index knows. Paths start at `sglang/`.

        An index that lists no files still knows those with an error site.
        """
        if listed := self._registry.files():
            return listed
        found = {name for line in self._pack.lines() for name in FILE.findall(line)}
        return frozenset(name.decode() for name in found)

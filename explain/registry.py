"""Which command-line flags, server arguments and environment variables each release of SGLang has.

Answers come from the shipped site index. A flag is asked for as it is typed (`--enable-hicache`), with any
of its spellings; `--flag=value` and the two spellings of a word break are understood.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from explain import values
from explain.sitefacts import normalised, release_numbers
from explain.sitepack import SitePack, shipped_pack
from explain.values import dataclass


@dataclass(frozen=True, slots=True)
class FlagInfo:
    """One spelling of a command-line flag.

    `command` is `server`, `diffusion`, or the module whose flag it is. `releases` are all releases that have
    this spelling; `alias_of` is the flag's first spelling. `choices_in` maps releases to the values that only they
    take, where that changed. `defaults` maps releases (`0.5.1..0.5.3`) to the
    default they have, with several entries where it changed. `renamed_to` is what a deprecated flag tells to
    use instead.
    """

    name: str
    command: str
    aliases: tuple[str, ...]
    field: str
    releases: tuple[str, ...]
    gone: bool
    choices: tuple[Any, ...] = ()
    choices_in: Mapping[str, tuple[Any, ...]] = values.field(default_factory=dict)
    defaults: Mapping[str, Any] = values.field(default_factory=dict)
    renamed_to: str = ""
    deprecated: bool = False
    alias_of: str = ""

    @property
    def first_version(self) -> str:
        return self.releases[0]

    @property
    def last_version(self) -> str:
        return self.releases[-1]


@dataclass(frozen=True, slots=True)
class EnvironmentInfo:
    """One environment variable and the releases whose source names it."""

    name: str
    releases: tuple[str, ...]
    gone: bool
    default: Any = None


class Registry:
    """Flags, server arguments and environment variables of an index."""

    def __init__(self, pack: SitePack) -> None:
        self._pack = pack
        self.order: Mapping[str, int] = pack.order
        """The number of each release."""

    def _releases(self, intervals: str) -> tuple[str, ...]:
        return tuple(self._pack.versions[number] for number in release_numbers(intervals, self.order))

    @cached_property
    def _server_flags(self) -> list[dict[str, Any]]:
        """Every row of the server's flags; those of one flag stand together."""
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self._pack.registry("flags"):
            if row["command"] == "server":
                found.setdefault(normalised(row["flag"]), []).append(row)
        return [row for rows in found.values() for row in rows]

    @property
    def fields(self) -> Mapping[str, str]:
        """The server arguments, with the releases that print them (`0.5.1..0.5.3,0.5.6`)."""
        return self._pack.fields

    def flag_infos(self, flag: str) -> tuple[FlagInfo, ...]:
        """All flags of that spelling, the server's first."""
        first = {"server": 0, "diffusion": 1}
        rows = self._pack.rows_named("flags", normalised(flag))
        return tuple(self._info(row) for row in sorted(rows, key=lambda row: first.get(row["command"], 2)))

    def server_flags(self) -> tuple[FlagInfo, ...]:
        """Every flag of the server, under its first spelling."""
        return tuple(self._info(row) for row in self._server_flags if not row.get("alias_of"))

    def same_flags(self) -> Iterator[tuple[str, str]]:
        """Pairs of names of one option of the server: its aliases, and what SGLang's own notices tell to use instead
        where that does the same (`--cuda-graph-backend-prefill disabled` for one that was a switch)."""
        fields = {row["flag"]: _field(row) for row in self._server_flags}
        for row in self._server_flags:
            renamed = row.get("renamed_to", "")
            if "=" in renamed and not set("{<") & set(renamed):
                yield row["flag"], renamed.replace("=", " ")
            elif renamed and fields.get(renamed) == _field(row):
                yield row["flag"], renamed
            for alias in row.get("aliases", ()):
                yield row["flag"], alias

    def _info(self, row: Mapping[str, Any]) -> FlagInfo:
        releases = self._releases(row["releases"])
        default = row.get("defaults") or ({row["releases"]: row["default"]} if "default" in row else {})
        return FlagInfo(
            name=row["flag"],
            command=row["command"],
            aliases=tuple(row.get("aliases", ())),
            field=_field(row),
            releases=releases,
            gone=releases[-1] != self._pack.versions[-1],
            choices=tuple(row.get("choices", ())),
            choices_in={releases: tuple(values) for releases, values in row.get("choices_in", {}).items()},
            defaults=default,
            renamed_to=row.get("renamed_to", ""),
            deprecated=bool(row.get("deprecated")),
            alias_of=row.get("alias_of", ""),
        )

    def choice_releases(self, info: FlagInfo, value: str) -> tuple[frozenset[str], frozenset[str]] | None:
        """The releases in which a flag takes a value, and those in which it is known what it takes.

        None where no release lists the value, or all of them do.
        """
        named = {releases: frozenset(self._releases(releases)) for releases in info.choices_in}
        having = [named[releases] for releases, values in info.choices_in.items() if value in map(str, values)]
        return (frozenset().union(*having), frozenset().union(*named.values())) if having else None

    def environment_info(self, name: str) -> EnvironmentInfo | None:
        rows = self._pack.rows_named("environment", name.strip().lstrip("$").partition("=")[0])
        if not rows:
            return None
        row = rows[-1]
        releases = self._releases(row["releases"])
        return EnvironmentInfo(row["variable"], releases, releases[-1] != self._pack.versions[-1], row.get("default"))

    def fields_of(self, version: str) -> tuple[str, ...]:
        """The server arguments that a release prints, sorted."""
        number = self.order.get(version)
        fields = self.fields.items()
        return tuple(sorted(name for name, spans in fields if number in release_numbers(spans, self.order)))

    def files(self) -> frozenset[str]:
        """Every file of any release that holds a site."""
        return frozenset(self._pack.section("extra files").decode().split())

    @property
    def versions(self) -> Sequence[str]:
        return self._pack.versions


def _field(row: Mapping[str, Any]) -> str:
    return str(row.get("field") or row["flag"].lstrip("-").replace("-", "_"))


@lru_cache(maxsize=1)
def registry() -> Registry:
    """The shipped registry; without entries where no index was built."""
    return Registry(shipped_pack())


@lru_cache(maxsize=64)
def releases_of(version: str | None) -> tuple[int, ...]:
    """The numbers of the releases that `0.5.6` or `0.5.6 to 0.5.9` names."""
    if not version:
        return ()
    versions = list(registry().versions)
    first, _, last = version.partition(" to ")
    if (last or first) not in versions:
        return ()
    low = versions.index(first) if first in versions else 0
    return tuple(range(low, versions.index(last or first) + 1))


def flag_info(flag: str) -> FlagInfo | None:
    """What is known of a flag, the server's before other commands'; None for no flag of any release."""
    found = registry().flag_infos(flag)
    return found[0] if found else None


def flag_exists(flag: str, version: str | None = None) -> bool:
    """Whether a release has the flag, under this spelling; without a release, whether any has."""
    return any(version is None or version in info.releases for info in registry().flag_infos(flag))


def env_exists(name: str, version: str | None = None) -> bool:
    """Whether a release knows the environment variable; without a release, whether any does."""
    info = registry().environment_info(name)
    return info is not None and (version is None or version in info.releases)


def file_exists(path: str) -> bool:
    """Whether any release has the file. `path` starts at `sglang/`; a folder ends in `/`."""
    files = registry().files()
    return path in files if not path.endswith("/") else any(file.startswith(path) for file in files)

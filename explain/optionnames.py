"""Which releases have an option of SGLang, and what others call it.

An option is a flag (`--tp-size`), a flag with a value (`--attention-backend fa4`), or a variable (`SGLANG_X`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from explain.registry import FlagInfo, registry

Releases = frozenset[int]

_SAME = (
    ("--disable-disk-cache", "--disable-outlines-disk-cache"),
    ("--enable-deepep-moe", "--moe-a2a-backend deepep"),
    ("--enable-nsa-prefill-context-parallel", "--enable-dsa-prefill-context-parallel"),
    ("--enable-dsa-prefill-context-parallel", "--enable-prefill-cp"),
    ("--enable-nsa-prefill-context-parallel", "--enable-prefill-cp"),
    ("--enable-flashinfer-mla", "--attention-backend flashinfer"),
    ("--enable-flashmla", "--attention-backend flashmla"),
    ("--disable-flashinfer-sampling", "--sampling-backend pytorch"),
)
"""An option and what later releases have in its place, beyond what their own notices say."""
_NUMBERED = (("--attn-dp-size", "--dp-size {} --enable-dp-attention"),)
"""The same for options with a number, which had to be given in other words before."""


@lru_cache(maxsize=4096)
def releases_having(option: str, diffusion: bool) -> Releases | None:
    """The releases that have a flag, a flag with a value, or a variable; None for what none has."""
    known = registry()
    order = known.order
    if not option.startswith("-"):
        info = known.environment_info(option)
        return frozenset(order[version] for version in info.releases) if info else None
    name, _, value = option.partition(" ")
    commands = ("server", "diffusion") if diffusion else ("server",)
    infos = [one for one in known.flag_infos(name) if one.command in commands and one.name == name]
    if not infos:
        return None
    having = frozenset(order[version] for one in infos for version in one.releases)
    return having & _taking(infos, value, order) if value else having


def _taking(infos: Sequence[FlagInfo], value: str, order: Mapping[str, int]) -> Releases:
    """The releases in which a flag may take a value: those that list it, and those that list none."""
    every = frozenset(order.values())
    for info in infos:
        if (found := registry().choice_releases(info, value)) is not None:
            taking, listing = (frozenset(order[version] for version in versions) for versions in found)
            return taking | (every - listing)
    return every


@lru_cache(maxsize=1)
def _pairs() -> dict[str, tuple[str, ...]]:
    """For each option, the other names that it has or had."""
    found: dict[str, dict[str, None]] = {}

    def same(one: str, other: str) -> None:
        found.setdefault(one, {}).setdefault(other)
        found.setdefault(other, {}).setdefault(one)

    for one, other in registry().same_flags():
        same(one, other)
    for one, other in _SAME:
        same(one, other)
    return {name: tuple(others) for name, others in found.items()}


def other_names(option: str) -> tuple[str, ...]:
    """What an option is or was called in other releases, with its value where it has one."""
    if option.startswith("SGLANG_"):
        return (f"SGL_{option.removeprefix('SGLANG_')}",)
    if option.startswith("SGL_"):
        return (f"SGLANG_{option.removeprefix('SGL_')}",)
    plain = option.replace("=", " ")
    name, _, value = plain.partition(" ")
    found = [*_pairs().get(plain, ()), *(f"{other} {value}" for other in _pairs().get(name, ()) if value)]
    found += [words.format(value) for numbered, words in _NUMBERED if numbered == name and value.isdigit()]
    return tuple(found)

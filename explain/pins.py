"""The packages that each release of SGLang asks for by an exact version.

From the `Requires-Dist` lines of its wheels (for NVIDIA GPUs, where an extra differs). `0.5.2=4.56.1` says that
releases from 0.5.2 on ask for 4.56.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from explain.registry import registry

_TRANSFORMERS = (
    "0.4.3.post3=4.48.3 0.4.4.post2=4.50.0 0.4.4.post4=4.51.0 0.4.5.post1=4.51.1 0.4.7=4.52.3 0.4.9=4.53.0 "
    "0.4.9.post3=4.53.2 0.4.9.post5=4.54.0 0.4.10=4.54.1 0.5.1=4.55.2 0.5.2=4.56.1 0.5.3=4.57.0 "
    "0.5.3.post2=4.57.1 0.5.6.post1=5.0.0rc0 0.5.6.post2=4.57.1 0.5.10=5.3.0 0.5.11=5.6.0 0.5.13=5.8.1 "
    "0.5.15=5.12.1 0.5.22=5.19.0"
)
_FLASHINFER = (
    "0.4.3.post3=0.2.2.post1 0.4.4=0.2.3 0.4.6.post2=0.2.5 0.4.7=0.2.6.post1 0.4.9=0.2.7.post1 "
    "0.4.9.post4=0.2.9rc1 0.4.9.post5=0.2.9rc2 0.5.1=0.2.11.post3 0.5.1.post2=0.2.14.post1 0.5.2=0.3.1 "
    "0.5.3=0.4.0rc3 0.5.3.post1=0.4.0 0.5.4=0.4.1 0.5.4.post3=0.5.0 0.5.5.post3=0.5.2 0.5.6=0.5.3 0.5.8=0.6.1 "
    "0.5.9=0.6.3 0.5.10=0.6.7.post2 0.5.10.post1=0.6.7.post3 0.5.11=0.6.8.post1 0.5.12=0.6.11.post1 "
    "0.5.13=0.6.12 0.5.16=0.6.14 0.5.17=0.6.15.post1 0.5.18=0.6.17 0.5.19=0.6.18 0.5.22=0.7.1 0.5.23=0.7.2"
)
_KERNEL = (
    "0.4.3.post3=0.0.3.post6 0.4.4=0.0.5 0.4.4.post2=0.0.5.post3 0.4.4.post3=0.0.5.post4 0.4.4.post4=0.0.8 "
    "0.4.5.post1=0.0.9.post1 0.4.5.post2=0.0.9.post2 0.4.6.post1=0.1.0 0.4.6.post2=0.1.1 "
    "0.4.6.post4=0.1.2.post1 0.4.6.post5=0.1.4 0.4.7=0.1.7 0.4.7.post1=0.1.9 0.4.9=0.2.4 0.4.9.post2=0.2.5 "
    "0.4.9.post3=0.2.6.post1 0.4.9.post4=0.2.7 0.4.10=0.2.8 0.5.1=0.3.5 0.5.1.post3=0.3.7 0.5.2=0.3.9.post2 "
    "0.5.3=0.3.14.post1 0.5.3.post1=0.3.15 0.5.4=0.3.16.post3 0.5.4.post1=0.3.16.post4 0.5.5=0.3.16.post5 "
    "0.5.5.post1=0.3.17 0.5.5.post3=0.3.17.post1 0.5.6=0.3.18.post2 0.5.6.post1=0.3.19 0.5.7=0.3.20 "
    "0.5.8=0.3.21 0.5.10=0.4.1 0.5.11=0.4.2 0.5.12=0.4.2.post2 0.5.13=0.4.3 0.5.14=0.4.4 0.5.16=0.4.5 "
    "0.5.18=0.4.6.post1 0.5.20=0.4.7 0.5.22=0.4.9 0.5.23=0.4.10"
)
_TORCH = (
    "0.4.3.post3=2.5.1 0.4.5.post3=2.6.0 0.4.7=2.7.1 0.5.1=2.8.0 0.5.6=2.9.1 0.5.11=2.11.0 0.5.18=2.13.0 0.5.22=2.14.1"
)
PINS = {
    "needs_transformers": _TRANSFORMERS,
    "needs_flashinfer": _FLASHINFER,
    "needs_kernel": _KERNEL,
    "needs_torch": _TORCH,
}
"""What texts of `fits` may name. The kernel comes with its package, whose name changed: `sglang-kernel==0.4.1`."""
KERNEL_RENAMED = "0.5.10"


def pinned(name: str, releases: Sequence[int]) -> str | None:
    """The version that all these releases ask for; None where they differ or one names none."""
    found = {_pin(name, number) for number in releases}
    return found.pop() if len(found) == 1 else None


@lru_cache(maxsize=256)
def _pin(name: str, release: int) -> str | None:
    order = registry().order
    pin = None
    for row in PINS[name].split():
        version, _, asked = row.partition("=")
        if order.get(version, release + 1) > release:
            break
        pin = asked
    if pin is not None and name == "needs_kernel":
        package = "sglang-kernel" if release >= order.get(KERNEL_RENAMED, 0) else "sgl-kernel"
        return f"{package}=={pin}"
    return pin

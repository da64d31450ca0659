"""Reads SGLang server logs and says which failure it is, why it happened and what to do about it.

    from explain import explain, Catalogue

    report = explain("server.log")
    print(report.findings[0].record.title)

The modules behind these names are loaded when they are first used: importing the package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explain.catalogue import Catalogue
    from explain.library import explain
    from explain.model import Report

__version__ = "0.1.0"
__all__ = ["Catalogue", "Report", "explain"]

_HOMES = {
    "Catalogue": "explain.catalogue",
    "Report": "explain.model",
    "explain": "explain.library",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

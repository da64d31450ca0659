"""From an exception's class and arguments to the message a traceback prints."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence

from explain.authoring.harvest_format import Text, tuple_text
from explain.authoring.harvest_module import ExceptionClass
from explain.authoring.harvest_place import RawSite
from explain.templates import Part, Slot, joined

OS_ERRORS = {name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, OSError)}


def printed(site: RawSite, classes: Mapping[str, ExceptionClass]) -> tuple[Text, bool]:
    """The text after `Class: `, empty where the exception is raised without one; and whether it is printed
    as `repr` prints it, as every `KeyError` does."""
    if site.kind not in ("raise", "assert"):
        return (site.arguments[0] if site.arguments else ()), False
    name = site.exception or ""
    text = _message(name, site.arguments, dict(site.keywords), classes, 0)
    return text, len(site.arguments) == 1 and "KeyError" in ancestors(name, classes)


def ancestors(name: str, classes: Mapping[str, ExceptionClass]) -> set[str]:
    """The class and every class it is made from, as far as the release's source says."""
    found: set[str] = set()
    pending = [name]
    while pending:
        here = pending.pop()
        if here not in found:
            found.add(here)
            pending += classes[here].bases if here in classes else ()
    return found


def _message(
    name: str,
    arguments: Sequence[Text],
    keywords: Mapping[str, Text],
    classes: Mapping[str, ExceptionClass],
    depth: int,
) -> Text:
    own = classes.get(name)
    if own is None or depth > 5:
        return _builtin(name, arguments)
    if own.message is None:
        base = next(
            (base for base in own.bases if base in classes and base != name),
            own.bases[0] if own.bases else "",
        )
        return _message(base, arguments, keywords, classes, depth + 1)
    values = dict(zip(own.parameters, arguments, strict=False)) | dict(keywords)
    filled: list[Part] = []
    for part in own.message:
        filled += values[part.name] if isinstance(part, Slot) and part.name in values else (part,)
    return joined(filled)


def _builtin(name: str, arguments: Sequence[Text]) -> Text:
    if len(arguments) < 2:
        return arguments[0] if arguments else ()
    if name in OS_ERRORS:
        parts: list[Part] = ["[Errno ", *arguments[0], "] ", *arguments[1]]
        if len(arguments) > 2:
            parts += [": ", Slot("filename", "repr")]
        return joined(parts)
    return tuple_text(arguments)

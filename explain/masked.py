"""An import that SGLang ignored is the cause where the model it belongs to is then called unsupported."""

from __future__ import annotations

from collections.abc import Callable

from explain.expressions import expression
from explain.groups import IGNORED_IMPORT, Group
from explain.model import Event, Match
from explain.values import replace

_UNSUPPORTED = expression(
    r"Model architectures \[(?P<names>[^\]]*)\]|\b(?P<name>\w{1,200}) has no SG[Ll]ang implementation|"
    r"Cannot find model module\. '(?P<module>\w+)' is not a registered model|"
    r"No processor registered for architecture: \[(?P<processed>[^\]]*)\]"
)
_DIGITS = expression(r"\d+(?=\D)")
"""A processor's file is named after its family (`qwen_vl` serves Qwen2.5-VL and Qwen3-VL)."""


def promote_masked_imports(groups: dict[object, Group], rematch: Callable[[Event], Match] | None) -> None:
    """An import that was ignored is the cause where the model it belongs to is then called unsupported."""
    for group in list(groups.values()):
        found = _UNSUPPORTED.search(group.event.message)
        if not found:
            continue
        processor = found["processed"] is not None
        wanted = found["names"] or found["name"] or found["module"] or found["processed"] or ""
        names = [_plain(name.strip(" '\""), processor) for name in wanted.split(",")]
        for other in groups.values():
            ignored = IGNORED_IMPORT.search(other.event.message)
            if not ignored:
                continue
            if processor != (".processors." in ignored["module"]):
                continue
            module = _plain(ignored["module"].rpartition(".")[2], processor)
            if any(name.startswith(module) for name in names if module):
                other.role = "cause"
                other.tier = 0
                other.why = "the import that failed is that of the model being served"
                if rematch is not None:
                    other.match = _explained_by_reason(other.match, ignored["reason"], rematch)
                group.role = "consequence"
                group.why = "the model is unsupported because its import failed"


def _plain(name: str, family: bool) -> str:
    """A class or module name without case and underscores, for a processor also without the generation."""
    plain = name.lower().replace("_", "")
    return _DIGITS.sub("", plain) if family else plain


def _explained_by_reason(match: Match, reason: str, rematch: Callable[[Event], Match]) -> Match:
    """The match with the record of the exception that its message quotes, where one is known."""
    name = "ModuleNotFoundError" if reason.startswith("No module named") else "ImportError"
    quoted = replace(match.event, kind="traceback", exception=name, message=reason, text=f"{name}: {reason}")
    found = rematch(quoted)
    if found.record is None or found.record.role != "cause":
        return match
    return replace(found, event=match.event, also=(match.record.id, *found.also) if match.record else found.also)

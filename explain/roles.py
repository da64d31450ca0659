"""The role of one event looked at alone, how much it weighs, and which of two tells more.

Rules, in order: what the record says; what the template's kind says; what the exception's class says. Every
rule gives its reason in words.
"""

from __future__ import annotations

from collections.abc import Mapping

from explain.expressions import expression
from explain.model import Match, Role

SYMPTOM = "symptom"
"""Tag of records whose error is usually caused by something else: any other cause comes before."""
GENERIC = "generic"
"""Tag of records that explain a class of errors, not one error."""
REQUEST = "request"
"""Tag of records whose error ends one request while the server goes on."""
_ECHOES = frozenset(
    {
        *("EOFError", "BrokenPipeError", "ConnectionResetError", "KeyboardInterrupt", "CancelledError"),
        *("GeneratorExit", "ActorDiedError", "RayTaskError", "RayActorError", "WorkerCrashedError"),
        *("ActorUnavailableError", "ChildFailedError", "ConnectionAbortedError", "SystemExit"),
    }
)
"""Exceptions that say that another process or the user went away, whoever raises them."""
_REQUEST_HEADINGS = expression(
    r"Error in request|Exception in ASGI|\[http_server\] Error|Error in streaming|Exception on /"
)
_NUMBERS = expression(r"0x[0-9a-fA-F]+|\b[0-9a-fA-F]{12,}\b|\d+(?:\.\d+)?")
FATAL_TIER, SYMPTOM_TIER, REQUEST_TIER = 0, 1, 2
_SHORTEST_QUOTE = 25
"""Shorter messages (`No module named 'ray'`) come back by chance in the sentence that explains them."""
ERROR_KINDS = frozenset({"log:error", "log:exception", "log:critical", "http", "abort"})


def shape(text: str) -> str:
    """`text` without what differs from rank to rank and from time to time: numbers, addresses, ids."""
    return _NUMBERS.sub("#", text)


def explains_better(outer: Match, inner: Match) -> bool:
    """Whether an exception raised while handling another one tells more than that one.

    The first exception of a chain is the cause, unless the code that handled it put it into words: the outer
    one was raised on purpose, does not just quote the inner one, and is known at least as well.
    """
    if outer.event.exception is None or not outer.event.message.strip():
        return False
    quoted = inner.event.message.strip().partition("\n")[0][:80]
    if len(quoted) >= _SHORTEST_QUOTE and quoted in outer.event.message:
        return False
    known = [one.record is not None and GENERIC not in one.record.tags for one in (outer, inner)]
    if known[1] and not known[0]:
        return False
    return known[0] or _on_purpose(outer)


def _on_purpose(match: Match) -> bool:
    """Whether the exception was raised by a `raise`, not by an operation that failed."""
    frames = match.event.frames
    code = frames[-1].code if frames else None
    return match.site is not None or bool(code and code.startswith("raise "))


def role_of(match: Match) -> tuple[Role, str]:
    """The role of one event looked at alone, and the rule that gave it."""
    event, record, site = match.event, match.record, match.site
    if event.heading.startswith("--- Logging error"):
        return "noise", "a failure of logging itself"
    if record is not None:
        return record.role, "the record's role"
    name = (event.exception or "").rpartition(".")[2]
    if name in _ECHOES:
        return "consequence", f"{name} says that another process or the user went away"
    if site is not None:
        if site.kind in ("raise", "assert"):
            return "cause", "SGLang raises it"
        return "warning", "SGLang logs it and goes on"
    if event.kind == "message":
        return "warning", "an error line that nothing explains"
    if event.kind == "traceback" and event.exception is None:
        return "warning", "a traceback that is cut before its exception"
    return "cause", "an exception that nothing explains"


def tier_of(match: Match) -> int:
    """0 ends the server, 1 is usually a symptom, 2 ends a request only."""
    record = match.record
    if record is not None:
        if REQUEST in record.tags or record.error_type == "http":
            return REQUEST_TIER
        if SYMPTOM in record.tags:
            return SYMPTOM_TIER
    if _REQUEST_HEADINGS.search(match.event.heading):
        return REQUEST_TIER
    return FATAL_TIER


def is_critical(match: Match) -> bool:
    return match.record is not None and match.record.severity == "critical"


def is_generic(match: Match) -> bool:
    """Whether only a record of a whole class of errors explains the event."""
    return match.record is not None and GENERIC in match.record.tags


def tells_more(later: Match, earlier: Match) -> bool:
    """Whether the later one of two events of a finding is the better example of it.

    What is logged first and then raised is best shown by the exception, which has frames.
    """
    return earlier.record is not None and earlier.event.kind == "message" and later.event.exception is not None


def captures_agree(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether no capture that both have differs by more than its numbers."""
    return all(shape(one[name]) == shape(other[name]) for name in one.keys() & other.keys())

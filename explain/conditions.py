"""The conditions of `fits`: what must be true of a launch, in a small declarative form.

A condition is an object; all its keys must hold. An answer is true, false or unknown (None): where the log
does not tell, nothing is claimed. patterns/README.md lists the keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from explain.expressions import expression
from explain.gpus import generation_of
from explain.headroom import Headroom
from explain.model import LaunchContext
from explain.pins import PINS, pinned
from explain.registry import registry, releases_of
from explain.values import dataclass, fields_of

KEYS = ("args", "release", "memory", "captures", "gpu", "limits", "load", "not", "any")
TESTS = ("above", "below", "in", "not", "set")
FIGURES = tuple(name for name in fields_of(Headroom) if name != "rank")
LIMITS = (
    *("max_total_num_tokens", "chunked_prefill_size", "max_prefill_tokens"),
    *("max_running_requests", "context_len"),
)
OF_RELEASE = ("release", "one_release", *PINS)
"""What is known of the server's release."""
LOAD = ("running", "half_running", "queued", "token_usage")
"""What the last decode batch line before the failure says."""
_NUMBER = expression(r"-?\d+(?:\.\d+)?")


_PRINTED = (
    ("running", "#running-req"),
    ("queued", "#queue-req"),
    ("token_usage", "token usage"),
    ("token_usage", "full token usage"),
)


@dataclass(frozen=True, slots=True)
class Facts:
    """What conditions are asked about: the context, its memory figures, the captures of the finding."""

    context: LaunchContext
    headroom: Headroom | None
    captures: Mapping[str, str]

    def of_release(self, name: str) -> str | None:
        """The release as the log tells it, maybe a range; the one release; the version of a package that it, or each of
        them, asks for (`explain/pins.py`)."""
        releases = releases_of(self.context.sglang_version)
        if name in ("release", "one_release"):
            return self.context.sglang_version if len(releases) == 1 or (releases and name == "release") else None
        return pinned(name, releases) if name in PINS else None

    @property
    def load(self) -> dict[str, float]:
        """The load of the busiest rank, from the last decode batch lines."""
        decodes = [one.fields for one in self.context.batches if one.kind == "decode"]
        found: dict[str, float] = {}
        for name, printed in _PRINTED:
            values = [fields[printed] for fields in decodes if isinstance(fields.get(printed), int | float)]
            if values:
                found[name] = max(values)
        if found.get("running", 0) >= 2:
            found["half_running"] = int(found["running"] // 2)
        return found


def holds(condition: Mapping[str, Any], facts: Facts) -> bool | None:
    """Whether a condition holds; None where the log does not tell."""
    return _all(_answers(condition, facts))


def _answers(condition: Mapping[str, Any], facts: Facts) -> Iterator[bool | None]:
    context = facts.context
    for key, wanted in condition.items():
        named = isinstance(wanted, Mapping)
        if key == "gpu":
            yield _tested(generation_of(context.gpu), wanted)
        elif key == "any":
            answers = [holds(one, facts) if isinstance(one, Mapping) else None for one in _listed(wanted)]
            yield True if True in answers else None if None in answers else False
        elif not named:
            yield None
        elif key == "args":
            yield _all(_argument(name, test, context.server_args) for name, test in wanted.items())
        elif key == "release":
            yield _release(wanted, context.sglang_version)
        elif key == "memory":
            figures = facts.headroom
            yield _all(_tested(getattr(figures, name, None), test) for name, test in wanted.items())
        elif key == "captures":
            yield _all(_tested(_read(facts.captures.get(name)), test) for name, test in wanted.items())
        elif key == "limits":
            yield _all(_tested(context.limits.get(name), test) for name, test in wanted.items())
        elif key == "load":
            load = facts.load
            yield _all(_tested(load.get(name), test) for name, test in wanted.items())
        elif key == "not":
            answer = holds(wanted, facts)
            yield None if answer is None else not answer
        else:
            yield None


def _listed(value: Any) -> list[Any]:
    """A list as it is; [None] for what a foreign record has in its place."""
    return value if isinstance(value, list) else [None]


def _all(answers: Iterator[bool | None]) -> bool | None:
    known = list(answers)
    return False if False in known else None if None in known else True


def _argument(name: str, test: Any, arguments: Mapping[str, Any]) -> bool | None:
    """`name` may list the names that an argument had over the releases, `/` between them."""
    known = next((one for one in name.split("/") if one in arguments), None)
    if known is None:
        return None
    value = arguments[known]
    if isinstance(test, Mapping) and "set" in test:
        # An argument that is off, empty or left to the server is not set.
        answer = (value not in (None, False, "", [], {}, "auto")) == test["set"]
        rest = {key: one for key, one in test.items() if key != "set"}
        return _all(iter([answer, _tested(value, rest) if rest else True]))
    return _tested(value, test, given=True)


def _tested(value: Any, test: Any, *, given: bool = False) -> bool | None:
    if value is None and not given:
        return None
    if not isinstance(test, Mapping):
        return bool(value == test)
    answers: list[bool | None] = []
    for name, wanted in test.items():
        if name in ("above", "below"):
            number, bound = _number(value), _number(wanted)
            if number is None or bound is None:
                answers.append(None)
            else:
                answers.append(number > bound if name == "above" else number < bound)
        elif name == "in":
            answers.append(value in _listed(wanted))
        elif name == "not":
            answers.append(value != wanted)
        else:
            answers.append(None)
    return _all(iter(answers))


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _read(text: str | None) -> Any:
    """A capture as a number where it is one."""
    if text is not None and _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return text


def _release(wanted: Mapping[str, Any], version: str | None) -> bool | None:
    """Whether all releases that may have written the log lie in the range `from` … `to`, or none does."""
    numbers = releases_of(version)
    if not numbers:
        return None
    order = registry().order
    low = order.get(str(wanted.get("from", "")), 0)
    high = order.get(str(wanted.get("to", "")), len(order))
    inside = [low <= number <= high for number in numbers]
    return True if all(inside) else False if not any(inside) else None

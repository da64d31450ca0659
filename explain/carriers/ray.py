"""Ray's driver: the actor's name before every line, and how often the line was left out behind it."""

from __future__ import annotations

import re

from explain.carriers.memory import Memory
from explain.expressions import expression
from explain.model import Stripped
from explain.reflow import at_actors

NAME = "ray"
STARTS = "("
SAMPLES = (
    (
        "(SGLangEngine pid=3225, ip=10.0.0.2) [2026-11-30 08:14:58 TP0] Hello [repeated 7x across cluster]",
        (Stripped("[2026-11-30 08:14:58 TP0] Hello", "SGLangEngine pid=3225 10.0.0.2", repeats=7),),
    ),
    (
        '(WorkerDict pid=9)   File "a.py", line 1, in f   ',
        (Stripped('  File "a.py", line 1, in f', "WorkerDict pid=9"),),
    ),
    ("(WorkerDict pid=9)", (Stripped("", "WorkerDict pid=9"),)),
    ("(raylet) A worker died", (Stripped("A worker died", "raylet"),)),
)

_HEAD = expression(
    r"\((?:(?P<name>[A-Za-z_][\w.:<>=()\[\]-]{0,200}) )?pid=(?P<pid>\w+)(?:, ip=(?P<ip>[\w.:]+))?\)(?: |$)|"
    r"\((?P<part>raylet|gcs_server|autoscaler|scheduler)(?: \+\w+)?(?:, ip=(?P<host>[\w.:]+))?\)(?: |$)"
)
_REPEATED = expression(r" ?\[repeated (\d{1,9})x across cluster\](?: \(Ray deduplicates logs.{0,400})?$")


def strip(line: str, memory: Memory) -> list[Stripped] | None:
    found = _HEAD.match(line)
    if found is None:
        return None
    rest = line[found.end() :]
    if found.end() == len(line) and line[-1] == ")" and line[1].islower() and not found["part"]:
        return None  # nothing stands behind it: code in parentheses
    # The same actor once more: a log whose line ends were lost.
    if f" ({found['name']} pid=" in rest:
        first, *others = at_actors(rest, fewest=1)
        return [
            _named(found, first),
            *(_named(one, part[one.end() :]) for part in others if (one := _HEAD.match(part))),
        ]
    return [_named(found, rest)]


def _named(found: re.Match[str], text: str) -> Stripped:
    name = found["part"] or (f"{found['name']} pid={found['pid']}" if found["name"] else f"pid={found['pid']}")
    address = found["ip"] or found["host"]
    text, repeats = without_repeats(text)
    if text.endswith("  ") or not text.strip():  # padded to the width of the driver's terminal
        text = text.rstrip()
    return Stripped(text, f"{name} {address}" if address else name, repeats=repeats)


def without_repeats(text: str) -> tuple[str, int]:
    """`text` without Ray's note on lines that it left out, and their number."""
    if "x across cluster]" not in text[-600:]:
        return text, 0
    tail = text[-600:]
    found = _REPEATED.search(tail.rstrip())
    if found is None:
        return text, 0
    return text[: len(text) - len(tail)] + tail[: found.start()], int(found[1])

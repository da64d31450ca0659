"""The prefixes that programs print themselves: SGLang's stamp, uvicorn, the router, glog, torch, NCCL, UCX.

What a line went through on its way (docker, journald, Ray) is gone before; see `carriers/`. A prefix tells
where a message begins, when it was printed, by which rank, and how bad the program thought it was.
"""

from __future__ import annotations

import re

from explain.expressions import expression
from explain.values import dataclass


@dataclass(frozen=True, slots=True)
class Prefix:
    """What stood before a message. `rest` is the message's first line.

    `intruder` marks output of native libraries, which cuts into records of Python without ending them.
    `level` is upper case, None where the prefix has none.
    """

    rest: str
    time: str | None = None
    rank: str | None = None
    level: str | None = None
    intruder: bool = False
    file: str | None = None


RANK = r"[A-Z][A-Z_]{0,15}\d{1,6}"
"""One of TP, DP, EP, PP, CP, ATTN_CP, MOE_DP, DCP, or what a later release adds: behind a full time it is a rank."""
_OTHERS = r"encode_server|encode_dp_worker\[\d{1,6}\]|DisaggregationMode\.\w{1,40}|gpu(?:_id)?=\d{1,6}"
_LABEL = rf"(?:{RANK}|{_OTHERS})"
_KNOWN_LABEL = rf"(?:(?:DP|TP|EP|PP|CP|ATTN_CP|MOE_DP|DCP)\d{{1,6}}|{_OTHERS})"
_MOST_LABELS = 8

# `[2026-11-30 08:14:58.123 DP1 TP3] `, and the same with its first characters lost by a copy.
_STAMP = expression(
    rf"(?:\[|^)(?P<time>\d{{2,4}}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{{1,6}})?)"
    rf"(?P<rank>(?: {{1,9}}{_LABEL}){{0,{_MOST_LABELS}}}) ?\] ?"
)
# Releases up to 0.3 print the time alone; the diffusion server prints no year.
_SHORT_STAMP = expression(
    rf"\[(?P<time>(?:\d\d-\d\d )?\d\d:\d\d:\d\d)"
    rf"(?P<rank>(?: {{1,9}}{_LABEL}){{0,{_MOST_LABELS}}})\] (?!/|\S+\.(?:cc|cpp|cu|h|hpp):\d)"
)
# The date cut off by whoever pasted it.
_RANK_ONLY = expression(rf"\[(?P<rank>{_KNOWN_LABEL}(?: {_KNOWN_LABEL}){{0,{_MOST_LABELS}}})\] ")
_UVICORN = expression(r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL): {2,}")
# `WARNING server_args.py:1328: ` behind a stamp, when a library installed the root handler.
_LEVEL_FILE = expression(r"(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) (?P<file>[\w.]+\.py):\d+: ")
_ROUTER = expression(
    r"(?P<time>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z?) +(?P<level>ERROR|WARN|INFO|DEBUG|TRACE) +"
    r"(?:\w+\{[^}]*\}: ?)*(?P<module>\w+(?:::\w+)*): (?:\S+\.rs:\d+: )?"
)
_ROUTER_CUT = expression(r"(?P<module>(?:sglang_router_rs|sgl_model_gateway|smg)(?:::\w+)+): (?:\S+\.rs:\d+: )?")
_ROUTER_PYTHON = expression(
    r"\[(?:Router|PDLB) \((?:Rust|Python)\)\] (?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,\d+)?) - (?P<level>[A-Z]+) - "
)
_GRANIAN = expression(r"\[(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL)\] ")
_DAEMON = expression(
    r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) \[Daemon gpu=\d+ tp_rank=(?P<tp>\d+)\] (?P<level>[A-Z]+) "
)
_GLOG = expression(
    r"(?:\[?rank(?P<rank>\d+)\]?:)?\[?(?P<level>[IWEF])(?P<date>\d{3,8}) (?P<time>\d\d:\d\d:\d\d\.\d+)\s+(?:\d+\s+)?"
    r"(?P<file>[\w./+-]+\.\w+):(?P<line>\d+)\] (?:\[\d+/\d+\] )?"
)
_TORCH_OLD = expression(r"\[rank(?P<rank>\d+)\]:\[(?P<level>[IWEF]) (?P<file>[\w./+-]+\.\w+):(?P<line>\d+)\] ")
_NCCL = expression(
    r"(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] )?[\w.-]+:\d+:\d+ \[(?P<gpu>\d+)\] (?:[\w./]+:\d+ )?"
    r"(?=NCCL (?P<level>INFO|WARN|TRACE|ERROR) )"
)
_UCX = expression(r"\[(?P<time>\d{9,10}\.\d+)\] \[[^\]\n]+\]\s+(?P<file>[\w.]+):\d+\s+UCX\s+(?P<level>[A-Z]+)\s+")
_ROCM = expression(r":(?P<level>\d):(?P<file>[\w.]+)\s*:\s*\d+\s*:\s*(?:\d+ us:\s*)?")
_PY_WARNING = expression(
    r"(?P<file>(?:/|\.|<|[A-Za-z]:\\|\w)[^\s:]*(?: [^\s:]+)*?):(?P<line>\d+): (?=(?P<level>\w*Warning): )"
)
_VLLM = expression(
    r"(?P<level>DEBUG|INFO|WARNING|ERROR) (?P<time>\d\d-\d\d \d\d:\d\d:\d\d) (?:\[?(?P<file>[\w./]+\.py):\d+\]) "
)
_FLASHINFER = expression(
    r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) - (?P<level>[A-Z]+) - (?:\S+:\d+ - )?flashinfer\.jit: "
)

_GLOG_LEVELS = {"I": "INFO", "W": "WARNING", "E": "ERROR", "F": "CRITICAL"}
_LEVELS = {"WARN": "WARNING", "FATAL": "CRITICAL"}


def read_prefix(text: str) -> Prefix | None:
    """The prefix of `text`, or None where the line has none of its own (a continuation, bare output)."""
    if not text:
        return None
    first = text[0]
    if first == "[":
        return _bracketed(text)
    if first.isdigit():
        return _dated(text)
    if first in "IWEF" and (found := _GLOG.match(text)):
        return _native(found, text)
    if first in "DIWEC":
        if found := _UVICORN.match(text):
            return Prefix(text[found.end() :], level=found["level"])
        if found := _VLLM.match(text):
            return Prefix(text[found.end() :], time=found["time"], level=found["level"], file=found["file"])
    if first == ":" and (found := _ROCM.match(text)):
        return Prefix(text[found.end() :], level="ERROR" if found["level"] == "0" else "INFO", intruder=True)
    if first == "s" and (found := _ROUTER_CUT.match(text)):
        return Prefix(text[found.end() :])
    if "NCCL " in text and (found := _NCCL.match(text)):
        return _nccl(found, text)
    if "Warning: " in text and (found := _PY_WARNING.match(text)):
        return Prefix(text[found.end() :], level="WARNING", file=found["file"], intruder=True)
    return None


def _bracketed(text: str) -> Prefix | None:
    if "NCCL " in text and (found := _NCCL.match(text)):
        return _nccl(found, text)
    found = _STAMP.match(text) or _SHORT_STAMP.match(text)
    if found:
        return _stamped(text[found.end() :], found["time"], found["rank"])
    if found := _GLOG.match(text) or _TORCH_OLD.match(text):
        return _native(found, text)
    if found := _RANK_ONLY.match(text):
        return _stamped(text[found.end() :], None, found["rank"])
    if found := _UCX.match(text):
        level = _LEVELS.get(found["level"], found["level"])
        return Prefix(text[found.end() :], found["time"], level=level, intruder=True, file=found["file"])
    if found := _ROUTER_PYTHON.match(text):
        return Prefix(text[found.end() :], found["time"], level=_LEVELS.get(found["level"], found["level"]))
    if found := _GRANIAN.match(text):
        return Prefix(text[found.end() :], level=found["level"])
    return None


def _dated(text: str) -> Prefix | None:
    found = _STAMP.match(text)
    if found:
        return _stamped(text[found.end() :], found["time"], found["rank"])
    if found := _ROUTER.match(text):
        return Prefix(text[found.end() :], found["time"], level=_LEVELS.get(found["level"], found["level"]))
    if found := _DAEMON.match(text):
        return Prefix(text[found.end() :], found["time"], f"TP{found['tp']}", found["level"])
    if found := _FLASHINFER.match(text):
        return Prefix(text[found.end() :], found["time"], level=found["level"])
    return None


def _stamped(rest: str, time: str | None, rank: str) -> Prefix:
    """A stamp, with the level that uvicorn or another handler may print behind it."""
    rank_text = " ".join(rank.split()) or None
    if rest[:1] in tuple("DIWEC"):
        if found := _UVICORN.match(rest):
            return Prefix(rest[found.end() :], time, rank_text, found["level"])
        if found := _LEVEL_FILE.match(rest):
            return Prefix(rest[found.end() :], time, rank_text, found["level"], file=found["file"])
    return Prefix(rest, time, rank_text)


def _native(found: re.Match[str], text: str) -> Prefix:
    """glog and torch: their rank is the process group's, printed as `rank3`."""
    groups = found.groupdict()
    rank = f"rank{groups['rank']}" if groups.get("rank") else None
    return Prefix(
        text[found.end() :],
        groups.get("time"),
        rank,
        _GLOG_LEVELS[found["level"]],
        intruder=True,
        file=found["file"],
    )


def _nccl(found: re.Match[str], text: str) -> Prefix:
    level = _LEVELS.get(found["level"], found["level"])
    return Prefix(text[found.end() :], rank=None, level=level, intruder=True)

"""Reads the message, the time, the level and the stream out of one JSON object of a log store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from explain.carriers.stamps import LEVEL, as_server_prints, from_epoch, is_raw_output, level_name
from explain.model import Stripped

_TEXT_KEYS = ("log", "textPayload", "MESSAGE", "message", "msg", "line", "@message", "_raw", "body")
_INNER = ("jsonPayload", "fields", "_source", "attributes", "content", "result", "payload")
"""Objects in which some stores keep the record itself."""
_LISTS = ("events", "entries", "results")
_TIME_KEYS = (
    "time",
    "timestamp",
    "@timestamp",
    "asctime",
    "ts",
    "datetime",
    "date",
    "eventTime",
    "Timestamp",
)
_LEVEL_KEYS = ("level", "levelname", "log.level", "severity", "lvl", "loglevel")
_TRACE_KEYS = (
    "exc_info",
    "exception",
    "exc_text",
    "traceback",
    "stack_trace",
    "stacktrace",
    "error.stack_trace",
    "stack",
)
_KEY_KEYS = (
    "stream",
    "pod",
    "container",
    "container_name",
    "containerName",
    "pod_name",
    "pid",
    "process",
    "processName",
)
_DOCKER = frozenset({"log", "stream", "time", "attrs"})
_RANKS = (("dp_rank", "DP"), ("pp_rank", "PP"), ("tp_rank", "TP"), ("ep_rank", "EP"))
_LEVELS = frozenset(LEVEL.removeprefix("(?:").removesuffix(")").split("|"))


def pieces(value: Any) -> list[Stripped] | None:
    """What a decoded line holds, None where it is no record of a log."""
    if isinstance(value, dict):
        return _of_object(value)
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        found = [piece for one in value for piece in _of_object(one) or ()]
        return found or None
    return None


def is_docker(value: Mapping[str, Any]) -> bool:
    """Whether this is a line of docker's json-file, which marks the end of a line by `\\n`."""
    return "stream" in value and "log" in value and value.keys() <= _DOCKER


def error_body(value: Mapping[str, Any]) -> str | None:
    """The message of what a server answers to a request that it refuses."""
    message = value.get("message")
    if value.get("object") == "error" and isinstance(message, str):
        return message
    error = value.get("error")
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        return str(error["message"])
    if len(value) == 1 and isinstance(alone := error or value.get("detail"), str):
        return alone
    return None


def _of_object(value: Mapping[str, Any]) -> list[Stripped] | None:
    event = value.get("event")
    if isinstance(event, str) and event.startswith("request."):
        return None  # the server's own request log: data of users
    refused = error_body(value)
    if refused is not None:
        return [Stripped(as_server_prints(refused, time=None, level="ERROR"))]
    if (inside := _wrapped(value)) is not None:
        return inside
    if "stream_name" in value and isinstance(data := value.get("data"), str):
        return [Stripped(_whole(data), str(value["stream_name"]))]
    text = next((found for key in _TEXT_KEYS if (found := _text(value.get(key))) is not None), None)
    if text is None:
        return None
    return [_record(value, text)]


def _wrapped(value: Mapping[str, Any]) -> list[Stripped] | None:
    """Records one level deeper."""
    for name in _INNER:
        inner = value.get(name)
        if isinstance(inner, dict) and any(_text(inner.get(key)) is not None for key in _TEXT_KEYS):
            outside = {key: one for key, one in value.items() if key != name and key not in inner}
            if name == "jsonPayload":
                outside.pop("severity", None)  # everything on stderr is an error to it
            return _of_object({**outside, **inner})
    for name in _LISTS:
        inner = value.get(name)
        if isinstance(inner, list) and (found := pieces(inner)):
            return found
    hits = value.get("hits")
    return pieces(hits.get("hits")) if isinstance(hits, dict) else None


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(one, int) and 0 <= one < 256 for one in value):
        return bytes(value).decode("utf-8", "replace")  # journald's form of text with control bytes
    return None


def _whole(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def _record(value: Mapping[str, Any], text: str) -> Stripped:
    time = _time(value)
    key = _key(value)
    partial = value.get("logtag") == "P" or value.get("_p") == "P" or str(value.get("partial_message")) == "true"
    if is_docker(value):
        return Stripped(_whole(text), key, time, partial=not text.endswith("\n"))
    text = _whole(text)
    level = next((one for name in _LEVEL_KEYS if isinstance(one := value.get(name), str)), None)
    traces = [one for name in _TRACE_KEYS if isinstance(one := value.get(name), str) and one.strip()]
    is_logger = level is not None and level.upper() in _LEVELS and "textPayload" not in value and not partial
    if is_logger and not is_raw_output(text):
        ranks = " ".join(f"{label}{value[name]}" for name, label in _RANKS if isinstance(value.get(name), int))
        text = as_server_prints(text, time=time, level=level_name(level or ""), ranks=ranks)
    for trace in traces:
        if trace.strip() not in text:
            text = f"{text}\n{_whole(trace)}"
    return Stripped(text, key, time, partial=partial)


def _time(value: Mapping[str, Any]) -> str | None:
    if "__REALTIME_TIMESTAMP" in value:
        return from_epoch(value["__REALTIME_TIMESTAMP"], 1_000_000)
    for name in _TIME_KEYS:
        found = value.get(name)
        if isinstance(found, str):
            return found
        if isinstance(found, int) and not isinstance(found, bool):
            scale = next((scale for scale in (1, 1_000, 1_000_000, 1_000_000_000) if found < scale * 10**10), 1)
            return from_epoch(found, scale)
        if isinstance(found, float):
            return from_epoch(int(found), 1) if 1e9 < found < 1e12 else None
    return None


def _key(value: Mapping[str, Any]) -> str:
    if "__REALTIME_TIMESTAMP" in value or "_PID" in value:
        host, name, pid = (str(value.get(name, "")) for name in ("_HOSTNAME", "SYSLOG_IDENTIFIER", "_PID"))
        return f"{host} {name}[{pid}]".strip()
    parts = [str(one) for name in _KEY_KEYS if isinstance(one := value.get(name), str | int)]
    kubernetes = value.get("kubernetes")
    if isinstance(kubernetes, dict):
        parts += [str(one) for name in ("pod_name", "container_name") if (one := kubernetes.get(name))]
    elif isinstance(pod := value.get("kubernetes.pod_name"), str):
        parts.append(pod)
    return " ".join(parts)

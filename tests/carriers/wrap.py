"""Logs put into carriers: text in, text out, as the real programs write them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable

Wrap = Callable[[str], str]
ISO = "2026-11-30T08:14:58.123456789Z"
CHUNK = 16 * 1024


def each(head: str, tail: str = "", *, empty: str | None = None) -> Wrap:
    """A carrier that puts `head` before and `tail` behind every line (`empty` for an empty one)."""

    def wrap(text: str) -> str:
        return "\n".join(f"{head}{line}{tail}" if line or empty is None else empty for line in text.split("\n"))

    return wrap


def both(*wraps: Wrap) -> Wrap:
    """Carriers in carriers, the innermost first."""

    def wrap(text: str) -> str:
        for one in wraps:
            text = one(text)
        return text

    return wrap


def objects(make: Callable[[str], object], separator: str = "\n", **how: object) -> Wrap:
    def wrap(text: str) -> str:
        return separator.join(json.dumps(make(line), **how) for line in text.split("\n"))  # type: ignore[arg-type]

    return wrap


def docker_json(text: str, chunk: int = CHUNK) -> str:
    out = []
    for line in text.split("\n"):
        whole = line + "\n"
        for start in range(0, len(whole), chunk):
            piece = whole[start : start + chunk]
            out.append(json.dumps({"log": piece, "stream": "stderr", "time": ISO}, separators=(",", ":")))
    return "\n".join(out)


def cri(text: str, chunk: int = CHUNK) -> str:
    out = []
    for line in text.split("\n"):
        starts = list(range(0, max(len(line), 1), chunk))
        out += [f"{ISO} stderr {'F' if start == starts[-1] else 'P'} {line[start : start + chunk]}" for start in starts]
    return "\n".join(out)


def box(text: str, sides: str = "│") -> str:
    lines = text.split("\n")
    width = max(map(len, lines))
    return "\n".join(f"{sides} {line.ljust(width)} {sides}" for line in lines)


def notebook(text: str) -> str:
    return "\n".join(f"      {json.dumps(line + chr(10))}," for line in text.split("\n"))


WRAPPERS: dict[str, Wrap] = {
    "docker -t": each(f"{ISO} "),
    "docker -t short": each("2026-11-30T08:14:58Z "),
    "compose": each("sglang-1  | "),
    "compose padded": each("sglang-prefill-1       | "),
    "compose v1": each("sglang_1 | "),
    "compose coloured": each("\x1b[36msglang-1  | \x1b[0m"),
    "compose empty": each("sglang-1  | ", empty="sglang-1  |"),
    "docker json-file": docker_json,
    "docker json-file side by side": objects(lambda line: {"log": f"{line}\n", "stream": "stderr", "time": ISO}, " "),
    "cri": cri,
    "cri offset": each("2025-07-24T01:02:03.000000004+08:00 stdout F "),
    "kubectl --prefix": each("[pod/sglang-0/server] "),
    "kubectl --prefix --timestamps": each(f"[pod/sglang-0/server] {ISO} "),
    "journald": each("Nov 30 08:14:58 node-0 python3[1841]: "),
    "journald short-iso": each("2026-11-30T08:14:58+0000 node-0 python3[1841]: "),
    "journald precise": each("2026-11-30T08:14:58.123456+00:00 node-0 python3[1841]: "),
    "journald json": objects(
        lambda line: {
            "__REALTIME_TIMESTAMP": "1796026498123456",
            "MESSAGE": line,
            "_PID": "1841",
            "SYSLOG_IDENTIFIER": "python3",
            "PRIORITY": "6",
        }
    ),
    "journald json bytes": objects(
        lambda line: {
            "MESSAGE": list(line.encode()) or "",
            "_PID": "1841",
            "__REALTIME_TIMESTAMP": "1796026498123456",
        }
    ),
    "syslog rfc3164": each("<11>Nov  3 08:14:58 node-0 sglang[1841]: "),
    "syslog rfc5424": each('<11>1 2026-11-30T08:14:58.123Z node-0 sglang 1841 - [meta sequenceId="29"] '),
    "syslog escapes": each("Nov 30 08:14:58 node-0 sglang[1841]: #033[31m", "#033[0m"),
    "ray": each("(SGLangEngine pid=3225, ip=10.0.0.2) "),
    "ray coloured": each("\x1b[36m(WorkerDict pid=3225)\x1b[0m "),
    "ray padded": each("(WorkerDict pid=3225) ", "   "),
    "stern": each("sglang-0 server "),
    "rank": each("[rank0]: "),
    "torchelastic": each("[default0]:"),
    "srun": each(" 3: "),
    "mpirun": each("[1,6]<stderr>:"),
    "mpirun with a blank": each("[prterun-node-1@1,6]<stderr>: "),
    "github actions": each("2026-11-30T08:14:58.1234567Z "),
    "gh run view": each("build\tRun tests\t2026-11-30T08:14:58.1234567Z "),
    "gcp json": objects(lambda line: {"textPayload": line, "severity": "ERROR", "timestamp": ISO}),
    "gcp payload": objects(lambda line: {"jsonPayload": {"message": line}, "severity": "ERROR", "timestamp": ISO}),
    "gcp text": each(f"ERROR {ISO} "),
    "aws tail": each("2026-11-30T08:14:58.123000+00:00 sglang/server/0123abcd "),
    "aws json": objects(lambda line: {"timestamp": 1796026498123, "message": line, "ingestionTime": 1796026498124}),
    "aws events": lambda text: json.dumps({"events": [{"timestamp": 1, "message": line} for line in text.split("\n")]}),
    "loki": objects(lambda line: {"line": line, "timestamp": ISO, "labels": {"pod": "sglang-0"}}),
    "fluent-bit": objects(
        lambda line: {
            "log": line,
            "stream": "stderr",
            "logtag": "F",
            "kubernetes": {"pod_name": "sglang-0", "container_name": "server"},
        }
    ),
    "fluent-bit trimmed": objects(lambda line: {"log": line, "stream": "stderr", "time": ISO}),
    "datadog": objects(lambda line: {"attributes": {"message": line, "timestamp": ISO, "host": "node-0"}}),
    "vector": objects(lambda line: {"message": line, "source_type": "file", "timestamp": ISO}),
    "logcli": each('2026-11-30T08:14:58Z {app="sglang", pod="sglang-0"} '),
    "kibana": each("May 14, 2026 @ 09:02:03.004    ", "    "),
    "jenkins": each("[2026-03-01T08:00:00.123Z] "),
    "fastchat": each("2024-05-24 01:02:03 | ERROR | stderr | "),
    "skypilot": each("(head, rank=0, pid=8292) "),
    "job runner": each("[2026-01-02T10:00:00+08:00] job-7 >> "),
    "csv": lambda text: "\n".join(
        '2026-11-30 08:14:58.123,"{}"'.format(line.replace('"', '""')) for line in text.split("\n")
    ),
    "quote": each("> ", empty=">"),
    "box": box,
    "box in a box": lambda text: box(box(text)),
    "notebook": notebook,
    "html": html.escape,
    "coloured": each("\x1b[36m", "\x1b[0m"),
    "fence": lambda text: f"```\n{text}\n```",
    "crlf": lambda text: text.replace("\n", "\r\n"),
    # Carriers in carriers.
    "ray in docker json": both(each("\x1b[36m(WorkerDict pid=9)\x1b[0m "), docker_json),
    "ray in kubectl": both(each("(WorkerDict pid=9) "), each("[pod/sglang-0/server] ")),
    "cri in loki": both(cri, objects(lambda line: {"line": line, "timestamp": ISO})),
    "compose in journald": both(each("sglang-1  | "), each("Nov 30 08:14:58 node-0 compose[1841]: ")),
    "rank in torchelastic in srun": both(each("[rank0]: "), each("[default0]:"), each(" 3: ")),
    "three nested": both(each("(SGLangEngine pid=88) "), each("[2026-01-02T10:00:00+08:00] job-7 >> ")),
    "jenkins quoted": both(each("[2026-03-01T08:00:00.123Z] "), each("> ")),
    "docker -t in a box": both(each(f"{ISO} "), box),
    "docker json in cri": both(docker_json, cri),
    "docker json in kibana": both(docker_json, each("May 14, 2026 @ 09:02:03.004    ", "    ")),
    "ray in github actions": both(each("(WorkerDict pid=9) "), each("2026-11-30T08:14:58.1234567Z ")),
    "journald json of ray": both(
        each("\x1b[36m(WorkerDict pid=9)\x1b[0m "), objects(lambda line: {"MESSAGE": line, "_PID": "1"})
    ),
}
"""Wrappers of whole logs that lose nothing but blanks at the ends of lines."""

# These wrap the first line of a record only, and put a stamp of their own in the place of the server's.
RESTAMPED: dict[str, str] = {
    "dynamo": "2026-02-08T01:02:03.000004Z {level:>5} scheduler.run_scheduler_process: ",
    "xinference": "2025-05-01 01:02:03,004 xinference.core.worker 141 {level:<8} ",
    "python logging": "2025-03-06 01:02:03,004 - sglang.srt - {level} - ",
    "user config": "2026-03-17 01:02:03.004 {level} 100001 [{ranks} scheduler.py:3190] ",
    "gpustack": "2025-11-22 01:02:03.000004+08:00 - gpustack.worker.backends.sglang - {level} - ",
    "supervisor": "2026-11-30 08:14:58,123 {level} ",
    "level first": "{level}:2025-11-27 09:00:45,396:",
    "loguru": "2025-01-01 01:02:03.004 | {level:<8} | sglang.srt.x:run:12 - ",
    "json": "json",
}

_STAMPED = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?P<ranks>(?: [A-Z]+\d+)*)\] (?P<text>.*)")


def restamped(name: str) -> Wrap:
    """The records of a log under another logger's format; continuation lines stay as they are."""

    def wrap(text: str) -> str:
        out: list[str | dict[str, str]] = []
        for line in text.split("\n"):
            found = _STAMPED.match(line)
            if found is None:
                if name == "json" and out and isinstance(last := out[-1], dict):
                    last["msg"] += f"\n{line}"
                else:
                    out.append(line)
                continue
            level = "ERROR" if "hit an exception" in line else "INFO"
            ranks = found["ranks"] if name == "user config" else ""
            if name == "json":
                out.append({"time": "2026-11-30 09:27:05,244", "level": level, "msg": found["text"]})
            else:
                out.append(RESTAMPED[name].format(level=level, ranks=ranks) + found["text"])
        return "\n".join(line if isinstance(line, str) else json.dumps(line) for line in out)

    return wrap

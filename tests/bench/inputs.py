"""Logs for the benchmark, made from a seed: the same bytes on every machine."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

PLANTED = (
    "[2026-11-30 09:00:01 TP1] Scheduler hit an exception: Traceback (most recent call last):\n"
    '  File "/usr/local/lib/python3.12/dist-packages/sglang/srt/managers/scheduler.py", line 3600, in run_scheduler_process\n'
    "    worker.step(batch)\n"
    '  File "/usr/local/lib/python3.12/dist-packages/sglang/srt/mem_cache/common.py", line 197, in alloc_token_slots\n'
    "    raise RuntimeError(text)\n"
    "RuntimeError: Decode out of memory. Try to lower your batch size.\n"
    "Try to allocate 384 tokens.\n"
    "Available tokens: 210 (available_size=210 + evictable_size=0)\n\n"
    "[2026-11-30 09:00:02] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n"
)
_UNIT = 8 * 1024 * 1024


def _stamp(dice: random.Random, second: int, ranks: str) -> str:
    return f"[2026-11-30 {8 + second // 3600 % 12:02d}:{second // 60 % 60:02d}:{second % 60:02d}{ranks}]"


def serving_lines(dice: random.Random) -> Iterator[str]:
    """Ordinary serving: batch lines of several releases and rank counts, access lines, health probes."""
    second = 0
    labels = ("", " TP0", " DP0 TP0", " DP1 TP4 EP4", " DP3 PP0 TP6 EP6")
    while True:
        second += dice.random() < 0.2
        stamp = _stamp(dice, second, dice.choice(labels))
        kind = dice.randrange(10)
        if kind < 5:
            glue = dice.choice((". ", ", "))
            yield (
                f"{stamp} Decode batch{glue}#running-req: {dice.randrange(1, 256)}, #token: {dice.randrange(900_000)}, "
                f"token usage: {dice.random():.2f}, accept len: {dice.uniform(1, 4):.2f}, cuda graph: True, "
                f"gen throughput (token/s): {dice.uniform(10, 9000):.2f}, #queue-req: {dice.randrange(9)}"
            )
        elif kind < 7:
            yield (
                f"{stamp} Prefill batch, #new-seq: {dice.randrange(1, 9)}, #new-token: {dice.randrange(8192)}, "
                f"#cached-token: {dice.randrange(8192)}, token usage: {dice.random():.2f}, #running-req: "
                f"{dice.randrange(99)}, #queue-req: {dice.randrange(9)}, input throughput (token/s): {dice.uniform(1, 30000):.2f}"
            )
        else:
            path = dice.choice(("/v1/chat/completions", "/generate", "/health", "/metrics", "/v1/completions"))
            yield (
                f"{_stamp(dice, second, '')} INFO:     10.0.{dice.randrange(256)}.{dice.randrange(256)}:"
                f'{dice.randrange(1024, 65000)} - "POST {path} HTTP/1.1" 200 OK'
            )


def docker_json(lines: Iterator[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield json.dumps({"log": line + "\n", "stream": "stderr", "time": f"2026-11-30T08:00:00.{number % 10**9:09d}Z"})


def cri(lines: Iterator[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield f"2026-11-30T08:00:00.{number % 10**9:09d}Z stderr F {line}"


def ray(lines: Iterator[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield f"(SGLangEngine pid={3000 + number % 8}, ip=10.0.0.{number % 8}) {line}"


def plain(lines: Iterator[str]) -> Iterator[str]:
    return lines


def start_up(dice: random.Random) -> Iterator[str]:
    """Loading with progress bars: many states on one line, joined by carriage returns."""
    while True:
        bar = "\r".join(
            f"Loading safetensors checkpoint shards: {percent:3d}% Completed | {percent}/100 [00:{percent % 60:02d}<00:01,  1.86it/s]"
            for percent in range(0, 100, 5)
        )
        yield bar
        yield f"{_stamp(dice, 1, ' TP0')} Load weight end. type=LlamaForCausalLM, avail mem={dice.uniform(1, 80):.2f} GB"


def known_warnings(dice: random.Random) -> Iterator[str]:
    second = 0
    while True:
        second += dice.random() < 0.1
        yield (
            f"{_stamp(dice, second, f' TP{dice.randrange(8)}')} KV cache pool is full. Retract requests. #retracted_reqs: "
            f"{dice.randrange(1, 9)}, #new_tokens_gained: {dice.randrange(9999)}, #new_token_ratio: "
            f"{dice.random():.4f} -> {dice.random():.4f}"
        )


def different_tracebacks(dice: random.Random) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"{_stamp(dice, number, ' TP0')} Scheduler hit an exception: Traceback (most recent call last):"
        for depth in range(dice.randrange(3, 14)):
            yield f'  File "/usr/lib/python3.12/site-packages/sglang/srt/part{dice.randrange(50)}/file{depth}.py", line {dice.randrange(4000)}, in step_{depth}'
            yield f"    value_{depth} = compute_{dice.randrange(900)}(value)"
        word = "".join(dice.choice("abcdefghijklmnop") for _ in range(9))
        yield f"{dice.choice(('ValueError', 'RuntimeError', 'KeyError'))}: no {word} for {word[::-1]} of {number}"
        yield ""


def near_misses(literals: list[bytes]) -> Callable[[random.Random], Iterator[str]]:
    """Lines that hold a template's literal but for its last character."""
    texts = [literal.decode() for literal in literals if len(literal) > 6]

    def lines(dice: random.Random) -> Iterator[str]:
        while True:
            yield f"{_stamp(dice, 1, ' TP0')} {dice.choice(texts)[:-1]}~ {dice.random()}"

    return lines


def write(path: Path, size: int, lines: Iterator[str], planted: str = "") -> None:
    """About `size` bytes: a unit of fresh lines, repeated, with `planted` in the middle."""
    unit: list[str] = []
    length = 0
    for line in lines:
        unit.append(line)
        length += len(line) + 1
        if length >= min(_UNIT, size):
            break
    data = ("\n".join(unit) + "\n").encode()
    with path.open("wb") as file:
        while file.tell() < size // 2:
            file.write(data)
        file.write(planted.encode())
        while file.tell() < size:
            file.write(data)


def write_one_line(path: Path, size: int) -> None:
    with path.open("wb") as file:
        piece = b"token 1234, " * 50_000
        while file.tell() < size:
            file.write(piece)

"""Whole server logs of five releases, written as those releases print, with what is true of them.

Nothing here uses the readers under test: wordings are spelled out per release, only the names of the server
arguments come from the registry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from explain.registry import registry

RELEASES = ("0.4.6.post5", "0.5.2", "0.5.10", "0.5.18", "0.5.23")
KNOWN: dict[str, Any] = {
    "dtype": "auto", "kv_cache_dtype": "auto", "disaggregation_mode": "null", "host": "127.0.0.1", "port": 30000,
    "tp_size": 1, "pp_size": 1, "dp_size": 1, "ep_size": 1, "nnodes": 1, "node_rank": 0, "page_size": 1,
    "schedule_conservativeness": 1.0, "watchdog_timeout": 300, "chunked_prefill_size": 8192, "base_gpu_id": 0,
    "disable_cuda_graph": False, "disable_radix_cache": False, "enable_hierarchical_cache": False,
    "attention_backend": "fa3", "random_seed": 12345,
}  # fmt: skip


def number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:3])


@dataclass
class Truth:
    """What a reader of the log must know. `first_ranks` None where the log does not tell."""

    release: str
    model: str
    args: dict[str, Any]
    ranks: tuple[str, ...]
    steps: dict[tuple[str, str], list[float | None]] = field(default_factory=dict)
    pool_tokens: int | None = None
    cause: str | None = None
    first_ranks: tuple[str, ...] | None = None
    recovery: str | None = None
    seconds: float | None = None
    lifetimes: int = 1
    changed: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    running: int | None = None
    stuck: str | None = None
    unfinished: str | None = None


class Server:
    """Writes one log. `clock` moves on by itself; ranks print in the order given."""

    def __init__(self, release: str, tp: int = 1, begin: str = "2026-11-30 08:00:00", **args: Any) -> None:
        self.release, self.tp = release, tp
        self.version = number(release)
        self.clock = datetime.fromisoformat(begin)
        self.lines: list[str] = []
        self.args = {
            "model_path": "org/model-8b",
            "mem_fraction_static": 0.88,
            **KNOWN,
            "tp_size": tp,
            **args,
        }
        labels = [f"TP{rank}" for rank in range(tp)] if tp > 1 else [""]
        self.ranks = tuple(labels)
        self.truth = Truth(release, self.args["model_path"], dict(self.args), tuple(r for r in labels if r))

    # ------------------------------------------------------------------ lines

    def wait(self, seconds: float) -> None:
        self.clock += timedelta(seconds=seconds)

    def say(self, text: str, rank: str = "", at: float = 0.0) -> None:
        stamp = (self.clock + timedelta(seconds=at)).strftime("%Y-%m-%d %H:%M:%S")
        self.lines.append(f"[{stamp}{' ' + rank if rank else ''}] {text}")

    def bare(self, *lines: str) -> None:
        self.lines.extend(lines)

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    # ------------------------------------------------------------------ the start

    def arguments(self) -> None:
        names = ["model_path", *(n for n in registry().fields_of(self.release) if n != "model_path")]
        values = {name: self.args.get(name) for name in names}
        if self.version >= (0, 5, 19):
            body = "{" + ", ".join(f"{name!r}: {value!r}" for name, value in values.items()) + "}"
        else:
            body = "ServerArgs(" + ", ".join(f"{name}={value!r}" for name, value in values.items()) + ")"
        self.say(f"server_args={body}")
        self.truth.args = {name: value for name, value in values.items() if value is not None}
        self.wait(6)

    def step(self, name: str, rank: str, text: str, available: float | None) -> None:
        self.say(text, rank)
        self.truth.steps.setdefault((name, rank), []).append(available)

    def distributed(self) -> None:
        for rank in self.ranks:
            if self.version >= (0, 5, 21):
                self.say("Init parallel ends. elapsed=4.61 s", rank)
                self.step("distributed", rank, "Memory baseline taken. mem usage=1.31 GB", None)
            elif self.version >= (0, 5, 9):
                self.step(
                    "distributed",
                    rank,
                    "Init torch distributed ends. elapsed=3.88 s, mem usage=1.31 GB",
                    None,
                )
            else:
                self.step("distributed", rank, "Init torch distributed ends. mem usage=1.31 GB", None)
        self.wait(1)

    def weights(self, before: float, after: float, missing: tuple[str, ...] = ()) -> None:
        for rank in self.ranks:
            self.step("weights_begin", rank, f"Load weight begin. avail mem={before:.2f} GB", before)
        self.wait(12)
        used = before - after
        for rank in self.ranks:
            if rank in missing:
                continue
            if self.version >= (0, 5, 10):
                how = "elapsed=6.40 s, type=Qwen3ForCausalLM, quant=fp8, fmt=e4m3"
                tail = f"avail mem={after:.2f} GB, mem usage={used:.2f} GB."
            else:
                how = "type=Qwen3ForCausalLM, dtype=torch.bfloat16"
                tail = f"avail mem={after:.2f} GB, mem usage={used:.2f} GB."
            self.step("weights_end", rank, f"Load weight end. {how}, {tail}", after)
        self.wait(1)

    def pool(self, tokens: int, size: float, left: float) -> None:
        dtype = "dtype: torch.bfloat16, " if self.version >= (0, 5, 13) else ""
        for rank in self.ranks:
            half = size / 2
            self.say(
                f"KV Cache is allocated. {dtype}#tokens: {tokens}, K size: {half:.2f} GB, V size: {half:.2f} GB",
                rank,
            )
            self.step("pool_end", rank, f"Memory pool end. avail mem={left:.2f} GB", left)
        self.truth.pool_tokens = tokens
        self.wait(1)

    def graphs(self, begin: float, end: float | None) -> None:
        for rank in self.ranks:
            if self.version >= (0, 5, 22):
                text = (
                    "Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, "
                    f"avail mem={begin:.2f} GB"
                )
            elif self.version >= (0, 5, 14):
                text = (
                    "Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, "
                    f"bs=[1, 2, 4], avail mem={begin:.2f} GB"
                )
            else:
                text = f"Capture cuda graph begin. This can take up to several minutes. avail mem={begin:.2f} GB"
            self.step("graph_begin", rank, text, begin)
        self.wait(9)
        if end is None:
            return
        used = begin - end
        for rank in self.ranks:
            if self.version >= (0, 5, 22):
                text = (
                    "Capture target decode CUDA graph end. bs=[1, 2, 4], elapsed=9.12 s, "
                    f"mem usage={used:.2f} GB, avail mem={end:.2f} GB."
                )
            elif self.version >= (0, 5, 14):
                text = (
                    f"Capture target decode CUDA graph end. elapsed=9.12 s, mem usage={used:.2f} GB, "
                    f"avail mem={end:.2f} GB."
                )
            else:
                text = f"Capture cuda graph end. Time elapsed: 8.93 s. mem usage={used:.2f} GB. avail mem={end:.2f} GB."
            self.step("graph_end", rank, text, end)
        self.wait(1)

    def ready(self) -> None:
        tokens = self.truth.pool_tokens
        tail = ", available_gpu_mem=5.20 GB" if self.version >= (0, 4, 7) else ""
        self.say(
            f"max_total_num_tokens={tokens}, chunked_prefill_size=8192, max_prefill_tokens=16384, "
            f"max_running_requests=64, context_len=32768{tail}",
            self.ranks[0],
        )
        self.say("INFO:     Started server process [411]")
        self.say("INFO:     Application startup complete.")
        self.say("INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)")
        self.wait(3)
        self.say("The server is fired up and ready to roll!")
        self.wait(2)

    def start(self, before: float = 78.0, after: float = 62.0, left: float = 9.0) -> None:
        self.arguments()
        self.distributed()
        self.weights(before, after)
        self.pool(368211, round(after - left - 0.4, 2), left)
        self.graphs(left - 0.5, left - 2.0)
        self.ready()

    # ------------------------------------------------------------------ serving

    def batches(self, count: int, running: int) -> None:
        comma = ", " if self.version >= (0, 5, 5) else ". "
        graph = "cuda graph: True, "
        tail = ", " if (0, 4, 10) <= self.version < (0, 5, 9) else ""
        rank = self.ranks[0]
        for index in range(count):
            self.say(
                f"Prefill batch{comma}#new-seq: 1, #new-token: {200 + index}, #cached-token: 0, "
                "token usage: 0.10, "
                f"#running-req: {running}, #queue-req: 0{tail}",
                rank,
            )
            self.say(
                f"Decode batch{comma}#running-req: {running}, #token: {5000 + index}, "
                f"token usage: 0.92, {graph}"
                f"gen throughput (token/s): 1180.4{index % 10}, #queue-req: 3{tail}",
                rank,
            )
            self.say(f'INFO:     10.0.0.7:{40000 + index} - "POST /v1/chat/completions HTTP/1.1" 200 OK')
            self.wait(1)
        self.truth.running = running

    def exception(self, rank: str, frames: list[tuple[str, int, str, str]], error: str, at: float = 0.0) -> None:
        self.say("Scheduler hit an exception: Traceback (most recent call last):", rank, at)
        for file, line, function, code in frames:
            self.bare(f'  File "/usr/local/lib/python3.12/dist-packages/{file}", line {line}, in {function}')
            self.bare(f"    {code}")
        self.bare(error, "")

    def sigquit(self, at: float = 1.0) -> None:
        if self.version >= (0, 5, 3):
            self.say("SIGQUIT received. signum=None, frame=None. It usually means one child failed.", at=at)
        else:
            self.say("Received sigquit from a child process. It usually means the child failed.", at=at)
        if self.version >= (0, 5, 13):
            self.say("kill_process_tree called: parent_pid=411, include_parent=True, pid=411", at=at)
        self.bare("Killed")
        self.wait(at + 1)


POOL_FRAMES = [
    ("sglang/srt/managers/scheduler.py", 2000, "run_scheduler_process", "scheduler = Scheduler(server_args)"),
    ("sglang/srt/model_executor/model_runner.py", 900, "init_memory_pool", "raise RuntimeError("),
]
DECODE_FRAMES = [
    ("sglang/srt/managers/scheduler.py", 700, "event_loop_overlap", "batch = self.get_next_batch_to_run()"),
    ("sglang/srt/managers/schedule_batch.py", 1400, "alloc_token_slots", "raise RuntimeError(error_msg)"),
]
GRAPH_FRAMES = [
    ("sglang/srt/managers/scheduler.py", 2000, "run_scheduler_process", "scheduler = Scheduler(server_args)"),
    ("sglang/srt/model_executor/cuda_graph_runner.py", 390, "__init__", "raise Exception("),
]
FORWARD_FRAMES = [
    ("sglang/srt/managers/scheduler.py", 700, "event_loop_overlap", "result = self.run_batch(batch)"),
    ("sglang/srt/models/qwen3.py", 210, "forward", "hidden_states = self.mlp(hidden_states)"),
]
NO_POOL = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
DECODE = "RuntimeError: Decode out of memory. Try to lower your batch size."


def out_of_memory(gpu: int = 0) -> str:
    return (
        f"CUDA out of memory. Tried to allocate 1.50 GiB. GPU {gpu} has a total capacity of 79.11 GiB "
        "of which 911.31 MiB is free. Including non-PyTorch memory, this process has 78.10 GiB memory in use."
    )


def graph_failure(gpu: int = 0) -> str:
    return f"Exception: Capture cuda graph failed: {out_of_memory(gpu)}"


# ---------------------------------------------------------------------- the stories


def graphs_do_not_fit(release: str) -> list[Server]:
    """Four ranks; TP2 runs out of memory while capturing, the others a few seconds later."""
    server = Server(release, tp=4, mem_fraction_static=0.95)
    server.arguments()
    server.distributed()
    server.weights(78.0, 30.0)
    server.pool(200000, 26.1, 3.5)
    server.graphs(2.5, None)
    server.exception("TP2", GRAPH_FRAMES, graph_failure(2))
    for rank, at in (("TP0", 2.0), ("TP1", 2.0), ("TP3", 3.0)):
        server.exception(rank, GRAPH_FRAMES, graph_failure(int(rank[2:])), at)
    server.sigquit(4.0)
    server.truth.cause, server.truth.first_ranks = "graph-capture-out-of-memory", ("TP2",)
    server.truth.recovery = "dead"
    return [server]


def no_pool(release: str) -> list[Server]:
    server = Server(release, mem_fraction_static=0.6)
    server.arguments()
    server.distributed()
    server.weights(78.0, 30.0)
    server.exception("", POOL_FRAMES, NO_POOL)
    server.sigquit()
    server.truth.cause, server.truth.recovery = "kv-pool-no-memory-left", "dead"
    return [server]


def weights_too_large(release: str) -> list[Server]:
    """Weights leave two gigabytes: no fraction helps."""
    server = Server(release, mem_fraction_static=0.9)
    server.arguments()
    server.distributed()
    server.weights(78.0, 2.0)
    server.exception("", POOL_FRAMES, NO_POOL)
    server.sigquit()
    server.truth.cause, server.truth.recovery = "kv-pool-no-memory-left", "dead"
    return [server]


def dies_while_serving(release: str) -> list[Server]:
    server = Server(release, tp=2)
    server.start()
    server.batches(40, running=48)
    server.exception("TP0", DECODE_FRAMES, DECODE)
    server.exception("TP1", DECODE_FRAMES, DECODE, 1.0)
    server.sigquit(2.0)
    server.truth.cause, server.truth.first_ranks = "kv-pool-decode-out-of-memory", ("TP0",)
    server.truth.recovery = "dead"
    return [server]


def comes_back(release: str) -> list[Server]:
    """Dies of a full pool, is restarted with the same arguments and serves on."""
    server = Server(release)
    server.start()
    server.batches(20, running=30)
    server.exception("", DECODE_FRAMES, DECODE)
    failed = server.clock
    server.sigquit()
    server.wait(8)
    running = server.truth.running
    server.start()
    ready = server.clock - timedelta(seconds=2)
    server.batches(10, running=4)
    server.truth.running = running
    server.truth.cause, server.truth.recovery = "kv-pool-decode-out-of-memory", "restarted"
    server.truth.seconds, server.truth.lifetimes = (ready - failed).total_seconds(), 2
    return [server]


def made_worse(release: str) -> list[Server]:
    """A good start with an end of its own, then three starts with a larger pool, which all fail."""
    server = Server(release, mem_fraction_static=0.85)
    server.start()
    server.batches(10, running=30)
    server.exception("", DECODE_FRAMES, DECODE)
    server.sigquit()
    server.args["mem_fraction_static"] = 0.96
    for _ in range(3):
        server.wait(10)
        server.truth.steps.clear()
        server.arguments()
        server.distributed()
        server.weights(78.0, 30.0)
        server.pool(250000, 27.0, 2.4)
        server.graphs(2.2, None)
        server.exception("", GRAPH_FRAMES, graph_failure())
        server.sigquit()
    server.truth.cause, server.truth.recovery, server.truth.lifetimes = (
        "graph-capture-out-of-memory",
        "dead",
        4,
    )
    server.truth.changed = {"mem_fraction_static": (0.85, 0.96)}
    server.truth.running = None
    return [server]


def second_node_first(release: str) -> list[Server]:
    """Two nodes, the second in another time zone: it runs out of memory, the first only loses its peer."""
    first = Server(release, nnodes=2, dist_init_addr="10.0.0.1:20000", node_rank=0)
    second = Server(release, begin="2026-11-30 15:00:00", nnodes=2, dist_init_addr="10.0.0.1:20000", node_rank=1)
    for server, rank in ((first, "TP0"), (second, "TP1")):
        server.ranks = (rank,)
        server.args["tp_size"] = 2
        server.start()
    first.batches(20, running=9)
    second.wait(20)
    second.exception("TP1", FORWARD_FRAMES, f"torch.OutOfMemoryError: {out_of_memory(0)}")
    second.sigquit()
    first.exception(
        "TP0",
        FORWARD_FRAMES,
        "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.2]:43210",
        at=2.0,
    )
    first.sigquit(3.0)
    first.truth.cause, first.truth.recovery = "cuda-out-of-memory", "dead"
    first.truth.steps |= second.truth.steps
    first.truth.args = second.truth.args  # the node that failed
    first.truth.ranks = ("TP0", "TP1")
    first.truth.running = None
    return [first, second]


def one_rank_stands_elsewhere(release: str) -> list[Server]:
    """A hang: three ranks wait in an all-reduce, TP3 compiles a grammar."""
    server = Server(release, tp=4)
    server.start()
    server.batches(10, running=5)
    server.wait(300)
    waiting = [
        "all_reduce (distributed_c10d.py:2810)",
        "forward (model.py:88)",
        "run_batch (scheduler.py:1500)",
    ]
    compiling = [
        "compile_json (grammar.py:55)",
        "get_grammar (backend.py:40)",
        "run_batch (scheduler.py:1500)",
    ]
    for index, rank in enumerate(server.ranks):
        heading = "Pyspy dump for PID"
        server.say(f"{heading} {500 + index}:", rank)
        server.bare(
            f"Process {500 + index}: sglang::scheduler_{rank}",
            "Python v3.12.12 (/usr/bin/python3.12)",
            "",
            f'Thread {500 + index} (active): "MainThread"',
            *(f"    {frame}" for frame in (compiling if rank == "TP3" else waiting)),
            f'Thread {900 + index} (idle): "Thread-10 (watchdog_thread)"',
            "    pyspy_dump_schedulers (common.py:2218)",
            "",
        )
        name = "Scheduler watchdog timeout" if server.version >= (0, 5, 7) else "Watchdog timeout"
        soft = ", self.soft=False" if server.version >= (0, 5, 7) else ""
        server.say(f"{name} (self.watchdog_timeout=300{soft})", rank)
    server.wait(5)
    server.sigquit()
    server.truth.cause, server.truth.stuck, server.truth.recovery = (
        "scheduler-watchdog-timeout",
        "TP3",
        "dead",
    )
    return [server]


def one_rank_does_not_load(release: str) -> list[Server]:
    server = Server(release, tp=4)
    server.arguments()
    server.distributed()
    server.weights(78.0, 40.0, missing=("TP1",))
    server.truth.unfinished = "TP1"
    return [server]


def healthy(release: str) -> list[Server]:
    server = Server(release, tp=2)
    server.start()
    server.batches(60, running=12)
    server.truth.running = None
    return [server]


STORIES: tuple[Callable[[str], list[Server]], ...] = (
    graphs_do_not_fit,
    no_pool,
    weights_too_large,
    dies_while_serving,
    comes_back,
    made_worse,
    second_node_first,
    one_rank_stands_elsewhere,
    one_rank_does_not_load,
    healthy,
)

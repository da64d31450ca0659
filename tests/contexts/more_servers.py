"""More whole server logs, of set-ups that differ: data-parallel attention, pipelines, drafts, MLA, containers.

As `servers`: wordings are spelled out per release, and nothing of the readers under test is used.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.contexts.servers import (
    DECODE,
    DECODE_FRAMES,
    FORWARD_FRAMES,
    GRAPH_FRAMES,
    NO_POOL,
    POOL_FRAMES,
    Server,
    graph_failure,
    number,
    out_of_memory,
)


def label(release: str, tp: int, *, dp: int | None = None, ep: int | None = None, pp: int | None = None) -> str:
    """The labels of a rank in the order of the release."""
    parts = {"DP": dp, "TP": tp, "EP": ep, "PP": pp}
    order = ("DP", "TP", "EP", "PP") if number(release) < (0, 5, 6) else ("DP", "PP", "TP", "EP")
    return " ".join(f"{name}{parts[name]}" for name in order if parts[name] is not None)


class Wide(Server):
    """A server whose ranks are labelled with more than their tensor-parallel number."""

    def __init__(self, release: str, ranks: list[str], **args: object) -> None:
        super().__init__(release, tp=len(ranks), **args)  # type: ignore[arg-type]
        self.ranks = tuple(ranks)
        self.truth.ranks = tuple(ranks)

    def mla_pool(self, tokens: int, size: float, left: float) -> None:
        dtype = "dtype: torch.bfloat16, " if self.version >= (0, 5, 13) else ""
        for rank in self.ranks:
            self.say(f"KV Cache is allocated. {dtype}#tokens: {tokens}, KV size: {size:.2f} GB", rank)
            self.step("pool_end", rank, f"Memory pool end. avail mem={left:.2f} GB", left)
        self.truth.pool_tokens = tokens


def data_parallel_attention(release: str) -> list[Server]:
    """Eight data-parallel ranks serve; DP3 meets an illegal access, the others follow."""
    ranks = [label(release, rank, dp=rank, ep=rank) for rank in range(8)]
    server = Wide(release, ranks, dp_size=8, ep_size=8, enable_dp_attention=True)
    server.arguments()
    server.distributed()
    server.weights(138.0, 60.0)
    server.mla_pool(512000, 33.1, 20.0)
    server.graphs(19.5, 16.0)
    server.ready()
    for _ in range(3):
        for index, rank in enumerate(ranks):
            comma = ", " if server.version >= (0, 5, 5) else ". "
            tail = ", " if (0, 4, 10) <= server.version < (0, 5, 9) else ""
            server.say(
                f"Decode batch{comma}#running-req: {20 + index}, #token: 9000, token usage: 0.11, cuda graph: True, "
                f"gen throughput (token/s): 811.20, #queue-req: 0{tail}",
                rank,
            )
        server.wait(2)
    error = "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"
    server.exception(ranks[3], FORWARD_FRAMES, error)
    for rank, at in ((ranks[0], 2.0), (ranks[7], 3.0)):
        server.exception(rank, FORWARD_FRAMES, error, at)
    server.sigquit(4.0)
    server.truth.cause, server.truth.first_ranks, server.truth.recovery = "cuda", (ranks[3],), "dead"
    server.truth.running = 27
    return [server]


def pipeline(release: str) -> list[Server]:
    """Two pipeline stages of two ranks; the second stage finds no memory for its pool."""
    ranks = [label(release, tp, pp=pp) for pp in (0, 1) for tp in (0, 1)]
    server = Wide(release, ranks, pp_size=2)
    server.arguments()
    server.distributed()
    server.weights(78.0, 30.0)
    server.exception(ranks[2], POOL_FRAMES, NO_POOL)
    server.exception(ranks[3], POOL_FRAMES, NO_POOL, 1.0)
    server.sigquit(2.0)
    server.truth.ranks = tuple(sorted(ranks))
    server.truth.cause, server.truth.first_ranks = "kv-pool-no-memory-left", (ranks[2],)
    server.truth.recovery = "dead"
    return [server]


def with_a_draft_model(release: str) -> list[Server]:
    """Target and draft model load, two kinds of graphs are captured; the draft's do not fit."""
    server = Server(release, tp=2, speculative_algorithm="EAGLE", mem_fraction_static=0.9)
    server.arguments()
    server.distributed()
    server.weights(78.0, 40.0)
    server.pool(300000, 30.0, 5.0)
    server.graphs(4.8, 3.4)
    server.weights(3.4, 2.2)
    for rank in server.ranks:
        text = "Capture draft cuda graph begin. This can take up to several minutes. avail mem=2.10 GB"
        if server.version >= (0, 5, 14):
            text = "Capture draft decode CUDA graph begin. backend=full, num_tokens_per_req=1, avail mem=2.10 GB"
        server.step("graph_begin", rank, text, 2.1)
    server.wait(2)
    server.exception("TP1", GRAPH_FRAMES, graph_failure(1))
    server.exception("TP0", GRAPH_FRAMES, graph_failure(0), 2.0)
    server.sigquit(3.0)
    server.truth.cause, server.truth.first_ranks = "graph-capture-out-of-memory", ("TP1",)
    server.truth.recovery = "dead"
    return [server]


def a_request_fails(release: str) -> list[Server]:
    """One request is refused, the next ones are served."""
    server = Server(release)
    server.start()
    server.batches(6, running=4)
    server.say("[http_server] Error: Traceback (most recent call last):")
    server.bare(
        '  File "/x/sglang/srt/entrypoints/http_server.py", line 600, in generate_request',
        "    ret = await generator",
        "ValueError: The input (40000 tokens) is longer than the model's context length (32768 tokens).",
        "",
    )
    server.wait(3)
    server.batches(6, running=4)
    server.truth.recovery, server.truth.seconds = "serving", 3.0
    server.truth.cause = "context-length-exceeded"
    return [server]


def restarts_with_less(release: str) -> list[Server]:
    """Graphs do not fit; started again with a smaller pool, it serves."""
    server = Server(release, mem_fraction_static=0.95)
    server.arguments()
    server.distributed()
    server.weights(78.0, 30.0)
    server.pool(250000, 27.0, 2.4)
    server.graphs(2.2, None)
    server.exception("", GRAPH_FRAMES, graph_failure())
    failed = server.clock
    server.sigquit()
    server.wait(40)
    steps, arguments = {key: list(value) for key, value in server.truth.steps.items()}, dict(server.truth.args)
    server.args["mem_fraction_static"] = 0.85
    server.start()
    ready = server.clock
    server.batches(10, running=3)
    truth = server.truth
    truth.steps, truth.args, truth.pool_tokens, truth.running = steps, arguments, 250000, None
    truth.cause, truth.recovery, truth.lifetimes = "graph-capture-out-of-memory", "restarted", 2
    truth.seconds = (ready - failed).total_seconds() - 2
    return [server]


def killed_by_the_kernel(release: str) -> list[Server]:
    """The scheduler is killed while it loads; the parent only sees the end of it."""
    server = Server(release)
    server.arguments()
    server.distributed()
    for rank in server.ranks:
        server.step("weights_begin", rank, "Load weight begin. avail mem=78.00 GB", 78.0)
    server.wait(90)
    server.bare(
        "Traceback (most recent call last):",
        '  File "<frozen runpy>", line 198, in _run_module_as_main',
        '  File "<frozen runpy>", line 88, in _run_code',
        '  File "/x/sglang/launch_server.py", line 29, in <module>',
        "    run_server(server_args)",
        '  File "/x/sglang/srt/entrypoints/engine.py", line 1820, in _wait_for_scheduler_ready',
        "    raise _scheduler_died_error(j, scheduler_procs[j])",
        "RuntimeError: Rank 0 scheduler died during initialization (exit code: -9). If exit code is -9 (SIGKILL), a "
        "common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check.",
    )
    server.truth.cause, server.truth.recovery = "child-killed-exit-9", "dead"
    return [server]


def three_nodes(release: str) -> list[Server]:
    """Three nodes in step; the last one fails, the others lose it."""
    servers = []
    for node in range(3):
        server = Server(release, nnodes=3, dist_init_addr="10.0.0.1:20000", node_rank=node)
        server.ranks = (f"TP{node}",)
        server.args["tp_size"] = 3
        server.start()
        servers.append(server)
    servers[0].batches(5, running=11)
    servers[2].wait(5)
    servers[2].exception("TP2", FORWARD_FRAMES, f"torch.OutOfMemoryError: {out_of_memory(0)}")
    servers[2].sigquit()
    for server, rank, wait in ((servers[0], "TP0", 2.0), (servers[1], "TP1", 8.0)):
        server.wait(wait)
        server.exception(
            rank,
            FORWARD_FRAMES,
            "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer "
            "[10.0.0.3]:43210",
        )
        server.sigquit()
    truth = servers[0].truth
    truth.cause, truth.recovery = "cuda-out-of-memory", "dead"
    for server in servers[1:]:
        truth.steps |= server.truth.steps
    truth.args, truth.ranks, truth.running = servers[2].truth.args, ("TP0", "TP1", "TP2"), None
    return servers


def prefill_and_decode(release: str) -> list[Server]:
    """A decode server that runs out of its pool, of a pair."""
    server = Server(release, disaggregation_mode="decode", tp=2)
    server.start()
    comma = ", " if server.version >= (0, 5, 5) else ". "
    tail = ", " if (0, 4, 10) <= server.version < (0, 5, 9) else ""
    for index in range(12):
        server.say(
            f"Decode batch{comma}#running-req: 33, #token: {7000 + index}, token usage: 0.95, "
            "pre-allocated usage: 0.01, #prealloc-req: 0, #transfer-req: 1, #retracted-req: 0, cuda graph: True, "
            f"gen throughput (token/s): 1904.{index:02}, #queue-req: 0{tail}",
            "TP0",
        )
        server.wait(1)
    server.exception("TP0", DECODE_FRAMES, DECODE)
    server.exception("TP1", DECODE_FRAMES, DECODE, 1.0)
    server.sigquit(2.0)
    server.truth.running = 33
    server.truth.cause, server.truth.first_ranks = "kv-pool-decode-out-of-memory", ("TP0",)
    server.truth.recovery = "dead"
    return [server]


MORE: tuple[Callable[[str], list[Server]], ...] = (
    data_parallel_attention,
    pipeline,
    with_a_draft_model,
    a_request_fails,
    restarts_with_less,
    killed_by_the_kernel,
    three_nodes,
    prefill_and_decode,
)

"""The launch context, who failed first, and what became of the server, on whole logs of five releases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explain.authoring.harvest_tree import version_key
from explain.model import Report
from explain.render import json as json_format
from explain.render import markdown, terminal
from explain.startup import attention_backend, batch, gpu_name, kv_pool, launch_command, memory_step
from tests.contexts.more_servers import MORE
from tests.contexts.servers import RELEASES, STORIES, Server, Truth
from tests.contract import check_json_output
from tests.helpers import explain_text

ALL = (*STORIES, *MORE)
CASES = [(story.__name__, release) for story in ALL for release in RELEASES]


@cache
def told(story: str, release: str) -> tuple[Truth, Report, tuple[str, ...]]:
    servers: list[Server] = next(one for one in ALL if one.__name__ == story)(release)
    texts = tuple(server.text for server in servers)
    return servers[0].truth, explain_text(*texts), texts


def checks(truth: Truth, report: Report) -> Iterator[tuple[str, bool, object]]:
    """(name, whether it is right, what was told) for each thing the log tells."""
    context = report.context
    yield "release", releases_hold(context.sglang_version, truth.release), context.sglang_version
    yield "model", context.model == truth.model, context.model
    given = {name: context.server_args.get(name) for name in truth.args}
    yield "server_args", given == truth.args, {n: v for n, v in given.items() if truth.args[n] != v}
    yield "ranks", context.ranks == truth.ranks, context.ranks
    yield "nodes", context.nodes == truth.args["nnodes"], context.nodes
    yield "attention_backend", context.attention_backend == "fa3", context.attention_backend
    steps: dict[tuple[str, str], list[float | None]] = {}
    for step in context.memory:
        steps.setdefault((step.step, step.rank), []).append(step.available)
    yield (
        "memory",
        {k: v[-1:] for k, v in steps.items()} == {k: v[-1:] for k, v in truth.steps.items()},
        steps,
    )
    if truth.pool_tokens is not None:
        yield "pool", {pool.tokens for pool in context.pools} <= {truth.pool_tokens, 368211}, context.pools
    running = [one.fields.get("#running-req") for one in context.batches if one.kind == "decode"]
    if truth.cause is not None:
        yield "batches", (running[-1] if running else None) == truth.running, running
    if truth.unfinished:
        yield "unfinished", any(truth.unfinished in words for words in context.unfinished), context.unfinished
    yield "lifetimes", len(context.lifetimes) == truth.lifetimes, context.lifetimes
    changed = {one.argument: (one.before, one.after) for one in context.changes}
    yield "changes", changed == truth.changed, changed


def releases_hold(told: str | None, release: str) -> bool:
    if told is None:
        return False
    first, _, last = told.partition(" to ")
    return bool(version_key(first) <= version_key(release) <= version_key(last or first))


def failures(truth: Truth, report: Report) -> Iterator[tuple[str, bool, object]]:
    first = report.findings[0] if report.findings else None
    slug = first.record.slug if first and first.record and first.role == "cause" else None
    yield "cause", slug == truth.cause or (slug or "").startswith(truth.cause or "none"), slug
    if truth.cause is None or first is None:
        return
    if truth.first_ranks is not None:
        yield "first_ranks", first.first_ranks == truth.first_ranks, first.first_ranks
    if truth.stuck:
        yield "stuck", len(first.stuck) == 1 and first.stuck[0].startswith(truth.stuck), first.stuck


def recoveries(truth: Truth, report: Report) -> Iterator[tuple[str, bool, object]]:
    if truth.recovery is None:
        return
    first = report.findings[0] if report.findings else None
    after = first.recovery if first else None
    yield "recovery", after is not None and after.state == truth.recovery, after
    if truth.seconds is not None:
        yield "seconds", after is not None and after.seconds == truth.seconds, after


@pytest.mark.parametrize(
    ("name", "questions", "share"),
    [("context", checks, 0.98), ("failures", failures, 0.95), ("recoveries", recoveries, 0.95)],
)
def test_contexts(name: str, questions, share: float, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    wrong, asked = [], 0
    for story, release in CASES:
        truth, report, _ = told(story, release)
        for question, right, answer in questions(truth, report):
            asked += 1
            if not right:
                wrong.append(f"{story} {release}: {question}: {str(answer)[:200]}")
    with capsys.disabled():
        print(f"\n{name}: {asked - len(wrong)} of {asked} right in {len(CASES)} logs", *wrong, sep="\n  ")
    assert asked >= 45
    assert len(wrong) <= (1 - share) * asked


@pytest.mark.parametrize(("story", "release"), CASES)
def test_the_report_is_to_the_contract(story: str, release: str) -> None:
    _, report, _ = told(story, release)
    check_json_output(json_format.render(report))


@pytest.mark.parametrize("story", [story.__name__ for story in ALL])
def test_the_context_is_read_far_behind_the_head(story: str) -> None:
    """The same start behind megabytes of ordinary lines tells the same."""
    truth, report, texts = told(story, "0.5.10")
    if len(texts) > 1:
        pytest.skip("one log")
    filler = '[2026-11-29 08:00:00] INFO:     10.0.0.7:4 - "GET /health HTTP/1.1" 200 OK\n' * 8000
    deep = explain_text(filler + texts[0])
    for field in (
        "sglang_version",
        "server_args",
        "ranks",
        "limits",
        "changes",
        "unfinished",
        "attention_backend",
    ):
        assert getattr(deep.context, field) == getattr(report.context, field), field
    assert [(s.step, s.rank, s.available) for s in deep.context.memory] == [
        (s.step, s.rank, s.available) for s in report.context.memory
    ]
    assert [f.recovery and f.recovery.state for f in deep.findings] == [
        f.recovery and f.recovery.state for f in report.findings
    ]
    assert [b.fields for b in deep.context.batches] == [b.fields for b in report.context.batches]
    del truth


def test_secrets_of_a_launch_command_are_masked() -> None:
    log = (
        "+ python3 -m sglang.launch_server --model-path org/m --api-key sk-very-secret-0123456789 \\\n"
        "    --tp 2\n"
        "[2026-11-30 08:00:00] server_args=ServerArgs(model_path='org/m', api_key='sk-very-secret-0123456789')\n"
        "[2026-11-30 08:00:09] Scheduler hit an exception: Traceback (most recent call last):\n"
        '  File "/x/sglang/srt/managers/scheduler.py", line 1, in f\n'
        "    raise RuntimeError()\n"
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
    )
    report = explain_text(log)
    assert report.context.command is not None and report.context.command.endswith("--tp 2")
    printed = json_format.render(report).decode()
    assert "very-secret" not in printed
    assert json.loads(printed)["context"]["model"] == "org/m"


def test_clients_in_the_access_log_do_not_hide_what_tells_the_release() -> None:
    lines = [
        f'[2026-11-30 08:00:00] INFO:     10.0.{n}.7:{10000 + 37 * n} - "POST /generate HTTP/1.1" 200 OK'
        for n in range(200)
    ]
    lines.append(
        "[2026-11-30 08:00:01 PP1 TP0] max_total_num_tokens=434, chunked_prefill_size=8192, max_prefill_tokens=16384, "
        "max_running_requests=2048, context_len=131072, available_gpu_mem=9.43 GB"
    )
    lines.append("ValueError: whatever it is")
    assert explain_text("\n".join(lines)).context.sglang_version == "0.5.5 to 0.5.23"


def test_prompts_are_not_read_as_context() -> None:
    log = (
        "[2026-11-30 08:00:00] Receive: obj=GenerateReqInput(text='server_args=ServerArgs(tp_size=9, a=1) "
        "avail mem=3.00 GB', rid='1')\n"
    )
    context = explain_text(log).context
    assert not context.server_args and not context.memory


@pytest.mark.parametrize("before", ["sglang-1  | ", "2026-11-30T08:00:00.123456789Z stderr F "])
def test_batches_and_recovery_behind_a_carrier(before: str) -> None:
    server = Server("0.5.10")
    server.start()
    server.batches(30, running=21)
    server.exception("", [("sglang/srt/x.py", 1, "f", "raise ValueError()")], "ValueError: odd")
    server.wait(4)
    server.batches(30, running=22)
    report = explain_text("".join(f"{before}{line}\n" for line in server.text.splitlines()), head=0)
    (decode,) = [one for one in report.context.batches if one.kind == "decode"]
    assert decode.fields["#running-req"] == 21
    assert decode.place.time is not None


def test_two_servers_in_one_stream_are_no_restart() -> None:
    lines = "".join(
        f"[2026-11-30 08:00:0{second}] server_args=ServerArgs(model_path='m', port={port}, "
        f"disaggregation_mode='{mode}')\n"
        for second, port, mode in ((0, 30000, "prefill"), (1, 30001, "decode"))
    )
    log = lines + (
        "[2026-11-30 08:00:09] Scheduler hit an exception: Traceback (most recent call last):\n"
        '  File "/x/sglang/srt/managers/scheduler.py", line 1, in f\n'
        "    raise RuntimeError()\n"
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
    )
    report = explain_text(log)
    assert report.findings[0].recovery is not None and report.findings[0].recovery.state == "dead"
    assert len(report.context.lifetimes) == 1


def test_a_request_error_leaves_the_server_serving() -> None:
    server = Server("0.5.10")
    server.start()
    server.batches(5, running=2)
    server.say("[http_server] Error: Traceback (most recent call last):")
    server.bare('  File "/x/sglang/srt/entrypoints/http_server.py", line 600, in generate_request')
    server.bare("    ret = await anext(generator)")
    server.bare("ValueError: The input (40000 tokens) is longer than the model's context length (32768 tokens).", "")
    server.wait(3)
    server.batches(5, running=2)
    report = explain_text(server.text)
    assert report.findings, "the error is found"
    recovery = report.findings[0].recovery
    assert recovery is None or (recovery.state, recovery.seconds) == ("serving", 3.0)


@pytest.mark.parametrize(
    ("reader", "text", "expected"),
    [
        (memory_step, "Load weight begin. avail mem=78.21 GB", ("weights_begin", 78.21, None, None, None)),
        (memory_step, "Capture draft extend cuda graph end. Time elapsed: 1.2 s. mem usage=0.30 GB. avail mem=4.10 GB.",
         ("graph_end", 4.1, 0.3, None, None)),
        (memory_step, "LoRA adapter loading starts: x. avail mem=3.00 GB", None),
        (kv_pool, "KV Cache is allocated. #tokens: 10, KV size: 26.30 GB", (10, 26.3, None)),
        (kv_pool, "KV Cache VA upper bound. dtype: torch.bfloat16, #tokens: 10, KV size: 26.30 GB", None),
        (memory_step, "Post-capture KV sizing: KV cache allocated. dtype: torch.bfloat16, #tokens: 9, KV size: 4.10 GB, "
         "avail mem=7.90 GB", ("pool_end", 7.9, None, None, None)),
        (attention_backend, "MLA optimization is turned on. Use fa3 backend.", "fa3"),
        (attention_backend, "MLA optimization is turned on. Use flashinfer mla backend.", "flashinfer"),
        (attention_backend, "Attention backend not explicitly specified. Use fa3 backend by default.", "fa3"),
        (attention_backend, "Attention backend not specified. Falling back to 'triton' for deterministic inference.", "triton"),
        (attention_backend, "Use trtllm_mla as attention backend on sm100 for DeepseekV3ForCausalLM", "trtllm_mla"),
        (attention_backend, "Using aiter as attention backend for GptOssForCausalLM.", "aiter"),
        (attention_backend, "The current platform does not support Intel AMX, will fallback to torch_native backend.",
         "torch_native"),
        (attention_backend, "Using fa3 as multimodal attention backend.", None),
        (attention_backend, "Multimodal attention backend not set. Use triton_attn.", None),
        (attention_backend, "Using hybrid attention backend for decode and prefill: decode_backend=fa3, prefill_backend=fa4.",
         "fa4 (prefill), fa3 (decode)"),
        (gpu_name, "Config file not found at /c/E=256,N=256,device_name=NVIDIA_H20-3e,dtype=fp8.json", "NVIDIA H20-3e"),
        (launch_command, "usage: sglang serve [-h] --model-path", None),
        (batch, "Decode batch [7], #running-req: 3, #queue-req: 0, ", ("decode", {"#running-req": 3, "#queue-req": 0})),
    ],
)  # fmt: skip
def test_single_lines(reader, text: str, expected: object) -> None:  # type: ignore[no-untyped-def]
    found = reader(text)
    assert (tuple(found) if isinstance(found, tuple) else found) == expected


@pytest.mark.parametrize(
    ("listing", "name"),
    [
        ("GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\nGPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-2)\n", "NVIDIA A100-SXM4-80GB"),
        ("CUDA available: True\nGPU 0,1: NVIDIA H200\nGPU 0 Compute Capability: 9.0\n", "NVIDIA H200"),
        ("GPU 0,1,2,3: AMD Instinct MI300X\n", "AMD Instinct MI300X"),
        ("| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
         "|   0  NVIDIA H100 80GB HBM3          On  |   00000000:19:00.0 Off |                    0 |\n",
         "NVIDIA H100 80GB HBM3"),
    ],
)  # fmt: skip
def test_the_gpu_is_told_before_the_server_starts(listing: str, name: str) -> None:
    server = Server("0.5.10")
    server.start()
    assert explain_text(listing + server.text).context.gpu == name


PIECES = (
    "[2026-11-30 08:00:00 TP1] ", "[2026-11-30 08:00:09] ", "server_args=ServerArgs(", "server_args={'", "model_path='m', ",
    "tp_size=8, ", "mem_fraction_static=", "nnodes=2, dist_init_addr='a:1', ", "Load weight begin. avail mem=",
    "Load weight end. type=X, avail mem=", "Memory pool end. avail mem=", "9" * 400, "-1.5", "0.9", " GB", "1e999",
    "KV Cache is allocated. #tokens: ", "K size: 1.0 GB, V size: 1.0 GB", "max_total_num_tokens=", "Decode batch. ",
    "#running-req: ", "The server is fired up and ready to roll!", "Capture cuda graph end. mem usage=", "NVIDIA a a",
    "python -m sglang.launch_server --model-path ", " \\\\", "\n", "\n", "\n", ", ", ")", "}",
    "Pyspy dump for PID 1:\n", 'Thread 1 (active): "MainThread"\n    f (x.py:1)\n',
    "Scheduler hit an exception: Traceback (most recent call last):\n", '  File "/x/sglang/srt/a.py", line 1, in f\n',
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n", "Killed\n",
    "error: unrecognized arguments: --x\n", "\x1b[31m", "\ud7ff",
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), min_size=1, max_size=2))
def test_no_mixture_of_such_lines_fails(texts: list[str]) -> None:
    report = explain_text(*texts, head=0)
    check_json_output(json_format.render(report))
    markdown.render(report, chosen=report.context.server_args)
    terminal.render(report, width=80, color=False)


def test_a_restart_without_arguments_does_not_inherit_those_before() -> None:
    first = Server("0.5.10", mem_fraction_static=0.91)
    first.start()
    again = Server("0.5.10", begin="2026-11-30 09:00:00")
    again.distributed()
    again.weights(70.0, 50.0)
    again.exception("", [("sglang/srt/x.py", 1, "f", "raise ValueError()")], "ValueError: odd")
    context = explain_text(first.text + again.text).context
    assert not context.server_args and len(context.lifetimes) == 2
    assert [step.available for step in context.memory if step.step == "weights_begin"] == [70.0]

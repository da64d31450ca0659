"""Failures that look like a better known one: the first finding is theirs, not the neighbour's."""

from __future__ import annotations

import pytest

from tests.helpers import explain_text

HEAD = "[2026-08-22 03:44:09 TP3] Scheduler hit an exception: Traceback (most recent call last):\n"
TREE = "/sgl-workspace/sglang/python/sglang/srt/"


def raised(*frames: str, error: str) -> str:
    """A scheduler's traceback: frames are `file:function`, and what was raised."""
    lines = [HEAD]
    for frame in frames:
        file, _, function = frame.rpartition(":")
        lines.append(f'  File "{file if file[0] == "/" else TREE + file}", line 100, in {function}\n    step()\n')
    return "".join(lines) + error + "\n"


CASES = {
    "a pool that was never page-locked is no failed copy": (
        raised("mem_cache/memory_pool_host.py:init_kv_buffer", error="RuntimeError: CUDA error: invalid argument"),
        "hicache-host-pool-not-pinned",
    ),
    "a copy of pages is no failed page-lock": (
        raised("mem_cache/memory_pool_host.py:load_to_device", error="RuntimeError: CUDA error: invalid argument"),
        "hicache-copy-cuda-error",
    ),
    "a prefix cache that cannot be built is no race in it": (
        raised("mem_cache/mamba_radix_cache.py:__init__", error="AssertionError"),
        "mamba-radix-cache-needs-page-size-one",
    ),
    "a race in the prefix cache stays one": (
        raised("mem_cache/mamba_radix_cache.py:evict", error="AssertionError"),
        "radix-cache-bare-assert",
    ),
    "a pool's own check is not the tree's": (
        raised("mem_cache/deepseek_v4_memory_pool.py:create_buffer", error="AssertionError"),
        "kv-pool-bare-assert",
    ),
    "a backend without latent attention has no fault of graphs": (
        raised(
            "layers/attention/torch_native_backend.py:_run_sdpa_forward_extend",
            error="RuntimeError: Expected size for first two dimensions of batch2 tensor to be: [16, 192] "
            "but got: [16, 576].",
        ),
        "torch-native-attention-cannot-run-mla",
    ),
    "triton is not the way out where triton fails": (
        raised(
            "model_executor/model_runner.py:init_attention_backend",
            "layers/attention/triton_backend.py:__init__",
            "mem_cache/memory_pool.py:_get_value_buffer",
            error="IndexError: list index out of range",
        ),
        "triton-attention-pipeline-stage-without-first-layer",
    ),
    "a helper without a driver library is no old driver": (
        raised(
            "managers/scheduler.py:event_loop_overlap",
            error="ImportError: /root/.triton/cache/4a/cuda_utils.so: undefined symbol: cuModuleGetFunction",
        ),
        "triton-driver-library-not-linked",
    ),
    "a wheel that is newer than the driver stays one": (
        raised(
            "managers/scheduler.py:event_loop_overlap",
            error="ImportError: /opt/sgl_kernel/common_ops.abi3.so: undefined symbol: cuGreenCtxStreamCreate",
        ),
        "sgl-kernel-driver-too-old",
    ),
}


@pytest.mark.parametrize(("text", "slug"), CASES.values(), ids=CASES)
def test_first_finding(text: str, slug: str) -> None:
    first = explain_text(text).findings[0]
    assert first.record is not None
    assert (first.role, first.record.slug) == ("cause", slug)


def test_a_client_that_left_is_not_a_timeout() -> None:
    """Its chain passes through the time-out of one slice of waiting, which is caught."""
    text = (
        "[2026-01-12 21:03:30] Task exception was never retrieved\n"
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/python3.12/asyncio/locks.py", line 212, in wait\n    await it\n'
        "asyncio.exceptions.CancelledError\n"
        "\nThe above exception was the direct cause of the following exception:\n\n"
        "Traceback (most recent call last):\n"
        f'  File "{TREE}managers/tokenizer_manager.py", line 1010, in _wait_one_response\n    await a_slice\n'
        '  File "/usr/lib/python3.12/asyncio/tasks.py", line 519, in wait_for\n    async with limit:\n'
        "TimeoutError\n"
        "\nDuring handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n"
        f'  File "{TREE}managers/tokenizer_manager.py", line 1018, in _wait_one_response\n    give_up()\n'
        "ValueError: Request is disconnected from the client side (type 1). Abort request obj.rid='f2ea'\n"
    )
    report = explain_text(text)
    assert [finding for finding in report.findings if finding.role == "cause"] == []
    assert any(found.record and found.record.slug == "client-disconnected" for found in report.findings)

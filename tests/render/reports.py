"""Reports made by hand, for the tests of the renderers."""

from __future__ import annotations

from typing import Any

from explain.model import (
    Event,
    Finding,
    Frame,
    LaunchContext,
    Match,
    Place,
    Record,
    Report,
    SiteInfo,
    Source,
    Stats,
    Traceback,
)

SECRET = "Zq7Xw9Kp2Lm4Vn8R"

RAW: dict[str, Any] = {
    "id": "0123456789abcdef",
    "slug": "cuda-graph-capture-out-of-memory",
    "title": "CUDA graph capture ran out of GPU memory",
    "messagePattern": "Capture cuda graph failed: CUDA out of memory",
    "severity": "critical",
    "documentation": "The weights and the KV cache pool were placed, but recording the CUDA graphs needs "
    "memory of its own and there was not enough left. Nothing is wrong with the model or the installation.",
    "triggerScenarios": "The pool takes --mem-fraction-static of the GPU; graphs for large batch sizes, and "
    "for draft models, have to fit into the rest.",
    "commonSituations": "A value of --mem-fraction-static copied from a smaller model; speculative decoding "
    "switched on without lowering it.",
    "solutions": [
        "Lower --mem-fraction-static by 0.05 (for example from 0.90 to 0.85); 'avail mem' on the line "
        "'Memory pool end' should then be at least 4 GB.",
        "Lower --cuda-graph-max-bs to the concurrency you serve, for example 64.",
        "Check with nvidia-smi that no other process uses the GPU.",
    ],
    "exampleFix": "# before\npython -m sglang.launch_server --model-path MODEL --tp 8 --mem-fraction-static "
    "0.90\n# after\npython -m sglang.launch_server --model-path MODEL --tp 8 --mem-fraction-static 0.85 "
    "--cuda-graph-max-bs 64",
    "preventionTips": ["Leave 4 GB free per GPU."],
    "githubUrl": "https://github.com/sgl-project/sglang/blob/v0.5.10/python/sglang/srt/model_executor/x.py#L655",
    "examples": [["Capture cuda graph failed: CUDA out of memory"]],
    "customField": {"kept": True},
}


def record(**changes: Any) -> Record:
    raw = {**RAW, **changes}
    return Record(
        id=raw["id"],
        slug=raw["slug"],
        pattern=raw["messagePattern"],
        title=raw["title"],
        error_message=raw["examples"][0][0],
        error_type="exception",
        error_class=None,
        severity=raw["severity"],
        role="cause",
        file_path=None,
        line_number=None,
        documentation=raw["documentation"],
        trigger_scenarios=raw["triggerScenarios"],
        common_situations=raw["commonSituations"],
        solutions=tuple(raw["solutions"]),
        example_fix=raw["exampleFix"],
        prevention_tips=tuple(raw["preventionTips"]),
        tags=("memory",),
        github_url=raw["githubUrl"],
        references=(),
        examples=tuple(map(tuple, raw["examples"])),
        near_misses=(),
        also=(),
        fits=(),
        frames=(),
        area="memory",
        source="memory/x.json",
        raw=raw,
    )


SITE = SiteInfo(
    id="fedcba9876543210",
    file="sglang/srt/speculative/base_spec_worker.py",
    function="_build_hicache_draft_plan",
    line=262,
    first_version="0.5.18",
    last_version="0.5.21",
    gone=True,
    exception="NotImplementedError",
)
FRAMES = (
    Frame("/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py", 3600, "run_scheduler_process"),
    Frame(
        "/sgl-workspace/sglang/python/sglang/srt/model_executor/cuda_graph_runner.py",
        655,
        "__init__",
        "raise E(",
    ),
)


def finding(**changes: Any) -> Finding:
    values: dict[str, Any] = {
        "role": "cause",
        "kind": "traceback",
        "count": 8,
        "ranks": tuple(f"TP{rank}" for rank in range(8)),
        "first": Place("server.log", 14, "2026-11-30 08:15:12"),
        "last": Place("server.log", 190, "2026-11-30 08:15:14"),
        "exception": "Exception",
        "message": "Capture cuda graph failed: CUDA out of memory. Tried to allocate 1.17 GiB. GPU 3 has a "
        "total capacity of 139.80 GiB of which 912.31 MiB is free.\nPossible solutions:\n1. set "
        "--mem-fraction-static",
        "captures": {"size": "1.17 GiB"},
        "frame": Frame("sglang/srt/model_executor/cuda_graph_runner.py", 655, "__init__"),
        "site": None,
        "confidence": 1.0,
        "record": record(),
        "solutions": (),
        "frames": FRAMES,
        "text": "",
    }
    return Finding(**{**values, **changes})


def consequence(**changes: Any) -> Finding:
    values: dict[str, Any] = {
        "role": "consequence",
        "kind": "message",
        "count": 1,
        "ranks": (),
        "first": Place("server.log", 200, "2026-11-30 08:15:15"),
        "last": Place("server.log", 200, "2026-11-30 08:15:15"),
        "exception": None,
        "message": "Received sigquit from a child process. It usually means the child failed.",
        "frame": None,
        "frames": (),
        "record": record(id="1" * 16, slug="child-failed", title="A child process failed and stopped the server"),
        "captures": {},
    }
    return finding(**{**values, **changes})


def unexplained(**changes: Any) -> Finding:
    values: dict[str, Any] = {
        "count": 1,
        "ranks": ("TP3",),
        "exception": "KeyError",
        "message": "'model.layers.3.mlp.experts.w13'",
        "record": None,
        "frame": Frame("sglang/srt/models/deepseek_v2.py", 88, "load_weights"),
        "frames": (
            *FRAMES,
            Frame("/usr/lib/python3.12/site-packages/sglang/srt/models/deepseek_v2.py", 88, "load_weights"),
        ),
        "captures": {},
        "confidence": 0.0,
    }
    return finding(**{**values, **changes})


def report(*findings: Finding, **changes: Any) -> Report:
    values: dict[str, Any] = {
        "version": "0.1.0",
        "sources": (Source("server.log", 1204, 181_000),),
        "context": LaunchContext(
            sglang_version="0.5.10",
            version_evidence=("349 server_args fields",),
            server_args={"model_path": "deepseek-ai/DeepSeek-V3", "tp_size": 8, "api_key": SECRET, "x": None},
            args_place=Place("server.log", 2, "2026-11-30 08:14:58"),
        ),
        "findings": findings,
        "unexplained": tuple(index for index, item in enumerate(findings) if item.record is None and item.site is None),
        "stats": Stats(1204, 181_000, 37, 0.021),
    }
    return Report(**{**values, **changes})


def event(**changes: Any) -> Event:
    values: dict[str, Any] = {
        "kind": "traceback",
        "source": 0,
        "line": 14,
        "end_line": 60,
        "time": "2026-11-30 08:15:12",
        "rank": "TP0",
        "exception": "Exception",
        "message": f"Capture cuda graph failed: api_key='{SECRET}'",
        "text": "",
        "traceback": Traceback(FRAMES, "Exception", "Capture cuda graph failed"),
    }
    return Event(**{**values, **changes})


def match(**changes: Any) -> Match:
    values: dict[str, Any] = {
        "event": event(),
        "record": record(),
        "site": SITE,
        "captures": {"token": f"hf_{SECRET}", "size": "1.17 GiB"},
        "confidence": 0.9,
    }
    return Match(**{**values, **changes})

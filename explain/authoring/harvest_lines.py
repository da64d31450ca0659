"""The line histories of the files that tracebacks go through, and the list of all files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from explain.authoring.harvest_module import Module
from explain.linehistory import Mark, encode
from explain.sitefacts import intervals, package

TRAVELLED = re.compile(
    r"sglang/(?:srt/(?:server|server_args|utils|hf_transformers_utils|model_parallel|two_batch_overlap|operations)\.py"
    r"|srt/(?:arg_groups|managers|model_executor|entrypoints|model_loader|distributed|disaggregation|speculative"
    r"|utils|configs|constrained|lora|sampling|mem_cache|compilation|eplb|multimodal|function_call|weight_sync"
    r"|observability|metrics|batch_overlap|ray|connector|dllm|tokenizer)/.*"
    r"|srt/layers/(?:[a-z_0-9]*|attention/[a-z_0-9]*|moe/.*|quantization/[a-z_0-9]*)\.py"
    r"|srt/models/(?:llama|llama4|mllama4|qwen2|qwen2_moe|qwen3|qwen3_moe|qwen3_next|qwen2_5_vl|qwen3_vl|deepseek"
    r"|deepseek_v2|deepseek_v4|deepseek_nextn|gpt_oss|glm4_moe|gemma3_mm|kimi_k25|registry)\.py"
    r"|multimodal_gen/runtime/(?:managers|entrypoints|pipelines_core|loader|server_args|launch_server)[./].*"
    r"|launch_server\.py|cli/.*|utils\.py)"
)
"""Files whose frames are common in tracebacks; all files would take too much room."""


@dataclass(slots=True)
class Lines:
    """Takes releases oldest first."""

    contents: dict[str, list[tuple[list[int], tuple[Mark, ...]]]] = field(default_factory=dict)
    files: dict[str, list[int]] = field(default_factory=dict)

    def add(self, number: int, names: Iterable[str], modules: Mapping[str, Module]) -> None:
        for name in names:
            self.files.setdefault(name, []).append(number)
        for name, module in modules.items():
            if TRAVELLED.match(name) and module.marks:
                history = self.contents.setdefault(name, [])
                if history and history[-1][1] == module.marks:
                    history[-1][0].append(number)
                else:
                    history.append(([number], module.marks))

    def lines(self, versions: Sequence[str]) -> dict[str, list[str]]:
        """The text of `lines-….tsv` by package, and of `files.tsv`."""
        found: dict[str, list[str]] = {
            "files": [f"{name}\t{intervals(numbers, versions)}" for name, numbers in sorted(self.files.items())]
        }
        for name, history in sorted(self.contents.items()):
            block = [
                f"# {name}",
                *encode([(intervals(numbers, versions), marks) for numbers, marks in history]),
            ]
            found.setdefault(f"lines-{package(name)}", []).extend(block)
        return found

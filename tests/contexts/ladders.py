"""Memory of real servers while they started, as they printed it: figures only, in GB.

From public issues and from logs and measurements in public repositories, over the releases 0.4.1 to 0.5.2x. Where a
log printed no fraction, `fraction` is what its other figures give by SGLang's own sum, and `printed` is false.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Ladder:
    """`before`: free when the weights began to load; `after`: behind the last weights in front of the pool; `pool`: the
    KV pools; `other`: state pools of the same budget; `left`: free behind the pools; `graphs`: what graphs took.

    `share`: by what this release multiplied the fraction. `floor`: the smallest fraction that the server named.
    `budget`: what the server or its operator says all pools were given. `cap`: `--max-total-tokens` made the pool
    smaller than the fraction.
    """

    name: str
    release: str
    gpu: str
    fraction: float
    before: float
    after: float
    pool: float | None = None
    left: float | None = None
    other: float = 0.0
    graphs: float | None = None
    share: float = 1.0
    printed: bool = False
    floor: float | None = None
    budget: float | None = None
    cap: int | None = None

    @property
    def args(self) -> dict[str, Any]:
        return {"mem_fraction_static": self.fraction, "max_total_tokens": self.cap}


LADDERS = (
    Ladder("llama-8b-2025-01", "0.4.1.post7", "H100", 0.88, 78.81, 63.72, 54.26, 8.34, printed=True),
    Ladder("deepseek-r1-distill-7b-2025-02", "0.4.2.post1", "RTX 3090", 0.88, 22.76, 8.37, 5.64, 1.68, printed=True),
    Ladder("sglang#4826-gemma-3", "0.4.4.post2", "H200", 0.88, 139.21, 131.08, 108.24, 14.61, graphs=4.23, share=0.95),
    Ladder("sglang#4895-gemma-3", "0.4.4.post2", "RTX 4090", 0.88, 22.46, 3.64, share=0.95),
    Ladder("sglang#6017-deepseek-v3", "0.4.6.post2", "H200", 0.845, 137.46, 31.87, 10.57, 21.23),
    Ladder("xinference#3481-qwen3-14b", "0.4.6.post3", "48 GB", 0.88, 47.24, 19.67, 14.00, 5.27),
    Ladder("mineru#3375", "0.4.10", "RTX 4090", 0.88, 22.06, 20.18, 17.52, 2.13),
    Ladder("grok-2-2025-09", "0.5.2", "H100", 0.831, 77.43, 40.69, 27.58, 11.22, graphs=0.89),
    Ladder("sglang#13023-llama-8b", "0.5.5", "L40S", 0.851, 44.00, 28.91, 22.36, 5.51, printed=True),
    Ladder("granite-hybrid-2026-02", "0.5.9", "16 GB", 0.7736, 15.24, 9.26, 3.04, 3.42, other=2.77, graphs=0.09),
    Ladder("glm-5-2026-02", "0.5.9", "MI355X", 0.9748, 283.48, 193.90, 186.77, 3.88),
    Ladder("kimi-k2.5-2026-02", "0.5.9", "MI355X", 0.826, 283.53, 209.96, 160.63, 45.23),
    Ladder("documentation-2026-02", "0.5.8", "H100", 0.835, 78.43, 77.45, 0.24, 77.12, graphs=0.07, cap=20480),
    Ladder("ktransformers#1870-qwen3.5", "0.5.9", "RTX 4090", 0.853, 22.84, 19.08, 8.30, 4.02, other=7.42),
    Ladder("sglang#22537-qwen3-32b", "0.5.10", "B200", 0.852, 176.28, 160.78, 134.66, 25.37),
    Ladder("deepseek-v4-2026-05", "0.5.12", "H20", 0.60, 93.58, 57.01, None, 36.31, printed=True, budget=19.58),
    Ladder("qwen3.5-4b", "0.5.12", "RTX 4090", 0.85, 23.09, 14.47, None, 3.40, printed=True),
    Ladder("qwen3.5-9b-beside-another", "0.5.14", "GB10", 0.80, 41.29, 24.12, None, 12.13, graphs=1.26, printed=True),
    Ladder("qwen3.5-9b-fp8-beside-another", "0.5.14", "GB10", 0.80, 43.78, 30.80, None, 8.36, graphs=1.05, printed=True),
    Ladder("sglang#18263-qwen3-30b", "0.5.15", "MI355X", 0.911, 287.18, 230.20, printed=True, budget=204.63),
    Ladder("inferencex#2128", "0.5.15", "H200", 0.88, 137.90, 12.25, printed=True, floor=0.9113),
    Ladder("inferencex#2128-draft", "0.5.15", "H200", 0.88, 137.90, 9.18, printed=True, floor=0.9335),
    Ladder("deepseek-vision-fp4-2026-08", "0.5.16", "RTX PRO 6000", 0.94, 93.60, 5.51, printed=True, floor=0.9411),
    Ladder("deepseek-v4.1-2026-09", "0.5.22", "GB10", 0.95, 111.47, 14.74, None, 9.90, graphs=0.57, printed=True,
           cap=3000000),
)  # fmt: skip

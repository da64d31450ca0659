"""Message shapes that one release changed: a part of them, what to look for, the first release with it, the last one.

Only what is put together at run time stands here, such as batch lines and the labels of a prefix; the wording
of plain log messages is in the site index for every release. `COMPOSED` are the beginnings of messages that
some releases write out and others put together: of these the index knows only some of the releases.
"""

from __future__ import annotations

import re

from explain.expressions import expression

_STAMP = r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?"
COMPOSED = ("Capture cuda graph", "KV Cache is allocated")
SHAPES: tuple[tuple[str, re.Pattern[str], str, str], ...] = tuple(
    (part, expression(pattern), first, last)
    for part, pattern, first, last in (
        (" PP", _STAMP + r"(?: DP\d+)? TP\d+ PP\d+\]", "0.4.6", "0.5.5"),
        (" EP", _STAMP + r"(?: DP\d+)? TP\d+ EP\d+ PP\d+\]", "0.4.10", "0.5.5"),
        (" PP", _STAMP + r"(?: DP\d+)? PP\d+ TP\d+", "0.5.6", ""),
        ("_", _STAMP + r"[^\]]* (?:ATTN_CP|MOE_DP)\d+", "0.5.9", ""),
        (" batch. ", r"(?:Prefill|Decode) batch\. ", "", "0.5.3"),
        (" batch [", r"(?:Prefill|Decode) batch \[\d+\], ", "0.5.4", ""),
        (" batch, #", r"(?:Prefill|Decode) batch, #", "0.5.5", ""),
        ("cache hit rate: ", r"Prefill batch.*cache hit rate: ", "", "0.4.3"),
        ("#pending-token: ", r"Prefill batch.*#pending-token: ", "0.5.11", ""),
        ("#replay-token: ", r"Prefill batch.*#replay-token: ", "0.5.21", ""),
        ("#unbootstrapped-req: ", r"Prefill batch.*#unbootstrapped-req: ", "", "0.5.2"),
        ("#bootstrap-req: ", r"Prefill batch.*#bootstrap-req: ", "0.5.12", ""),
        ("cuda graph: ", r"Prefill batch.*cuda graph: ", "0.5.9", ""),
        ("accept rate: ", r"Decode batch.*accept rate: ", "0.5.4", ""),
        ("cuda graph: ", r"Decode batch.*cuda graph: ", "0.4.6", ""),
        ("Capture cuda", r"Capture cuda graph begin\. This can take up to several minutes\.$", "", "0.4.3.post2"),
        ("Capture cuda", r"Capture cuda graph begin\. .* avail mem=", "0.4.3.post3", "0.5.13"),
        ("Capture cuda", r"Capture cuda graph end\. Time elapsed: [\d.]+ s$", "", "0.4.3.post2"),
        ("Capture cuda", r"Capture cuda graph end\. .*avail mem=.* mem usage=", "0.4.3.post3", "0.4.6"),
        ("Capture cuda", r"Capture cuda graph end\. .*mem usage=.* avail mem=", "0.4.6.post1", "0.5.13"),
        ("Capture target", r"Capture target \w+ CUDA graph (?:begin|end)\.", "0.5.14", ""),
        (" end. bs=[", r"Capture target \w+ CUDA graph end\. bs=\[", "0.5.22", ""),
        ("K size: ", r"KV Cache is allocated\. K size: ", "0.4.1.post6", "0.4.3.post2"),
        ("#tokens: ", r"KV Cache is allocated\. #tokens: ", "0.4.3.post3", "0.5.12"),
        ("KV Cache ", r"KV Cache (?:is allocated|VA upper bound)\. dtype: ", "0.5.13", ""),
        ("server_args=S", r"server_args=ServerArgs\(", "", "0.5.18"),
        ("server_args={", r"server_args=\{'", "0.5.19", ""),
    )
)

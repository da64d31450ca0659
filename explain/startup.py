"""Single lines that a server prints while it starts and serves: memory, pools, limits, backends, batches.

Each reader takes the text behind SGLang's prefix and gives what the line says, or None. The wordings are
those of the releases 0.4.0 to 0.5.23.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from explain.expressions import expression

READY = "The server is fired up and ready to roll"
BACKEND_MARKS = ("ttention backend", "MLA optimization", "will fallback to ")
"""One of these stands in every line that names the attention backend."""

_GB = r"(?P<{}>-?\d{{1,9}}(?:\.\d{{1,9}})?) ?GB"
_SIZE = r"\d{1,9}(?:\.\d{1,9})?"
_AVAILABLE = expression("avail mem=" + _GB.format("gb"))
_USED = expression("mem usage=" + _GB.format("gb"))
_STEPS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (expression(pattern), step)
    for pattern, step in (
        (r"Load weight begin\b", "weights_begin"),
        (r"Load weight end\b", "weights_end"),
        (r"Memory pool end\b|Post-capture KV sizing: KV cache allocated\b", "pool_end"),
        (r"Capture [\w ]*graph begin\b", "graph_begin"),
        (r"Capture [\w ]*graph end\b", "graph_end"),
        (r"Init torch distributed ends\b|Memory baseline taken\b", "distributed"),
    )
)
_TYPE = expression(r"\btype=(?P<type>\w+)")
_QUANT = expression(r"\bquant=(?P<quant>[\w.-]+)")
_POOL = expression(
    r"KV Cache is allocated\. (?:dtype: (?P<dtype>[\w.]+), )?"
    r"#tokens: (?P<tokens>\d{1,15})(?!\d)"
    r"(?:, K size: (?P<k>{0}) GB, V size: (?P<v>{0}) GB|, KV size: (?P<kv>{0}) GB)?".replace("{0}", _SIZE)
)
_LIMIT = expression(r"\b(?P<name>[a-z_]+)=(?P<value>-?\d{1,15}(?:\.\d{1,9})?)(?!\d)")
_BACKEND = expression(
    r"Use (?P<one>\w+)(?: attention| mla)? backend(?: by default)?(?:\.| for )"
    r"|decode_backend=(?P<decode>\w+), prefill_backend=(?P<prefill>\w+)"
    r"|will fallback to (?P<fallback>\w+) backend"
    r"|Us(?:e|ing) (?P<chosen>\w+) as (?:the |default )*attention backend"
    r"|Setting attention backend to (?P<set>\w+)"
    r"|^Attention backend (?:not specified\. Falling back|is (?:\w+ )?(?:set|overridden)) to '?(?P<instead>\w+)"
)
_JOB = expression(r"(?:^|: )line \d+: +\d+ |^\[\d+\][+-]? +(?:\d+ )?\w+")
_DEVICE = expression(r"device_name=(?P<name>[\w-]+?)(?:,|\.json|_down|$)")
_LISTED_GPU = expression(r"^(?:GPU [\d, ]+: )?(?P<name>(?:NVIDIA|AMD)(?: [\w-]+){1,12})(?: \(UUID.*)?$")
_TABLE_GPU = expression(r"^\|?\s*\d+\s+(?P<name>(?:NVIDIA|Tesla|AMD) [\w -]{2,40}?)\s{2,}(?:On|Off)\s")
_COMMAND = expression(
    r"(?P<command>(?:(?<!\S)\S{0,400}python[\d.]*\s+-m\s+sglang\.launch_server|\bsglang\s+serve)"
    r"\s+(?:(?!\[-h\])\S).*)"
)
_QUANTIZED = expression(
    r"(?P<method>[\w-]{2,30}) quantization is not fully optimized yet|Detected (?P<found>\w{2,30}) checkpoint\b"
)
_BATCH = expression(r"(?P<kind>Prefill|Decode) batch(?:\.| \[\d+\],|,) ")
_FIELD = expression(r"(?:^|, )(?P<name>[#\w][\w #/().-]*?): (?P<value>[^,]*)")
_SERVED = expression(r'"(?:POST|PUT) [^"]*" 200\b')


class Step(NamedTuple):
    """One step of the start and its memory in GB."""

    step: str
    available: float | None
    used: float | None
    model_class: str | None = None
    quantization: str | None = None


def memory_step(text: str) -> Step | None:
    for pattern, step in _STEPS:
        if pattern.match(text):
            available, used = _AVAILABLE.search(text), _USED.search(text)
            kind, quant = _TYPE.search(text), _QUANT.search(text)
            return Step(
                step,
                float(available["gb"]) if available else None,
                float(used["gb"]) if used else None,
                kind["type"] if kind else None,
                quant["quant"] if quant else None,
            )
    return None


def kv_pool(text: str) -> tuple[int, float, str | None] | None:
    """(tokens, size in GB, number format) of a KV pool.

    `KV Cache VA upper bound` is a range of addresses: the memory comes behind graph capture.
    """
    found = _POOL.search(text)
    if found is None:
        return None
    size = float(found["kv"]) if found["kv"] else float(found["k"] or 0) + float(found["v"] or 0)
    return int(found["tokens"]), size, found["dtype"]


def limits(text: str) -> dict[str, float]:
    """The scheduler's limits, from the line that begins with `max_total_num_tokens=`; empty for others."""
    if not text.startswith("max_total_num_tokens="):
        return {}
    return {one["name"]: number(one["value"]) for one in _LIMIT.finditer(text)}


def number(text: str) -> float:
    return float(text) if "." in text else int(text)


def attention_backend(text: str) -> str | None:
    if "backend" not in text or not any(mark in text for mark in BACKEND_MARKS):
        return None
    found = _BACKEND.search(text)
    if found is None:
        return None
    if found["decode"]:
        return f"{found['prefill']} (prefill), {found['decode']} (decode)"
    return next(name for name in found.groups() if name)


def quantization(text: str) -> str | None:
    """The method that a server found its checkpoint to have, or says to be slow."""
    found = _QUANTIZED.match(text)
    return (found["method"] or found["found"].lower()) if found else None


def gpu_name(text: str) -> str | None:
    """The GPU that a kernel configuration's file name, or a listing of GPUs, names."""
    found = _DEVICE.search(text) or _LISTED_GPU.match(text) or _TABLE_GPU.match(text)
    return found["name"].replace("_", " ").strip() if found else None


def launch_command(text: str) -> str | None:
    """The command that starts a server, as far as the line holds it."""
    if text.startswith("usage: "):
        return None
    found = _COMMAND.search(text)
    if found is None or " -" not in found["command"] or "[options]" in found["command"]:
        return None  # a notice on how to start a server, not the command that did
    return found["command"].strip()


def of_shell_job(text: str) -> bool:
    """Whether a shell tells of a command that ended: it started the server of the lines before."""
    return _JOB.search(text) is not None


def batch(text: str) -> tuple[Literal["prefill", "decode"], dict[str, Any]] | None:
    """The kind and the fields of a batch line."""
    found = _BATCH.match(text)
    if found is None:
        return None
    fields: dict[str, Any] = {}
    for one in _FIELD.finditer(text[found.end() :]):
        value = one["value"].strip()
        if value in ("True", "False"):
            fields[one["name"]] = value == "True"
        elif re.fullmatch(r"-?\d{1,15}(?:\.\d{1,9})?%?", value):
            fields[one["name"]] = number(value.rstrip("%"))
    return ("prefill" if found["kind"] == "Prefill" else "decode"), fields


def shows_serving(text: str) -> bool:
    """Whether the line shows that requests are being served."""
    return (" batch" in text and _BATCH.search(text) is not None) or _SERVED.search(text) is not None

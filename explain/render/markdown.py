"""`--format markdown`: the text of a bug report, in the order in which SGLang's form asks for it.

What failed, how to reproduce it, in which environment; the first failing traceback once, everything else
counted. Text of the log stands in code only, with secrets masked: nothing of it can become markup.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from explain.expressions import expression
from explain.model import Finding, LaunchContext, Report
from explain.render import places, plain, safe
from explain.render.context import ranks_words, recovery_words, starts_words
from explain.render.text import plural
from explain.render.verdict import title_of

_LONGEST = 120
"""Lines of the traceback."""
_OTHERS = 12
_ARGUMENTS = 60
_MARKUP = expression(r"([\\`*_{}\[\]<>()#+!|~&])")


def render(report: Report, *, chosen: Mapping[str, Any] | None = None) -> bytes:
    """The report as Markdown, UTF-8. `chosen` are the server arguments that differ from the defaults."""
    first = report.findings[0] if report.findings else None
    lines: list[str] = []
    if first is None:
        lines += ["No failure found.", ""]
    else:
        lines += [f"# {_words(title_of(first))}", "", "## Describe the bug", "", *_bug(report, first)]
    lines += ["## Reproduction", "", *_reproduction(report.context, chosen or {})]
    lines += ["## Environment", "", *_environment(report)]
    return ("\n".join(lines).rstrip() + "\n").encode("utf-8", "replace")


def _bug(report: Report, first: Finding) -> list[str]:
    lines = []
    if first.role != "cause":
        lines += ["The log does not hold the cause; this is the first thing that followed from it.", ""]
    raised = places.frame_words(first.frames[-1]) if first.frames else ""
    ours = places.frame_words(first.frame) if first.frame else ""
    facts = [
        ("Error", _code(places.error_words(first)[:400])),
        ("When", _code(places.time_words(first)) if places.time_words(first) else ""),
        ("How often", _words(ranks_words(first))),
        ("Raised in", _code(raised)),
        ("In SGLang", _code(ours) if ours != raised else ""),
        ("Starts", _words(starts_words(report.context))),
        ("After it", _words(recovery_words(first.recovery))),
        *(("Stacks", _words(words)) for words in first.stuck),
        *(("Start-up", _words(words)) for words in report.context.unfinished),
    ]
    lines += [f"- {name}: {text}" for name, text in facts if text]
    lines += ["", *_block(_traceback(first)), ""]
    others = [one for one in report.findings[1:] if one.role != "noise"]
    if others:
        lines += ["Also in the log:", ""]
        lines += [f"- {one.role}, {plural(one.count, 'time')}: {_code(_brief(one))}" for one in others[:_OTHERS]]
        if len(others) > _OTHERS:
            lines.append(f"- {len(others) - _OTHERS} more")
        lines.append("")
    return lines


def _traceback(finding: Finding) -> str:
    """The first event as it was printed, prefixes gone."""
    if not finding.frames:
        return finding.text
    lines = ["Traceback (most recent call last):"]
    for frame in finding.frames:
        lines.append(f'  File "{places.package_path(frame.file)}", line {frame.line}, in {frame.function}')
        if frame.code:
            lines.append(f"    {frame.code}")
    return "\n".join([*lines, finding.text])


def _brief(finding: Finding) -> str:
    return places.error_words(finding)[:160]


def _reproduction(context: LaunchContext, chosen: Mapping[str, Any]) -> list[str]:
    lines = []
    if context.command:
        lines += [*_block(context.command), ""]
    if context.model:
        lines += [f"Model: {_code(safe.line(context.model))}", ""]
    if chosen:
        shown = [
            f"{name}={plain.masked(value, name)!r}"
            for name, value in list(chosen.items())[:_ARGUMENTS]
            if name != "model_path"
        ]
        if shown:
            lines += ["Server arguments that differ from the defaults:", "", *_block("\n".join(shown)), ""]
    if not lines:
        lines += ["The log shows neither the launch command nor the server arguments.", ""]
    return lines


def _environment(report: Report) -> list[str]:
    context = report.context
    facts = [
        ("SGLang", _code(context.sglang_version) if context.sglang_version else "not shown by the log"),
        *(("", _words(evidence)) for evidence in context.version_evidence[:3]),
        ("GPU", _code(context.gpu) if context.gpu else ""),
        ("Quantization", _code(context.quantization) if context.quantization else ""),
        ("Attention backend", _code(context.attention_backend) if context.attention_backend else ""),
        ("Ranks", _words(places.rank_words(context.ranks)) if context.ranks else ""),
        ("Nodes", str(context.nodes) if context.nodes else ""),
    ]
    lines = [f"- {name}: {text}" if name else f"  - {text}" for name, text in facts if text]
    lines += _memory(context)
    sources = ", ".join(_code(safe.line(source.path)) for source in report.sources[:8])
    lines += [
        "",
        f"Read from {sources} ({plural(report.stats.lines, 'line')}) by sglang-explain {report.version}.",
    ]
    return lines


def _memory(context: LaunchContext) -> list[str]:
    """The lowest memory of all ranks after each step."""
    lowest: dict[str, float] = {}
    for step in context.memory:
        if step.available is not None:
            lowest[step.step] = min(lowest.get(step.step, step.available), step.available)
    if not lowest:
        return []
    rows = [f"| {name.replace('_', ' ')} | {gb:.2f} |" for name, gb in lowest.items()]
    return ["", "| GPU memory left after | GB |", "|---|---|", *rows]


def _words(text: str) -> str:
    """Words as they are: what Markdown would read as markup is escaped."""
    return _MARKUP.sub(r"\\\1", safe.line(text))


def _code(text: str) -> str:
    """Text as a code span, whatever backticks it holds."""
    text = safe.line(text)
    ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}" if text else ""


def _block(text: str) -> list[str]:
    """Text as a fenced block that nothing in it can end."""
    lines = safe.block(text).split("\n")
    if len(lines) > _LONGEST:
        half = _LONGEST // 2
        lines = [*lines[:half], f"… {len(lines) - 2 * half} lines …", *lines[-half:]]
    fence = "`" * max(3, max((len(run) for run in re.findall("`+", "\n".join(lines))), default=0) + 1)
    return [fence, *lines, fence]

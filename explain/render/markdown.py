"""`--format markdown`: the text of a bug report, in the order in which SGLang's form asks for it.

What failed, how to reproduce it, in which environment; the first failing traceback once, everything else
counted. Text of the log stands in code only, with secrets masked: nothing of it can become markup.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from explain.expressions import expression
from explain.model import Finding, LaunchContext, Report
from explain.render import places, plain, safe
from explain.render.context import duration_words, ranks_words, recovery_words, stalled_words, starts_words
from explain.render.layout import NO_SOURCE, OwnSource
from explain.render.text import clip, plural
from explain.render.verdict import error_of, search_link, title_of

_LONGEST = 120
"""Lines of the traceback."""
_OTHERS = 12
_ARGUMENTS = 60
_LINK = expression(r"https://[\w./#?=&%-]+")
_MARKUP = expression(r"([\\`*_{}\[\]<>()#+!|~&])")


def render(
    report: Report,
    *,
    chosen: Mapping[str, Any] | None = None,
    worked_out: Collection[str] = (),
    source: OwnSource = NO_SOURCE,
    newest: str | None = None,
) -> bytes:
    """The report as Markdown, UTF-8. `chosen` are the server arguments that differ from the defaults,
    `worked_out` those of them that the server may have set by itself.

    `source` is what the user's own copy of SGLang has at the first cause, `newest` the newest release that is known.
    What only a person can know is left as an open box or an open place of the form.
    """
    first = report.findings[0] if report.findings else None
    lines = [f"# [Bug] {_words(_title(report, first))}", "", "## Checklist", "", *_checklist(report, first, newest)]
    lines += ["## Describe the bug", "", *_bug(report, first, source)]
    lines += ["## Reproduction", "", *_reproduction(report.context, chosen or {}, worked_out)]
    lines += ["## Environment", "", *_environment(report)]
    return ("\n".join(lines).rstrip() + "\n").encode("utf-8", "replace")


def _title(report: Report, first: Finding | None) -> str:
    stall = report.context.stalled
    if stall is not None and (first is None or first.role != "cause"):
        long = duration_words(stall.seconds)
        return f"No batch for {long}" if stall.kind == "serving" else f"Server not ready, no step for {long}"
    if first is not None:
        # The record of a whole class of errors has a title that fits them all: an issue is about this one.
        whole_class = first.record is not None and "generic" in first.record.tags
        return error_of(first) if whole_class and first.message.strip() else title_of(first)
    return "; ".join(report.context.unfinished) or "No failure found"


def _checklist(report: Report, first: Finding | None, newest: str | None) -> list[str]:
    search = f": {search_link(first)}" if first is not None else ""
    version = report.context.sglang_version
    latest = f"newest known here: {newest}; this log: {version or 'not shown'}" if newest else "not known here"
    return [
        f"- [ ] Related issues were searched and none has a solution{search}",
        f"- [ ] The latest release has the bug too \\({_words(latest)}\\)",
        "- [ ] Environment and a minimal way to reproduce it are given below",
        "- [ ] It is a bug and no question, and it is written in English",
        "",
    ]


def _bug(report: Report, first: Finding | None, source: OwnSource) -> list[str]:
    stall = report.context.stalled
    silent = [("Silent", _words(stalled_words(stall)))] if stall is not None else []
    late = [("Start-up", _words(words)) for words in report.context.unfinished]
    if first is None:
        told = [f"- {name}: {text}" for name, text in (*silent, *late)]
        return [*(told or ["No failure found in this log."]), ""]
    lines = []
    if first.role != "cause":
        lines += ["The log does not hold the cause; this is the first thing that followed from it.", ""]
    raised = places.frame_words(first.frames[-1]) if first.frames else ""
    ours = places.frame_words(first.frame) if first.frame else ""
    facts = [
        ("Error", _code(clip(places.error_words(first), 400))),
        ("When", _code(places.time_words(first)) if places.time_words(first) else ""),
        ("How often", _words(ranks_words(first))),
        ("Raised in", _code(raised)),
        ("In SGLang", _code(ours) if ours != raised else ""),
        ("Starts", _words(starts_words(report.context))),
        ("After it", _words(recovery_words(first.recovery))),
        *(("Stacks", _words(words)) for words in first.stuck),
        *late,
        *silent,
        *_known(first),
        *(("Raised if", _code(condition)) for condition in source.conditions),
        ("Server arguments of these names", ", ".join(_code(value) for value in source.values)),
        ("Conditions read", _words(source.note)),
        *(("Nearest known message", _code(words)) for words in first.near),
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


def _known(first: Finding) -> list[tuple[str, str]]:
    """What is known of the error: its record, or that SGLang itself prints it, and in which releases."""
    record, site = first.record, first.site
    facts = []
    if record is not None:
        facts.append(("Known as", f"{_code(record.slug)}, {_words(record.title or '')}".rstrip(", ")))
        facts += [("See", safe.line(link)) for link in record.references[:2] if _LINK.fullmatch(link)]
    elif site is None:
        facts.append(("Known as", "neither a catalogued error nor a message of SGLang's own"))
    if site is not None and (words := places.release_words(site)):
        facts.append(("Message", _words(words)))
    return facts


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
    return clip(places.error_words(finding), 160)


def _reproduction(context: LaunchContext, chosen: Mapping[str, Any], worked_out: Collection[str]) -> list[str]:
    lines = []
    if context.command:
        lines += [*_block(context.command), ""]
    if context.model:
        lines += [f"Model: {_code(safe.line(context.model))}", ""]
    others = [name for name in chosen if name != "model_path"]
    for title, names in (
        ("Server arguments that differ from the defaults:", [one for one in others if one not in worked_out]),
        ("Also set, by hand or by the server itself:", [one for one in others if one in worked_out]),
    ):
        shown = [f"{name}={plain.masked(chosen[name], name)!r}" for name in names[:_ARGUMENTS]]
        if len(names) > len(shown):
            shown.append(f"… {len(names) - len(shown)} more")
        if shown:
            lines += [title, "", *_block("\n".join(shown)), ""]
    if not lines:
        lines += ["The log shows neither the launch command nor the server arguments.", ""]
    return lines


def _environment(report: Report) -> list[str]:
    context = report.context
    facts = [
        ("Output of `python3 -m sglang.check_env`", "_run it where the server runs and paste it here_"),
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

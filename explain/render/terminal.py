"""The report for a terminal: everything else first, briefly; the verdict last, where the eye rests."""

from __future__ import annotations

from explain.model import Report
from explain.render import places, safe
from explain.render.context import duration_words, stalled_words
from explain.render.layout import INDENT, MAX_PROSE, NO_SOURCE, OwnSource, rule
from explain.render.text import Painter, clip, plural, sentence_list, wrap
from explain.render.verdict import one_line, server_words, style_of, verdict

_BRIEF = 8
"""How many other findings are shown without `show_all`."""
_ROLE_WIDTH = 13


def render(report: Report, *, width: int, color: bool, show_all: bool = False, source: OwnSource = NO_SOURCE) -> str:
    """The whole report as text that ends in a line feed.

    `width` is that of the terminal in columns; prose is set in at most 100 of them. With `show_all`, every
    finding is shown in full, warnings and noise too. `source` is that at the first cause, from the
    user's own copy. Text of the log is clean and masked.
    """
    painter = Painter(color)
    width = max(width, 40)
    cause = 0 if report.findings and report.findings[0].role == "cause" else None
    if cause is None:
        others = list(range(len(report.findings)))
        last = _no_cause(report, width, painter)
        if not show_all:
            others = [index for index in others if report.findings[index].role != "consequence"]
    else:
        others = [
            index for index in range(1, len(report.findings)) if show_all or report.findings[index].caused_by != cause
        ]
        last = verdict(report, cause, width=width, painter=painter, full=show_all, source=source)
    lines = [*_others(report, others, width, painter, show_all), *last]
    return "\n".join(lines) + "\n"


def _others(report: Report, indexes: list[int], width: int, painter: Painter, show_all: bool) -> list[str]:
    if show_all:
        lines = []
        for index in sorted(indexes, key=lambda index: (-_weight(report, index), index)):
            lines += [*verdict(report, index, width=width, painter=painter, full=True), ""]
        return [*lines, *_folded(report), ""] if report.folded else lines
    noise = sum(report.findings[index].role == "noise" for index in indexes)
    shown = [index for index in indexes if report.findings[index].role != "noise"]
    shown.sort(key=lambda index: (_weight(report, index), index))
    brief, rest = shown[:_BRIEF], shown[_BRIEF:]
    lines = [line for index in brief for line in _brief(report, index, width, painter)]
    hidden = []
    if rest:
        hidden.append(f"{len(rest)} more")
    if noise:
        hidden.append(plural(noise, "harmless notice"))
    if hidden:
        lines.append(" " * INDENT + painter.paint(f"… {sentence_list(hidden)}; --all shows everything", "dim"))
    lines += _folded(report)
    if brief or report.folded:
        lines.insert(0, "Also in this log" if len(report.sources) < 2 else "Also in these logs")
    return [*lines, ""] if lines else []


def _weight(report: Report, index: int) -> int:
    """What to show first: unexplained errors and further causes, then consequences, warnings, noise."""
    role = report.findings[index].role
    return (
        0
        if index in report.unexplained and role == "cause"
        else ("cause", "consequence", "warning", "noise").index(role)
    )


def _brief(report: Report, index: int, width: int, painter: Painter) -> list[str]:
    finding = report.findings[index]
    unexplained = index in report.unexplained
    role = "unexplained" if unexplained else finding.role
    label = painter.paint(role, style_of(finding)) + " " * (_ROLE_WIDTH - len(role))
    room = min(width, 2 * MAX_PROSE) - INDENT - _ROLE_WIDTH
    first = " " * INDENT + label + one_line(report, finding, room, ranks=unexplained)
    if not unexplained or not finding.frames:
        return [first]
    second = clip(" \u2190 ".join(places.stack_words(finding.frames, 3)), room)
    return [first, " " * (INDENT + _ROLE_WIDTH) + painter.paint(second, "dim")]


def _folded(report: Report) -> list[str]:
    if not report.folded:
        return []
    return [" " * INDENT + f"… {plural(report.folded, 'further finding')} did not fit into this report"]


def _no_cause(report: Report, width: int, painter: Painter) -> list[str]:
    """What to say when no finding is a cause: nothing found, or failures without their cause."""
    prose = min(width, MAX_PROSE) - INDENT
    consequences = [finding for finding in report.findings if finding.role == "consequence"]
    read = plural(report.stats.lines, "line")
    names = ["standard input" if one.path == "-" else safe.line(one.path) for one in report.sources]
    where = names[0] if len(names) == 1 else plural(len(names), "input")
    if not consequences and not report.advice:
        if not report.stats.lines and not any(one.bytes for one in report.sources):
            return wrap(f"Nothing to explain: {where} holds no text.", min(width, MAX_PROSE))
        if report.context.unfinished:
            lines = [rule("A RANK DID NOT FINISH", width, painter, "yellow")]
            words = f"No error stands in {where} ({read}), but {'; '.join(report.context.unfinished)}."
            return [*lines, *(" " * INDENT + line for line in wrap(safe.line(words), prose))]
        doubt = " What could not be read may hold one." if report.problems else ""
        return wrap(f"No failure found in {where} ({read}).{doubt}", min(width, MAX_PROSE))
    server = server_words(report.context)
    if report.context.stalled:
        return stalled_block(report, where, width, painter)
    lines = [rule("THE CAUSE IS NOT IN THIS LOG", width, painter, "yellow")]
    if consequences:
        show = "shows" if len(names) == 1 else "show"
        intro = f"{where} ({read}) {show} that something failed, but only what followed from it:"
        lines += [" " * INDENT + line for line in wrap(intro, prose)]
        lines += [" " * INDENT + "  " + one_line(report, finding, prose - 2) for finding in consequences[:6]]
        if len(consequences) > 6:
            lines.append(" " * INDENT + f"  … {len(consequences) - 6} more; --all shows everything")
    else:
        lines += [" " * INDENT + line for line in wrap(f"{where} ({read}) does not hold the error itself.", prose)]
    for one in report.context.unfinished:
        lines += [" " * INDENT + line for line in wrap(safe.line(f"{one}."), prose)]
    if server:
        lines.append(" " * INDENT + painter.paint(f"Server: {server}", "dim"))
    return [*lines, *_advice(report, prose, painter)]


def stalled_block(report: Report, where: str, width: int, painter: Painter) -> list[str]:
    """What stopped going on, where no error says why. `where` names the log."""
    stall = report.context.stalled
    if stall is None:
        return []
    prose = min(width, MAX_PROSE) - INDENT
    long = duration_words(stall.seconds).upper()
    heading = f"NO BATCH FOR {long}" if stall.kind == "serving" else f"NOT READY, NO STEP FOR {long}"
    lines = [rule(heading, width, painter, "yellow")]
    texts = [f"{where}: {stalled_words(stall)}.", *(f"{one}." for one in report.context.unfinished)]
    if not report.findings or report.findings[0].role != "cause":
        texts[0] += " No error in this log says why."
    for one in texts:
        lines += [" " * INDENT + line for line in wrap(safe.line(one), prose)]
    if server := server_words(report.context):
        lines.append(" " * INDENT + painter.paint(f"Server: {server}", "dim"))
    return [*lines, *_advice(report, prose, painter)] if report.advice else lines


def _advice(report: Report, prose: int, painter: Painter) -> list[str]:
    advice = report.advice or ("Run again on the whole log of every node, from the start of the server to its end.",)
    stalled = report.context.stalled is not None
    lines = [
        "",
        " " * INDENT + painter.paint("What to do, and what to send" if stalled else "What to look for", "bold"),
    ]
    for number, text in enumerate(advice, 1):
        first, *rest = wrap(safe.block(text), prose - 3) or [""]
        lines.append(f"{' ' * INDENT}{number}. {first}")
        lines += [" " * (INDENT + 3) + line for line in rest]
    return lines

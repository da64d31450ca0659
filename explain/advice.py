"""What to say where the log does not hold the cause: what it holds, and which log to fetch next."""

from __future__ import annotations

from collections.abc import Sequence

from explain.expressions import expression
from explain.model import Finding, LaunchContext, Stall

_EXIT_CODE = expression(r"exit ?code:? ?=?(?P<code>-?\d+)")
_SIGNALS = {
    "-3": "SIGQUIT: the process under it failed first and printed why on its own lines",
    "-6": "SIGABRT: a native library gave up; look for `terminate called` or `what():`",
    "-7": "SIGBUS: often a full /dev/shm",
    "-9": "SIGKILL: the kernel's OOM killer or an operator; see `dmesg -T | grep -i oom`",
    "-11": "SIGSEGV: a crash in native code; look for `Fatal Python error: Segmentation fault`",
    "-15": "SIGTERM: somebody stopped it",
    "137": "SIGKILL: the kernel's OOM killer, the container's memory limit, or SGLang ending its own processes",
    "139": "SIGSEGV: a crash in native code",
    "127": "a program or shared library was not found",
}


def advice_without_cause(findings: Sequence[Finding], context: LaunchContext | None = None) -> tuple[str, ...]:
    """Sentences for the reader, empty where the first finding is a cause or nothing was found."""
    if findings and findings[0].role == "cause":
        return ()
    if context is not None and context.stalled is not None:
        return advice_on_stall(context.stalled, context)
    told = [finding for finding in findings if finding.role in ("consequence", "warning")]
    if not told:
        return ()
    advice: list[str] = []
    cut = next((one for one in findings if one.kind == "traceback" and one.exception is None), None)
    if cut is not None:
        advice.append(
            f"The traceback at {cut.first.source}:{cut.first.line} is cut before its last line, the one that names "
            "the exception: fetch the lines that follow it."
        )
    echo = next((one for one in told if one.role == "consequence"), None)
    if echo is not None:
        advice.append(
            "What is here only says that another process failed. Its own lines come earlier in the log, or stand "
            "in another stream or on another node: look for `hit an exception` and the traceback under it."
        )
        advice.extend(_exit_codes(findings))
        advice.append(
            "Fetch the whole output of every rank and node from the start of the server, standard error included "
            "(`docker logs NAME > server.log 2>&1`, `journalctl -u UNIT -b`, `kubectl logs POD --previous`)."
        )
    return tuple(advice)


def advice_on_stall(stall: Stall, context: LaunchContext) -> tuple[str, ...]:
    """What to do about a server that stands still, and what to send: the log itself does not tell why it does."""
    what = "scheduler process (`ps aux | grep sglang::`)" if stall.kind == "serving" else "process of the server"
    many = "; the rank that stands elsewhere than the others is the one they wait for" if len(context.ranks) > 1 else ""
    advice = [
        f"While it stands still, dump the stacks of every {what}: `py-spy dump --pid PID` (as root, or with "
        f"SYS_PTRACE in a container). Send all of them{many}."
    ]
    if stall.kind == "starting":
        advice.append(
            "See whether it still works: reading the weights (`iostat`, a network file system, a download) or "
            "compiling kernels for the first time (CPU at 100 %) takes minutes and prints little."
        )
    advice.append(
        f"Look around {stall.place.time} in the output of every rank and node, and in `dmesg -T` (Xid, oom-kill): "
        "the error may stand in another stream than this one."
    )
    return (*advice, *_on_watchdog(stall, context))


def _on_watchdog(stall: Stall, context: LaunchContext) -> list[str]:
    from explain.registry import flag_exists

    timeout = context.server_args.get("watchdog_timeout")
    advice = []
    if stall.kind == "serving" and isinstance(timeout, int | float) and timeout > 0:
        if stall.seconds > 2 * timeout:
            advice.append(
                f"The watchdog (`--watchdog-timeout {timeout:g}`) prints the stacks of a batch that does not end, and "
                f"has not: more likely no batch was being computed, and requests wait for something else."
            )
        else:
            advice.append(
                f"The watchdog (`--watchdog-timeout {timeout:g}`) stops a server whose batch does not end, after one "
                "to two times so many seconds, and prints its stacks before: send those lines too."
            )
    version = context.sglang_version
    versions = [part for part in (version or "").split(" to ") if part]
    soft = "--soft-watchdog-timeout"
    if (
        versions
        and not context.server_args.get("soft_watchdog_timeout")
        and all(flag_exists(soft, v) for v in versions)
    ):
        advice.append(f"Start the next one with `{soft} 60`: it prints the stacks and does not stop the server.")
    return advice


def _exit_codes(findings: Sequence[Finding]) -> list[str]:
    codes: dict[str, None] = {}
    for finding in findings:
        if found := _EXIT_CODE.search(finding.message):
            codes.setdefault(found["code"])
    return [f"Exit code {code} means {_SIGNALS[code]}." for code in codes if code in _SIGNALS]

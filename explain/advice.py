"""What to say where the log does not hold the cause: what it holds, and which log to fetch next."""

from __future__ import annotations

from collections.abc import Sequence

from explain.expressions import expression
from explain.model import Finding

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


def advice_without_cause(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Sentences for the reader, empty where the first finding is a cause or nothing was found."""
    if not findings or findings[0].role == "cause":
        return ()
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


def _exit_codes(findings: Sequence[Finding]) -> list[str]:
    codes: dict[str, None] = {}
    for finding in findings:
        if found := _EXIT_CODE.search(finding.message):
            codes.setdefault(found["code"])
    return [f"Exit code {code} means {_SIGNALS[code]}." for code in codes if code in _SIGNALS]

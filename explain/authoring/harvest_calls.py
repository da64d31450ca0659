"""What a call reports: which exception it makes, what it logs, warns, answers, aborts or refuses."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping

from explain.authoring.harvest_format import slot_name

LOG_NAME = re.compile(
    r"(?:\w+_)?(?P<level>warning|warn|error|exception|critical|fatal|info)(?:_(?:once|on|rank|main|with|all|local|first)\w*)?"
)
LOG_FUNCTION = re.compile(r"_?(?:print|log|warn|rank0|emit|logger)_?\w*")
EXCEPTION_NAME = re.compile(r"_?[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Timeout|NotFound|Failure|Failed)")
ERROR_ANSWER = re.compile(r"\w*error(?:_response|_json|_reply|_result|_output|_chunk|_event)?")
ABORT_CALL = re.compile(r"FINISH_ABORT|FinishAbort|set_finish_with_abort|record_failure|AbortReq|\w*abort_with_\w+")
ABORT_NAME = re.compile(
    r"(?:abort_reason|abort_message|abort_msg|error_message|error_msg|failure_reason|finish_message)"
)
LEVELS = {"warn": "warning", "exception": "error", "fatal": "critical"}
EXCEPTIONS = {n for n, v in vars(builtins).items() if isinstance(v, type) and issubclass(v, BaseException)}
ALIASES = {"IOError": "OSError", "EnvironmentError": "OSError", "WindowsError": "OSError"}
WARNINGS = {name for name in EXCEPTIONS if name.endswith("Warning")}


def exception_name(call: ast.Call) -> str | None:
    """The class a call constructs, where it is an exception's."""
    name = called(call)
    if name in WARNINGS:
        return None
    return name if name in EXCEPTIONS or EXCEPTION_NAME.fullmatch(name) else None


def called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def reported(call: ast.Call) -> Iterator[tuple[str, str | None, ast.expr]]:
    """(kind, class, message) of a call that logs, warns, answers, aborts or refuses arguments."""
    name = called(call)
    base = slot_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    keywords = {k.arg: k.value for k in call.keywords if k.arg}
    first = call.args[0] if call.args else None
    level = LOG_NAME.fullmatch(name)
    if base == "warnings" or (name == "warn" and not base):
        if name == "warn" and first is not None:
            category = slot_name(call.args[1] if len(call.args) > 1 else keywords.get("category"))
            yield "warn", category or "UserWarning", first
        return
    if name == "error" and "parser" in base:
        if first is not None:
            yield "usage", None, first
        return
    if name == "exit" and base == "sys" and isinstance(first, ast.JoinedStr | ast.Constant | ast.BinOp):
        if not isinstance(first, ast.Constant) or isinstance(first.value, str):
            yield "usage", "SystemExit", first
        return
    loud = name == "log" and first is not None and slot_name(first) in ("WARNING", "WARN", "ERROR", "CRITICAL", "INFO")
    if loud and len(call.args) > 1:
        yield (
            f"log:{LEVELS.get(slot_name(first).lower(), slot_name(first).lower())}",
            None,
            call.args[1],
        )
        return
    if level and ("log" in base.lower() or (LOG_FUNCTION.fullmatch(name) and "_" in name)):
        message = next((a for a in call.args if textual(a)), None) or keywords.get("msg") or keywords.get("message")
        message = message or first
        if message is not None and not isinstance(message, ast.Starred):
            yield f"log:{LEVELS.get(level['level'], level['level'])}", None, message
        return
    if ABORT_CALL.fullmatch(name):
        yield from (("abort", None, a) for a in call.args if textual(a) or isinstance(a, ast.Name))
    elif ERROR_ANSWER.fullmatch(name):
        answer = keywords.get("message") or keywords.get("detail") or first
        if answer is not None and not isinstance(answer, ast.Starred):
            yield "http", None, answer
    elif name.endswith("Response") or name in (
        "json_response",
        "Error",
        "ErrorInfo",
    ):
        yield from (("http", None, value) for value in answered(call, keywords))
    for key, value in keywords.items():
        if ABORT_NAME.fullmatch(key) and not isinstance(value, ast.Name):
            yield ("usage" if name == "add_argument" else "abort"), None, value


def textual(node: ast.expr) -> bool:
    """Whether the expression is text as written: a literal, an f-string, a sum or a format of them."""
    if isinstance(node, ast.BinOp):
        return textual(node.left) or textual(node.right)
    if isinstance(node, ast.IfExp):
        return textual(node.body) or textual(node.orelse)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Attribute) and textual(node.func.value)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def answered(call: ast.Call, keywords: Mapping[str, ast.expr]) -> Iterator[ast.expr]:
    """The error texts of an HTTP response that is built in place."""
    status = keywords.get("status_code") or keywords.get("status") or keywords.get("code")
    failed = status is not None and not (isinstance(status, ast.Constant) and str(status.value)[:1] in "123")
    failed = failed or "rror" in called(call)
    for node in ast.walk(call):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                label = key.value if isinstance(key, ast.Constant) else ""
                if (label == "error" or (failed and label in ("message", "detail", "msg"))) and not isinstance(
                    value, ast.Dict
                ):
                    yield value
    if failed:
        yield from (
            keywords[key]
            for key in ("message", "detail", "content", "text")
            if key in keywords and textual(keywords[key])
        )

"""Which events end a server: its last words, and exceptions that nothing caught."""

from __future__ import annotations

import re

from explain.expressions import expression
from explain.model import Event, Finding, Role

_DEATH = expression(
    r"(?i:sigquit)|kill_process_tree called|^Killed$|: +\d+ Killed|Child process .*(?:died|failed)|"
    r"crashed with exit code|scheduler died during initialization|scheduler is dead|Initialization failed|"
    r"hit an exception|Aborted \(core dumped\)|Segmentation fault \(core dumped\)|oom-kill|Fatal Python error|"
    r"error while attempting to bind on address|^srun: error: .*: (?:Exited with exit code|Killed|Terminated)|"
    r"^\S+ exited with code [1-9]|Main process exited, code=|exited: \S+ \((?:terminated by|exit status)|"
    r"Process completed with exit code [1-9]",
    re.MULTILINE,
)
_LAST_WORDS = expression(
    r"^(?:Scheduler|DetokenizerManager|DataParallelController|TpModelWorkerClient) hit an exception"
)
"""These end a server whatever the exception is, also where a log or a paste has none of it."""
_OUTERMOST = frozenset(
    {
        *("run_scheduler_process", "run_detokenizer_process", "run_data_parallel_controller_process"),
        "forward_thread_func",
    }
)
"""An exception that got as far as one of these ends the process."""
_LOOPS = expression(r"^event_loop_(?:normal|overlap|pp)")
_ENTRY = expression(r"(?:sglang/launch_server|sglang_router/launch_router)\.py$|/bin/sglang$")
_REFUSED = expression(r"error: (?:argument |unrecognized arguments|the following arguments|ambiguous option)")
_ARGUMENT_FRAMES = frozenset({"prepare_server_args", "check_server_args", "resolve_once"})


def refuses_arguments(event: Event) -> bool:
    """Whether a server's arguments were refused, so that it never printed them."""
    return bool(_REFUSED.search(_words(event))) or any(frame.function in _ARGUMENT_FRAMES for frame in event.frames)


def ends_server(event: Event, role: Role, *, refused: bool) -> bool:
    """Whether the server goes down with this event; `refused` says that it did not take its arguments."""
    if role not in ("cause", "consequence") and _LAST_WORDS.match(event.heading) is None:
        return False
    return refused or event.kind == "native" or _DEATH.search(_words(event)) is not None or _ends_process(event)


def is_cut(one: Event | Finding) -> bool:
    """Whether it is a traceback that ends before its exception: what failed is not told, but that something did."""
    return one.kind == "traceback" and one.exception is None


def _words(event: Event) -> str:
    return f"{event.heading}\n{event.message[:500]}"


def _ends_process(event: Event) -> bool:
    """Whether nothing caught the exception of a traceback before its process ended."""
    if event.kind != "traceback" or not event.frames:
        return False
    first = event.frames[0].function
    if first == "_run_module_as_main":  # of the server, not of a client whose output stands in the same log
        begin = event.frames[1:5]
        return any(_ENTRY.search(one.file) or one.function == "_get_module_details" for one in begin)
    if first == "<module>":
        return _ENTRY.search(event.frames[0].file) is not None
    whole = event.cut not in ("head", "both") and first != "_bootstrap"
    passed = event.frames[:1] if whole else event.frames
    return any(one.function in _OUTERMOST or _LOOPS.match(one.function) for one in passed)

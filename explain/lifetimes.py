"""The launch context of a report: which start of which server it is about, and what that start told.

The start in which the first finding stands leads; of several nodes' logs, the starts of the same server on
the other nodes are put beside it. What the log does not say stays empty.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from explain.expressions import expression
from explain.launch import LaunchReader
from explain.model import Batch, Change, Frame, LaunchContext, Lifetime, MemoryStep, Place
from explain.release import infer
from explain.seen import Seen
from explain.starts import Start, stamped
from explain.startup import batch

MAX_LIFETIMES = 20
_FILES = 12
"""Files of tracebacks that are looked up for the release."""
_MODEL = expression(r"--model(?:-path)?[ =](?P<model>\"[^\"]+\"|'[^']+'|\S+)")
_ALWAYS_DIFFERENT = frozenset({"random_seed", "nccl_port", "server_uuid", "watermark_key"})
_MAX_SHOWN = 200
_BEGUN = (
    ("weights_begin", "weights_end", "began to load the weights and did not finish"),
    ("graph_begin", "graph_end", "began to capture graphs and did not finish"),
)


def start_of(launch: LaunchReader, seen: Seen) -> Start | None:
    """The start in which a finding happened; the stream's first one for a line before any."""
    home = launch.home(seen.source, seen.key)
    mine = [start for start in launch.starts if start.stream == home]
    # Lines of a rotated file say nothing of those of the next one: no start that came later.
    number = launch.later_starts(seen.source, seen.key, seen.later)
    before = [start for start in mine if start.line <= seen.line and start.number <= number]
    if before and (before[-1].line or len(mine) == 1 or before[-1].progressed):
        return before[-1]
    return next((start for start in mine if start.line), before[-1] if before else None)


def context_of(
    launch: LaunchReader, seen: Seen | None, names: Sequence[str], failed: Mapping[int, int]
) -> LaunchContext:
    """The context for the first finding, `seen`; of the last start where nothing was found.

    `failed` gives for each number of later starts the index of the finding that leads there.
    """
    start = start_of(launch, seen) if seen is not None else None
    if start is None:
        start = launch.starts[-1] if launch.starts else None
    if start is None:
        return LaunchContext()
    peers = _peers(launch, start)
    told = next((one for one in (start, *peers) if one.args), None)
    if told is None and not start.refused:
        # Another log may have printed them; those of its stream are of the servers before or after it.
        others = [one for one in launch.starts if not start.number or one.stream != start.stream]
        told = next((one for one in reversed(others) if one.args), None)
    early = launch.early(start)
    place, command = start.command_place, start.command
    if command is None:
        place, command = early.command(seen.line if seen is not None else None)
    if command is None:
        place, command = next(((one.command_place, one.command) for one in peers if one.command), (None, None))
    args = told.args if told else {}
    args_place = told.place if told else None
    steps = tuple(step for one in (start, *peers) for step in one.steps)
    pools = tuple(pool for one in (start, *peers) for pool in one.pools)
    version, evidence = _release(args, (start, *peers))
    if not args and command:
        from explain.commandline import arguments_of

        args, args_place = arguments_of(command), place
    beside = [one for one in launch.starts if one.stream[0] == start.stream[0]]  # of the same machine
    ranks = {rank for one in (start, *peers) for rank in (*one.ranks, *launch.batch_ranks(one))}
    nodes = args.get("nnodes")
    return LaunchContext(
        sglang_version=version,
        version_evidence=evidence,
        server_args=args,
        args_place=args_place if args else None,
        command=command,
        model=_model(args, command),
        quantization=_text(args.get("quantization")) or start.quantization,
        gpu=next((one.gpu for one in (start, *peers, *beside) if one.gpu), None),
        attention_backend=start.attention_backend or early.backend or _text(args.get("attention_backend")),
        ranks=tuple(sorted(ranks, key=_natural)),
        nodes=nodes if isinstance(nodes, int) and not isinstance(nodes, bool) else None,
        memory=steps,
        pools=pools,
        limits=start.limits or next((one.limits for one in peers if one.limits), {}),
        batches=_batches(launch, seen, names, start),
        lifetimes=_lifetimes(launch, start, failed),
        changes=_changes(launch, start),
        unfinished=_unfinished(start, steps),
    )


def _release(args: Mapping[str, Any], starts: Sequence[Start]) -> tuple[str | None, tuple[str, ...]]:
    """The release and what shows it."""
    if any("/sgl_jax/" in file for one in starts for file, _ in one.frames):
        return None, ()  # a port to other hardware, with releases of its own
    messages = [text for one in starts for text in one.messages.values()]
    return infer(list(args) or None, lambda: _frames(starts), messages)


def _frames(starts: Sequence[Start]) -> tuple[Frame, ...]:
    """Frames of at most so many files, of every start."""
    frames: dict[tuple[str, int], Frame] = {}
    files: set[str] = set()
    for one in starts:
        for place, frame in one.frames.items():
            if frame.file in files or len(files) < _FILES:
                files.add(frame.file)
                frames[place] = frame
    return tuple(frames.values())


def _peers(launch: LaunchReader, start: Start) -> list[Start]:
    """The same server's starts on its other nodes."""
    address = start.args.get("dist_init_addr")
    nodes = start.args.get("nnodes")
    if not address or not isinstance(nodes, int) or nodes < 2:
        return []
    later = launch.later_starts(*start.stream, start.number)
    return [
        other
        for other in launch.starts
        if other.stream != start.stream
        and other.args.get("dist_init_addr") == address
        and launch.later_starts(*other.stream, other.number) == later
    ]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value not in ("", "auto") else None


def _model(args: Mapping[str, Any], command: str | None) -> str | None:
    model = args.get("model_path")
    if isinstance(model, str) and model:
        return model
    found = _MODEL.search(command or "")
    return found["model"].strip("\"'") if found else None


def _natural(rank: str) -> tuple[tuple[str, int], ...]:
    return tuple((part.rstrip("0123456789"), int(re.sub(r"\D", "", part) or 0)) for part in rank.split())


# ------------------------------------------------------------------ before the failure


def _batches(launch: LaunchReader, seen: Seen | None, names: Sequence[str], start: Start) -> tuple[Batch, ...]:
    """The last batch lines before the first finding, one of each kind and rank."""
    if seen is None:
        return ()
    places = [place for place in launch.snapshots if place[0] == seen.source and place[1] <= seen.first_line]
    if not places:
        return ()
    last: dict[tuple[str, str], Batch] = {}
    for number, line, carried in launch.snapshots[max(places)]:
        text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
        prefix = stamped(line)
        read = batch(prefix.rest if prefix else text)
        if read is None or (start.stream[0] == seen.source and number < start.line):
            continue
        rank = (prefix.rank if prefix else None) or ""
        place = Place(names[seen.source], number, (prefix.time if prefix else None) or carried)
        last[read[0], rank] = Batch(read[0], rank, read[1], place)
    return tuple(sorted(last.values(), key=lambda one: one.place.line))


# ------------------------------------------------------------------ several starts


def _of_server(launch: LaunchReader, start: Start) -> list[Start]:
    """The starts of one server, in order: those of its stream that follow each other."""
    mine: dict[int, Start] = {}
    for one in launch.starts:
        mine_too = one.stream == start.stream and (one.line or one.progressed)
        if mine_too and (one.number not in mine or one is start):
            mine[one.number] = one
    return [mine[number] for number in sorted(mine)]


def _lifetimes(launch: LaunchReader, start: Start, failed: Mapping[int, int]) -> tuple[Lifetime, ...]:
    found = []
    for one in _of_server(launch, start)[-MAX_LIFETIMES:]:
        place = one.place or (one.steps[0].place if one.steps else one.ready)
        if place is not None:
            later = launch.later_starts(*one.stream, one.number)
            found.append(Lifetime(place, one.ready, failed.get(later)))
    return tuple(found)


def _changes(launch: LaunchReader, start: Start) -> tuple[Change, ...]:
    """What changed in the arguments between the last start that became ready and the first bad one."""
    starts = _of_server(launch, start)
    position = starts.index(start) if start in starts else 0
    first = start
    while position > 0:
        before = starts[position - 1]
        if before.ready is not None and before.args != first.args:
            return _differences(before.args, first.args)
        if before.ready is not None and first.ready is None:
            return ()
        first = before if before.args else first
        position -= 1
    return ()


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    if not before or not after:
        return ()
    return tuple(
        Change(name, before[name], after[name])
        for name in after
        if name in before and name not in _ALWAYS_DIFFERENT and before[name] != after[name]
    )[:_MAX_SHOWN]


def _unfinished(start: Start, steps: Sequence[MemoryStep]) -> tuple[str, ...]:
    """Ranks that stopped on the way while others went on, of a server that never became ready."""
    if start.ready is not None:
        return ()
    told = []
    for begin, end, words in _BEGUN:
        begun = _counted(steps, begin)
        ended = _counted(steps, end)
        behind = sorted((rank for rank in begun if ended.get(rank, 0) < begun[rank]), key=_natural)
        others = len(begun) - len(behind)
        if behind and others and all(behind):
            went = "the other rank did" if others == 1 else f"the other {others} ranks did"
            told.append(f"{', '.join(behind)} {words}; {went}")
    return tuple(told + _never_began(start, steps))


def _never_began(start: Start, steps: Sequence[MemoryStep]) -> list[str]:
    """Ranks of a server on one node that never began to load, where others did and the log holds the whole start."""
    sizes = [start.args.get(name, 1) for name in ("tp_size", "pp_size", "nnodes", "dp_size")]
    if not start.line or not all(isinstance(size, int) for size in sizes) or sizes[2] != 1:
        return []
    if sizes[3] != 1 and not start.args.get("enable_dp_attention"):
        return []
    seen = {_in_model(one.rank) for one in steps if one.step == "weights_begin"}
    expected = {(tp, pp) for tp in range(min(sizes[0], _MAX_SHOWN)) for pp in range(min(sizes[1], _MAX_SHOWN))}
    missing = sorted(expected - seen)
    if not missing or not seen <= expected or not seen:
        return []
    names = [f"TP{tp}" if sizes[1] == 1 else f"PP{pp} TP{tp}" for tp, pp in missing]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    went = "the other rank did" if len(seen) == 1 else f"the other {len(seen)} ranks did"
    return [f"{shown} never began to load the weights; {went}"]


def _in_model(rank: str) -> tuple[int, int]:
    """The (tensor, pipeline) rank that a label names; 0 for one it does not name."""
    found = dict(re.findall(r"(TP|PP)(\d{1,6})", rank))
    return int(found.get("TP", 0)), int(found.get("PP", 0))


def _counted(steps: Sequence[MemoryStep], step: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for one in steps:
        if one.step == step:
            counts[one.rank] = counts.get(one.rank, 0) + 1
    return counts

"""`--state`: where each log was left and what was told, so that a restart neither repeats nor misses a finding."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from explain.live import Told
from explain.marks import Left
from explain.model import Problem, reason_of
from explain.values import dataclass, field

SCHEMA = "sglang-explain-state/2"


@dataclass(frozen=True, slots=True)
class Written:
    """What a file of events holds. `size`: bytes when the state was written; all behind them was written later.

    `ahead`: events before `size` that stand behind the marks, as (source, line, rank): they will be read again.
    """

    device: int
    inode: int
    size: int
    ahead: tuple[tuple[str, int, str], ...] = ()


@dataclass(slots=True)
class State:
    """`at`: when it was written, in seconds of the epoch. `left`: by path. `told`: by finding, what was said.

    `counted`: by finding, how often it had come where the paths were left: what comes behind is counted again.

    `telling`: (finding, bytes of the output before it was written), while it is being written.
    """

    left: dict[str, Left] = field(default_factory=dict)
    told: dict[str, Told] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
    telling: tuple[str, int] | None = None
    written: Written | None = None
    at: float = 0.0

    def forget_unwritten(self, output_bytes: int) -> None:
        """A run that was killed while it told a finding: it is told again, unless the output shows it.

        `output_bytes` is the size of the output file now, -1 where the output is none.
        """
        if self.telling is not None:
            finding, before = self.telling
            if not 0 <= before < output_bytes:
                self.told.pop(finding, None)
            self.telling = None


def load_state(path: Path) -> tuple[State, Problem | None]:
    """The state of an earlier run; a new one where there is none or it is damaged, with a problem told."""
    try:
        _check_regular(path)
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return State(), None
    except (OSError, ValueError, RecursionError) as error:
        return State(), Problem(str(path), "", f"this state cannot be read: {error}", "following starts anew")
    try:
        return _read(value), None
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError):
        return State(), Problem(str(path), "", "this is no state of sglang-explain", "following starts anew")


def _read(value: dict[str, Any]) -> State:
    if value["schema"] != SCHEMA:
        raise ValueError(value["schema"])
    left = {name: Left.from_json(one) for name, one in value["sources"].items()}
    counted = {name: int(one["counted"]) for name, one in value["told"].items()}
    told = {name: Told(str(one["role"]), int(one["count"]), 0.0, counted[name]) for name, one in value["told"].items()}
    telling, written = value["telling"], value["written"]
    if written is not None:
        ahead = tuple((str(source), int(line), str(rank)) for source, line, rank in written["ahead"])
        written = Written(int(written["device"]), int(written["inode"]), int(written["size"]), ahead)
    return State(
        left, told, counted, (str(telling[0]), int(telling[1])) if telling else None, written, float(value["at"])
    )


def save_state(path: Path, state: State) -> Problem | None:
    """Writes all or nothing: beside, then moved over. A full disk is told and leaves the old state in place."""
    written = state.written
    value = {
        "schema": SCHEMA,
        "at": state.at,
        "sources": {name: one.as_json() for name, one in state.left.items()},
        "told": {
            name: {"role": told.role, "count": told.count, "counted": state.counted.get(name, 0)}
            for name, told in state.told.items()
        },
        "telling": state.telling,
        "written": written
        and {"device": written.device, "inode": written.inode, "size": written.size, "ahead": written.ahead},
    }
    return write_whole(path, json.dumps(value, separators=(",", ":")).encode(), mode=0o600)  # it holds bytes of the log


def _check_regular(path: Path) -> None:
    """Raises OSError where the path is a device, a pipe or a folder: reading might not end, moving would destroy it."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def write_whole(path: Path, data: bytes, mode: int = 0o644) -> Problem | None:
    """Puts `data` under `path` so that no reader ever sees half of it; what went wrong, None if nothing did."""
    temporary = None
    try:
        _check_regular(path)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        return Problem(str(path), "", f"cannot be written: {reason_of(error)}", "following goes on without it")
    return None

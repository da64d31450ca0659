"""`--state`: where each log was left and what was told, so that a restart neither repeats nor misses a finding."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from explain.follow import Mark
from explain.live import Told
from explain.model import Problem
from explain.values import dataclass, field

SCHEMA = "sglang-explain-state/1"


@dataclass(slots=True)
class State:
    """`marks`: by path, where to go on and the number of the line there. `told`: by finding, what was said.

    `telling`: (finding, bytes of the output before it was written), while it is being written.
    """

    marks: dict[str, tuple[Mark, int]] = field(default_factory=dict)
    told: dict[str, Told] = field(default_factory=dict)
    telling: tuple[str, int] | None = None

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
    except (KeyError, TypeError, ValueError, AttributeError):
        return State(), Problem(str(path), "", "this is no state of sglang-explain", "following starts anew")


def _read(value: dict[str, Any]) -> State:
    if value["schema"] != SCHEMA:
        raise ValueError(value["schema"])
    marks = {name: (Mark.from_json(one["mark"]), int(one["line"])) for name, one in value["sources"].items()}
    told = {name: Told(str(one["role"]), int(one["count"]), 0.0) for name, one in value["told"].items()}
    telling = value.get("telling")
    return State(marks, told, (str(telling[0]), int(telling[1])) if telling else None)


def save_state(path: Path, state: State) -> Problem | None:
    """Writes all or nothing: beside, then moved over. A full disk is told and leaves the old state in place."""
    value = {
        "schema": SCHEMA,
        "sources": {name: {"mark": mark.as_json(), "line": line} for name, (mark, line) in state.marks.items()},
        "told": {name: {"role": told.role, "count": told.count} for name, told in state.told.items()},
        "telling": state.telling,
    }
    return write_whole(path, json.dumps(value, separators=(",", ":")).encode())


def _check_regular(path: Path) -> None:
    """Raises OSError where the path is a device, a pipe or a folder: reading might not end, moving would destroy it."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def write_whole(path: Path, data: bytes) -> Problem | None:
    """Puts `data` under `path` so that no reader ever sees half of it; what went wrong, None if nothing did."""
    temporary = None
    try:
        _check_regular(path)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        reason = (error.strerror or str(error)).lower()
        return Problem(str(path), "", f"cannot be written: {reason}", "following goes on without it")
    return None

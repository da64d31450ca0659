"""Whether what a record asks for agrees with what a traceback prints: classes, files, functions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from explain.model import Frame


def class_agrees(wanted: str | None, exception: str | None) -> bool:
    """Whether two class names are the same by their last part (`torch.cuda.OutOfMemoryError`)."""
    if not wanted or not exception:
        return False
    return wanted.rpartition(".")[2] == exception.rpartition(".")[2]


@lru_cache(maxsize=4096)
def sglang_path(file: str) -> str | None:
    """The path of a frame from `sglang/` on; None for a file that is not SGLang's.

    `.../managers/scheduler.py` (shortened by the one who pasted it) stays unknown.
    """
    path = file.replace("\\", "/")
    for package in ("sglang/", "sgl_jax/", "sglang_router/"):
        marker = path.rfind("/" + package)
        if marker >= 0:
            return path[marker + 1 :]
        if path.startswith(package):
            return path
    return None


NEAR = 3
"""SGLang frames that are near an error; further up stands the event loop, whatever failed."""


def near_frames(frames: Sequence[Frame]) -> Sequence[Frame]:
    """The deepest frames, from the third SGLang frame above the error on; all where there are fewer."""
    seen = 0
    for index in range(len(frames) - 1, -1, -1):
        seen += sglang_path(frames[index].file) is not None
        if seen == NEAR:
            return frames[index:]
    return frames


def nearness(wanted: Sequence[str], frames: Sequence[Frame]) -> float:
    """How near to the error a frame stands that fits `wanted`: above 0, up to 1.6; 0 where no near one does.

    The deeper frame counts first, whatever is asked for; at one frame a function says more than a file or a folder.
    """
    near = near_frames(frames)
    for index in range(len(near) - 1, -1, -1):
        if worth := frames_agree(wanted, (near[index],)):
            return (index + 1 + worth / 2) / len(near)
    return 0.0


def file_names(frames: Sequence[str]) -> set[str]:
    """The names of the files, or folders, that a record's frames ask for; "" where any will do."""
    names = {place.partition(":")[0].rstrip("/").rpartition("/")[2] for place in frames}
    return names or {""}


def frames_agree(wanted: Sequence[str], frames: Sequence[Frame]) -> float:
    """How well `wanted` (`sglang/a.py:function`, `sglang/a.py`, `sglang/folder/`) fits the traceback.

    0 where none of them is on it; a function says more than a file, a file more than a folder.
    """
    best = 0.0
    for place in wanted:
        path, function, worth = _asked(place)
        if worth <= best:
            continue
        for frame in frames:
            if _file_fits(path, frame.file) and (not function or _same_function(function, frame.function)):
                best = worth
                break
    return best


_FUNCTION, _FILE, _FOLDER = 1.2, 1.0, 0.7


@lru_cache(maxsize=8192)
def _asked(place: str) -> tuple[str, str, float]:
    """The path, the function, and what agreement in them is worth."""
    path, _, function = place.partition(":")
    return path, function, _FUNCTION if function else _FOLDER if path.endswith("/") else _FILE


@lru_cache(maxsize=16_384)
def _file_fits(path: str, printed: str) -> bool:
    file = printed.replace("\\", "/")
    if path.endswith("/"):
        return f"/{path}" in f"/{file}"
    if file.startswith("..."):
        return path.endswith(file.lstrip("."))
    return file == path or file.endswith("/" + path)


def _same_function(wanted: str, printed: str) -> bool:
    """Function names agree; Markdown may have eaten the underscores of `__init__`."""
    return wanted.strip("_") == printed.strip("_*").rpartition(".")[2]

"""How to sleep until a followed file may have changed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable

WAKE_SECONDS = 0.25
"""How long a wait takes at most where the system tells of changes: an open traceback closes in time."""
_SILENT = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "lustre", "virtiofs", "fuse.glusterfs"})
"""File systems that do not tell of what other machines write."""


def wait_for_change(paths: Iterable[str], stopped: threading.Event) -> Callable[[], None]:
    """A wait that ends when something changes beside one of the paths, or a little later.

    Raises ImportError, OSError or RuntimeError where the system does not tell of changes.
    """
    from watchfiles import watch

    whole = [os.path.abspath(path) for path in paths]
    folders = {os.path.dirname(one) for path in whole for one in (path, os.path.realpath(path))}
    existing = sorted(folder for folder in folders if os.path.isdir(folder))
    if not existing or any(_is_silent(folder) for folder in existing):
        raise OSError("the folder is not there yet or not local")
    changes = watch(
        *existing,
        watch_filter=None,
        debounce=40,
        step=10,
        stop_event=stopped,
        rust_timeout=int(WAKE_SECONDS * 1000),
        yield_on_timeout=True,
        recursive=False,
        raise_interrupt=False,
    )

    def wait() -> None:
        next(changes, None)

    return wait


def _is_silent(folder: str) -> bool:
    if folder.startswith(("/proc", "/sys")):
        return True
    try:
        with open("/proc/self/mounts", encoding="utf-8", errors="replace") as file:
            mounts = [line.split()[1:3] for line in file]
    except OSError:
        return False
    above = (mount for mount in mounts if _below(folder, mount[0]))
    return max(above, key=lambda mount: len(mount[0]), default=["", ""])[1] in _SILENT


def _below(folder: str, mount: str) -> bool:
    return folder == mount or folder.startswith(mount.rstrip("/") + "/")

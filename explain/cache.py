"""Files that may be lost: built from other files, kept in the user's cache directory to save time.

Nothing here fails: a cache that cannot be read is empty, one that cannot be written stays as it is.
"""

from __future__ import annotations

import contextlib
import os
import sys
import zlib

NAME = "sglang-explain"


def cache_directory() -> str:
    """Where this system keeps a user's caches, whether the directory exists or not."""
    # Strings here and in what else an ordinary run imports: `pathlib` takes longer to load than a log's first lines.
    if given := os.environ.get("XDG_CACHE_HOME"):
        return os.path.join(given, NAME)
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA") or home, NAME, "Cache")
    if home == "~":  # nobody knows the user
        from tempfile import gettempdir

        return os.path.join(gettempdir(), NAME)
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches", NAME)
    return os.path.join(home, ".cache", NAME)


def read_cached(name: str) -> memoryview | None:
    """What `write_cached` stored under the name, None where it is missing, unreadable or damaged.

    A view: these are megabytes, and every copy is a part of the start.
    """
    stored = memoryview(read_unchecked(name) or b"")
    content = stored[4:]
    if len(stored) < 4 or zlib.crc32(content) != int.from_bytes(stored[:4], "big"):
        return None
    return content


def read_unchecked(name: str) -> bytes | None:
    """What `write_cached` stored without a check: content that is checked by whoever takes it."""
    try:
        with open(os.path.join(cache_directory(), name), "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return None


MOST_FILES = 64
"""More files than this are not kept: folders of records come and go."""


def write_cached(name: str, content: bytes, *, check: bool = True) -> bool:
    """Stores bytes under a name, all or nothing. False where the directory cannot be written."""
    from tempfile import mkstemp

    directory = cache_directory()
    temporary = None
    try:
        os.makedirs(directory, exist_ok=True)
        handle, temporary = mkstemp(prefix=f".{name}-", dir=directory)
        with os.fdopen(handle, "wb") as file:
            if check:
                file.write(zlib.crc32(content).to_bytes(4, "big"))
            file.write(content)
        os.replace(temporary, os.path.join(directory, name))
        _remove_oldest(directory, "", MOST_FILES)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        return False
    return True


def prune_cached(prefix: str, keep: int) -> None:
    """Removes all but the `keep` newest files whose names start with `prefix`. Best effort."""
    with contextlib.suppress(OSError):
        _remove_oldest(cache_directory(), prefix, keep)


def _remove_oldest(directory: str, prefix: str, keep: int) -> None:
    """Keeps the directory from growing for ever: what was written longest ago goes first."""
    with os.scandir(directory) as entries:
        files = [(entry.stat().st_mtime, entry.path) for entry in entries if _is_kept(entry, prefix)]
    for _, path in sorted(files)[:-keep]:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _is_kept(entry: os.DirEntry[str], prefix: str) -> bool:
    return entry.name.startswith(prefix) and entry.is_file()

"""The program's own large files, of which a run needs a few pages."""

from __future__ import annotations

import os


def mapped(path: str | os.PathLike[str]) -> memoryview:
    """The bytes of a file, each page read when it is looked at. Raises OSError where it cannot be opened."""
    import mmap

    with open(path, "rb") as file:
        try:
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except ValueError:
            return memoryview(b"")  # an empty file cannot be mapped

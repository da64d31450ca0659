"""The site index as one file, made from the text in `patterns/sites/`.

The wheel holds the result, a checkout keeps it in the user's cache directory. Sections are compressed apart,
so that what is not asked for is not read.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
import zlib
from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from explain.cache import read_cached, write_cached
from explain.sitefacts import group
from explain.sitereader import BLOCK, FORMAT, MAGIC, PackError, SitePack, place_key
from explain.templates import literal_length

__all__ = [
    "CHECKOUT",
    "FORMAT",
    "MAGIC",
    "PackError",
    "SitePack",
    "build_pack",
    "empty_pack",
    "read_shipped_pack",
    "shipped_pack",
]

PACKAGE = Path(__file__).resolve().parent
SHIPPED = PACKAGE / "_data" / "sites.pack"
CHECKOUT = PACKAGE.parent / "patterns" / "sites"


def build_pack(source_dir: Path) -> bytes:
    """The packed form of the text index in a folder. The same bytes for the same text.

    Raises `PackError` naming the file and line where the text is not an index.
    """
    digest = hashlib.sha256(f"{FORMAT}\n".encode())
    entries: list[dict[str, Any]] = []
    registries: dict[str, list[dict[str, Any]]] = {"flags": [], "environment": [], "fields": []}
    extra: dict[str, bytes] = {}
    histories: dict[str, bytes] = {}
    versions: list[str] = []
    for path in sorted(source_dir.iterdir()):
        if path.suffix not in (".jsonl", ".txt", ".tsv"):
            continue
        content = path.read_bytes()
        digest.update(f"{path.name}\n{len(content)}\n".encode())
        digest.update(content)
        if path.name == "releases.txt":
            versions = content.decode().split()
        elif path.suffix == ".tsv" and path.stem.startswith("lines-"):
            histories.update(_histories(content))
        elif path.suffix == ".tsv":
            extra[path.stem] = content
        else:
            rows = _rows(path, content)
            if path.stem in registries:
                registries[path.stem] = rows
            else:
                entries += rows
    return pack_entries(entries, registries, versions, digest.hexdigest()[:32], extra, histories)


def _histories(content: bytes) -> dict[str, bytes]:
    """The line history of each file, by its path."""
    found: dict[str, bytes] = {}
    for block in content.split(b"# ")[1:]:
        name, _, history = block.partition(b"\n")
        found[name.decode()] = history
    return found


def _rows(path: Path, content: bytes) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(content.splitlines(), 1):
        try:
            row = orjson.loads(line)
            if not isinstance(row, dict):
                raise ValueError("not an object")
        except ValueError as error:
            raise PackError(f"{path}: line {number}: {error}; run `sglang-explain harvest` again") from error
        rows.append(row)
    return rows


def pack_entries(
    entries: Sequence[Mapping[str, Any]],
    registries: Mapping[str, Sequence[Mapping[str, Any]]],
    versions: Sequence[str],
    digest: str,
    extra: Mapping[str, bytes] | None = None,
    histories: Mapping[str, bytes] | None = None,
) -> bytes:
    """The packed form of an index that is in memory."""
    from explain.siteneedles import choose

    texts = [entry.get("text", "") for entry in entries]
    names = [row["field"] for row in registries.get("fields", ())]
    needles = choose(texts, [group(entry["kind"]) != "exception" for entry in entries], names)
    places: dict[int, list[int]] = {}
    for number, entry in enumerate(entries):
        for file, function, *_ in entry["sites"]:
            places.setdefault(place_key(file, function), []).append(number)
    keys = array("I", sorted(places))
    ends, numbers = array("I"), array("I")
    for key in keys:
        numbers.extend(dict.fromkeys(places[key]))
        ends.append(len(numbers))
    classes = sorted({entry.get("class", "") for entry in entries})
    index = {name: position for position, name in enumerate(classes)}
    kinds = sorted({entry["kind"] for entry in entries})
    lengths = array("H", (min(literal_length(text), 65535) for text in texts))
    sections: dict[str, bytes] = {
        "needles": "\n".join(needles).encode(),
        "keys": _bytes(keys),
        "ends": _bytes(ends),
        "numbers": _bytes(numbers),
        "lengths": _bytes(lengths),
        "classes": _bytes(array("H", (index[entry.get("class", "")] for entry in entries))),
        "kinds": _bytes(array("H", (kinds.index(entry["kind"]) for entry in entries))),
        **{f"registry {name}": _lines(rows) for name, rows in registries.items()},
        **{f"extra {name}": content for name, content in (extra or {}).items()},
    }
    apart = {name: zlib.compress(content, 9) for name, content in sorted((histories or {}).items())}
    sections["histories"] = "".join(f"{name}\t{len(content)}\n" for name, content in apart.items()).encode()
    for start in range(0, len(entries), BLOCK):
        block = [{k: v for k, v in entry.items() if k != "id"} for entry in entries[start : start + BLOCK]]
        sections[f"block {start // BLOCK}"] = _lines(block)
    header: dict[str, Any] = {
        "format": FORMAT,
        "digest": hashlib.sha256("\n".join((str(FORMAT), digest, *needles)).encode()).hexdigest()[:32],
        "versions": list(versions),
        "count": len(entries),
        "class names": classes,
        "kind names": kinds,
        "sections": {},
    }
    body = bytearray()
    for name, content in sections.items():
        packed = zlib.compress(content, 9)
        header["sections"][name] = [len(body), len(packed)]
        body += packed
    header["histories"] = len(body)
    for packed in apart.values():
        body += packed
    head = json.dumps(header, separators=(",", ":")).encode()
    content = head + bytes(body)
    return MAGIC + struct.pack("<II", len(head), zlib.crc32(content)) + content


def _bytes(values: array[int]) -> bytes:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values.tobytes()


def _lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows).encode()


def empty_pack() -> SitePack:
    """An index without sites: what is used where none is built."""
    return SitePack(pack_entries([], {}, [], "0" * 32))


def shipped_pack() -> SitePack:
    """`read_shipped_pack`, once: the index serves errors, flags and releases."""
    return _read_once(SHIPPED, CHECKOUT)


@lru_cache(maxsize=2)
def _read_once(shipped: Path, checkout: Path) -> SitePack:
    return read_shipped_pack()


def read_shipped_pack() -> SitePack:
    """The index in the package, or, in a checkout, of `patterns/sites/`; empty where there is neither.

    A damaged cached pack is built again; a damaged shipped one raises `PackError`.
    """
    if SHIPPED.is_file():
        return SitePack(SHIPPED.read_bytes())
    if not (CHECKOUT / "releases.txt").is_file():
        return empty_pack()
    # The modules that make the pack count as well: a checkout's may change.
    makers = [
        PACKAGE / name for name in ("sitepack.py", "sitereader.py", "siteneedles.py", "needles.py", "templates.py")
    ]
    files = [(path.name, path.stat()) for path in (*makers, *sorted(CHECKOUT.iterdir()))]
    state = json.dumps([FORMAT, *([name, stat.st_size, stat.st_mtime_ns] for name, stat in files)])
    name = f"sites-{hashlib.sha256(state.encode()).hexdigest()[:16]}.pack"
    cached = read_cached(name)
    if cached is not None:
        with suppress(PackError):
            return SitePack(cached)
    content = build_pack(CHECKOUT)
    write_cached(name, content)
    return SitePack(content)

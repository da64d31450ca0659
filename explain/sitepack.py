"""The site index as one file, made from the text in `patterns/sites/`.

The wheel holds the result, a checkout keeps it in the user's cache directory. Sections are compressed apart,
so that what is not asked for is not read.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from explain.cache import read_cached, write_cached
from explain.digest import digest_of
from explain.mapped import mapped
from explain.sitefacts import group, normalised
from explain.sitereader import BLOCK, FORMAT, MAGIC, PackError, SitePack, bytes_of, place_key
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

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = os.path.dirname(os.path.realpath(__file__))
SHIPPED = os.path.join(PACKAGE, "_data", "sites.pack")
CHECKOUT = os.path.join(os.path.dirname(PACKAGE), "patterns", "sites")
SELDOM = ("block", "needles", "extra files")
"""Sections that are compressed; nearly every run with a failure reads the others, and a wheel compresses them all."""
MAKERS = (
    *("sitepack.py", "sitereader.py", "siteneedles.py", "needles.py", "linehistory.py", "linetracks.py"),
    "templates.py",
)


def build_pack(source_dir: Path) -> bytes:
    """The packed form of the text index in a folder. The same bytes for the same text.

    Raises `PackError` naming the file and line where the text is not an index.
    """
    from hashlib import sha256

    digest = sha256(f"{FORMAT}\n".encode())
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
            histories.update(_histories(path, content))
        elif path.name == "shapes.tsv":
            # Sorted by the message, so that those that start like a line are found at once.
            shapes = (line.partition("\t") for line in content.decode().split("\n") if line)
            extra[path.stem] = "\n".join(sorted(f"{shape}\t{releases}" for releases, _, shape in shapes)).encode()
        elif path.suffix == ".tsv":
            extra[path.stem] = content
        else:
            rows = _rows(path, content)
            if path.stem in registries:
                registries[path.stem] = rows
            else:
                entries += rows
    return pack_entries(entries, registries, versions, digest.hexdigest()[:32], extra, histories)


def _histories(path: Path, content: bytes) -> dict[str, bytes]:
    """The packed line history of each file, by its path."""
    from explain.linetracks import packed

    found: dict[str, bytes] = {}
    for block in content.decode().split("# ")[1:]:
        name, _, history = block.partition("\n")
        try:
            found[name] = packed(history.splitlines())
        except (ValueError, IndexError, OverflowError) as error:
            raise PackError(f"{path}: {name}: {error}; run `sglang-explain harvest` again") from error
    return found


def _rows(path: Path, content: bytes) -> list[dict[str, Any]]:
    import orjson

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
    fields = registries.get("fields", ())
    names = [row["field"] for row in fields]
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
        "has needle": bytes(map(bool, needles)),
        "keys": bytes_of(keys),
        "ends": bytes_of(ends),
        "numbers": bytes_of(numbers),
        "lengths": bytes_of(lengths),
        "classes": bytes_of(array("H", (index[entry.get("class", "")] for entry in entries))),
        "kinds": bytes_of(array("H", (kinds.index(entry["kind"]) for entry in entries))),
        "registry flags": _named((normalised(row["flag"]), row) for row in registries.get("flags", ())),
        "registry environment": _named((row["variable"], row) for row in registries.get("environment", ())),
        "registry fields": "\n".join(f"{row['field']}\t{row['releases']}" for row in fields).encode(),
        **{f"extra {name}": content for name, content in (extra or {}).items()},
    }
    apart = {name: zlib.compress(content, 9) for name, content in sorted((histories or {}).items())}
    starts = accumulate(map(len, apart.values()), initial=0)
    sections["histories"] = "\n".join(
        f"{name}\t{start} {len(content)}" for (name, content), start in zip(apart.items(), starts, strict=False)
    ).encode()
    for start in range(0, len(entries), BLOCK):
        block = [{k: v for k, v in entry.items() if k != "id"} for entry in entries[start : start + BLOCK]]
        sections[f"block {start // BLOCK}"] = _lines(block)
    header: dict[str, Any] = {
        "format": FORMAT,
        "digest": digest_of("\n".join((str(FORMAT), digest, *needles)))[:32],
        "versions": list(versions),
        "count": len(entries),
        "class names": classes,
        "kind names": kinds,
        "sections": {},
    }
    body = bytearray()
    for name, content in sections.items():
        packed = zlib.compress(content, 9 if name.startswith(SELDOM) else 0)
        header["sections"][name] = [len(body), len(packed)]
        body += packed
    header["histories"] = len(body)
    for packed in apart.values():
        body += packed
    header["size"] = len(body)
    head = json.dumps(header, separators=(",", ":")).encode()
    return b"".join((MAGIC, struct.pack("<II", len(head), zlib.crc32(head)), head, body))


def _lines(rows: Sequence[Mapping[str, Any]]) -> bytes:
    return "\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows).encode()


def _named(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> bytes:
    """A line for each row, behind its name."""
    return b"\n".join(b"%b\t%b" % (name.encode(), _lines([row])) for name, row in rows)


def empty_pack() -> SitePack:
    """An index without sites: what is used where none is built."""
    return SitePack(pack_entries([], {}, [], "0" * 32))


def shipped_pack() -> SitePack:
    """`read_shipped_pack`, once: the index serves errors, flags and releases."""
    return _read_once(SHIPPED, CHECKOUT)


@lru_cache(maxsize=2)
def _read_once(shipped: str, checkout: str) -> SitePack:
    return read_shipped_pack()


def read_shipped_pack() -> SitePack:
    """The index in the package, or, in a checkout, of `patterns/sites/`; empty where there is neither.

    A damaged cached pack is built again; a damaged shipped one raises `PackError`.
    """
    if os.path.isfile(SHIPPED):
        return SitePack(mapped(SHIPPED))
    from pathlib import Path

    checkout = Path(CHECKOUT)
    if not (checkout / "releases.txt").is_file():
        return empty_pack()
    # The modules that make the pack count as well: a checkout's may change.
    makers = [Path(PACKAGE, name) for name in MAKERS]
    files = [(path.name, path.stat()) for path in (*makers, *sorted(checkout.iterdir()))]
    state = json.dumps([FORMAT, *([name, stat.st_size, stat.st_mtime_ns] for name, stat in files)])
    name = f"sites-{digest_of(state)[:16]}.pack"
    cached = read_cached(name)
    if cached is not None:
        with suppress(PackError):
            return SitePack(cached)
    content = build_pack(checkout)
    write_cached(name, content)
    return SitePack(content)

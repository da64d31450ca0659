"""Where SGLang's source is: a wheel, an unpacked one, a checkout, an installation; its release, its files."""

from __future__ import annotations

import ast
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from explain.model import Problem

LEFT_OUT = {"test", "tests"}
"""Folders of SGLang that no server runs."""

RELEASE = re.compile(r"\d+(?:\.\d+)+(?:\.post\d+)?")


@dataclass(frozen=True, slots=True)
class Tree:
    """One copy of SGLang. `files` are (path from `sglang/` on, text)."""

    origin: str
    version: str
    files: tuple[tuple[str, str], ...]


def version_key(version: str) -> tuple[int, ...]:
    """Sorts releases; a post-release follows its release, anything unknown comes last."""
    if not RELEASE.fullmatch(version):
        return (999, *(int(n) for n in re.findall(r"\d+", version)))
    release, _, post = version.partition(".post")
    numbers = [int(number) for number in release.split(".")]
    return (*(numbers + [0] * (4 - len(numbers)))[:4], int(post or 0))


def read_tree(path: Path) -> tuple[Tree | None, list[Problem]]:
    """The copy of SGLang at `path`, and what is wrong with it. Files that cannot be read are left out."""
    problems: list[Problem] = []
    try:
        names = list(_wheel(path) if path.is_file() else _folder(path))
    except (OSError, zipfile.BadZipFile) as error:
        return None, [Problem(str(path), "", f"cannot be read: {error}", "give a wheel or a folder with sglang/ in it")]
    files: dict[str, str] = {}
    version = ""
    for name, read in names:
        try:
            text = read().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError, zipfile.BadZipFile) as error:
            problems.append(Problem(str(path), name, f"cannot be read: {error}", "the file was left out"))
            continue
        if name.endswith("METADATA"):
            found = re.search(r"^Version: *(\S+)", text, re.MULTILINE)
            version = found[1] if found else version
            continue
        if name in ("sglang/version.py", "sglang/_version.py") and not version:
            version = _stated_version(text)
        files[name] = text
    if not any(name.startswith(("sglang/srt/", "sglang/lang/", "sglang/multimodal_gen/")) for name in files):
        hint = "give a wheel, an installed sglang, or a checkout's python folder"
        return None, [*problems, Problem(str(path), "", "holds no SGLang source", hint)]
    return Tree(str(path), version or "unknown", tuple(sorted(files.items()))), problems


def _stated_version(text: str) -> str:
    try:
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                names = [target.id for target in node.targets if isinstance(target, ast.Name)]
                if {"__version__", "version"} & set(names) and RELEASE.match(str(node.value.value)):
                    return str(node.value.value)
    except SyntaxError:
        return ""
    return ""


def _kept(name: str) -> bool:
    parts = PurePosixPath(name).parts
    hidden = any(part.startswith(".") for part in parts)
    return name.endswith(".py") and parts[0] == "sglang" and not hidden and not LEFT_OUT & set(parts[1:-1])


def _wheel(path: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    archive = zipfile.ZipFile(path)
    for name in sorted(archive.namelist()):
        if _kept(name) or re.fullmatch(r"sglang-[^/]*\.dist-info/METADATA", name):
            yield name, partial(archive.read, name)


def _folder(path: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    roots = [path / "sglang", path / "python" / "sglang", path]
    root = next((r for r in roots if (r / "srt").is_dir() or (r / "lang").is_dir()), None)
    if root is None:
        return
    for metadata in sorted(root.parent.glob("sglang-*.dist-info/METADATA")):
        yield metadata.name, metadata.read_bytes
    for file in sorted(root.rglob("*.py")):
        name = "sglang/" + file.relative_to(root).as_posix()
        if _kept(name):
            yield name, file.read_bytes

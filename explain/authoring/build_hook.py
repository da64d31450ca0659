"""Packs the records and the site index into the wheel, so that it holds no raw record.

Run by hatchling when a wheel is built. An editable install needs none of it: there the checkout's own files
are read. Not part of the wheel.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CatalogueBuildHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return
        root = Path(self.root)
        self._folder = tempfile.TemporaryDirectory(prefix="sglang-explain-")
        made = {"catalogue.pack": self.catalogue(root), "sites.pack": self.sites(root), "guards.z": self.guards(root)}
        for name, content in made.items():
            if content is not None:
                target = Path(self._folder.name, name)
                target.write_bytes(content)
                build_data["force_include"][str(target)] = f"explain/_data/{name}"

    def catalogue(self, root: Path) -> bytes:
        """The packed records. Times of files are left out, so that the same records give the same bytes."""
        packing = module_of(root, "packing")
        problems: list[Any] = []
        found = module_of(root, "recordfiles").record_files
        files = found([root / "patterns"], problems, base=root)
        packed = packing.build_pack([replace(file, changed=0) for file in files])
        for problem in (*problems, *packed.problems()):
            self.app.display_warning(str(problem))
        content: bytes = packing.dump_pack(packed)
        return content

    def sites(self, root: Path) -> bytes | None:
        """The packed site index, None where none was harvested."""
        folder = root / "patterns" / "sites"
        if not (folder / "releases.txt").is_file():
            return None
        content: bytes = module_of(root, "sitepack").build_pack(folder)
        return content

    def guards(self, root: Path) -> bytes | None:
        """The conditions of SGLang's messages, None where none were harvested."""
        content: bytes | None = module_of(root, "guardfacts").packed(root / "patterns" / "sites" / "guards")
        return content

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if version != "editable":
            self._folder.cleanup()


def module_of(root: Path, name: str) -> Any:
    """A module of the tree that is built, without running the package's `__init__`.

    A build environment holds only what packing needs, not all that the program imports.
    """
    if "explain" not in sys.modules:
        package = ModuleType("explain")
        package.__path__ = [str(root / "explain")]
        sys.modules["explain"] = package
    return import_module(f"explain.{name}")

"""The sites of many releases put together: one template a line, where and when it exists."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from explain.authoring.harvest_compose import printed
from explain.authoring.harvest_flags import Registry
from explain.authoring.harvest_format import Text
from explain.authoring.harvest_lines import Lines
from explain.authoring.harvest_module import ExceptionClass, Module
from explain.authoring.harvest_place import RawSite
from explain.sitefacts import identity, intervals, package
from explain.templates import Slot, anonymous, joined, loosened, written

FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
SERVER = re.compile(r"sglang/srt/(?!models/|layers/|debug_utils/)")
"""Where the messages come from that every server prints."""
START = 12
"""A log message that tells releases apart starts with so many fixed characters."""
TELLING = 4
"""Fewer letters and digits in a template's fixed text tell nothing: the site goes by its code line."""


@dataclass(slots=True)
class Template:
    """One message over the releases. `sites` maps (file, function) to the line by release number."""

    kind: str
    exception: str | None
    text: str
    code: set[str] = field(default_factory=set)
    sites: dict[tuple[str, str], dict[int, int]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    environment: set[str] = field(default_factory=set)
    newest: int = -1
    quoted: bool = False


Key = tuple[str, str, str, str]


class Merger:
    """Takes releases oldest first; `write` gives the index."""

    def __init__(self) -> None:
        self.versions: list[str] = []
        self.templates: dict[Key, Template] = {}
        self.registry = Registry()
        self.history = Lines()
        self.shapes: dict[str, set[int]] = {}

    def add(self, version: str, files: Sequence[tuple[str, str]], modules: Mapping[str, Module]) -> None:
        number = len(self.versions)
        self.versions.append(version)
        classes: dict[str, ExceptionClass] = {}
        for module in modules.values():
            for own in module.classes:
                if own.name not in classes or classes[own.name].message is None:
                    classes[own.name] = own
        for file, module in sorted(modules.items()):
            local = {**classes, **{own.name: own for own in module.classes}}
            for site in module.sites:
                self._note(number, file, site, local)
        self.registry.add(number, files)
        self.history.add(number, [name for name, _ in files], modules)

    def _note(self, number: int, file: str, site: RawSite, classes: Mapping[str, ExceptionClass]) -> None:
        parts, quoted = printed(site, classes)
        parts = joined(part.strip("\n") if isinstance(part, str) and part.isspace() else part for part in parts)
        literal = "".join(part for part in parts if isinstance(part, str))
        telling = len(re.sub(r"[\W_]", "", literal)) >= TELLING
        if not telling and (site.kind not in ("raise", "assert") or site.exception is None):
            return
        if all(isinstance(part, Slot) for part in parts):
            parts = ()
        text = written(parts).strip()
        if site.kind.startswith("log:"):
            self._shape(number, file, parts)
            if site.kind == "log:info":
                return
        group = "exception" if site.kind in ("raise", "assert") else site.kind.partition(":")[0]
        key = (
            group,
            site.exception or "",
            anonymous(text),
            "" if telling else f"{site.function} {site.code[0]}",
        )
        template = self.templates.get(key)
        if template is None:
            template = self.templates[key] = Template(site.kind, site.exception, text)
        if template.newest < number:
            template.newest, template.kind = number, site.kind
            template.names, template.environment = set(), set()
        template.text = loosened(text, template.text)
        template.quoted = quoted
        template.names.update(site.names)
        template.environment.update(site.environment)
        template.sites.setdefault((file, site.function), {}).setdefault(number, site.line)
        if not telling:
            template.code.update(site.code[1:])

    def _shape(self, number: int, file: str, parts: Text) -> None:
        """Remembers the wording of a log message, which tells releases apart, whatever its level."""
        if parts and isinstance(parts[0], str) and len(parts[0].lstrip()) >= START and SERVER.match(file):
            text = written(parts).strip()
            if not set("{}\\\n\t") & set(text[:START]):
                self.shapes.setdefault(anonymous(text).replace("\n", "\\n"), set()).add(number)

    def _shapes(self) -> list[str]:
        everywhere = len(self.versions)
        return sorted(
            f"{intervals(numbers, self.versions)}\t{text}"
            for text, numbers in self.shapes.items()
            if len(numbers) < everywhere and "\t" not in text
        )

    # ----------------------------------------------------------------------------------- writing

    def lines(self) -> dict[str, list[str]]:
        """The index by package, each template one line of JSON, sorted."""
        packages: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for key, template in self.templates.items():
            sites = sorted(
                ((max(releases), place, releases) for place, releases in template.sites.items()),
                key=lambda site: (-site[0], site[1]),
            )
            entry: dict[str, Any] = {"id": "", "kind": template.kind}
            if template.exception:
                entry["class"] = template.exception
            if template.text:
                entry["text"] = template.text
            if template.quoted:
                entry["quoted"] = True
            if template.code:
                statement = key[3].rpartition(" ")[2]
                entry["code"] = [statement, *sorted(template.code - {statement})]
            entry["sites"] = [
                [file, function, releases[last], intervals(releases, self.versions)]
                for last, (file, function), releases in sites
            ]
            flags = self.registry.flags_for(template.names, FLAG.findall(template.text))
            if flags:
                entry["flags"] = flags
            environment = sorted(name for name in template.environment if self.registry.knows(name))
            if environment:
                entry["environment"] = environment
            entry["id"] = identity(entry)
            file, function = sites[0][1]
            order = (file, function, template.kind, template.text, template.exception or "", entry["id"])
            line = json.dumps(entry, ensure_ascii=False, separators=(",", ":"))
            packages.setdefault(package(file), []).append((order, line))
        return {name: [line for _, line in sorted(entries)] for name, entries in packages.items()}

    def write(self, output: Path) -> None:
        """Writes every file of the index, and removes files of an earlier one."""
        output.mkdir(parents=True, exist_ok=True)
        contents = {f"templates-{name}.jsonl": lines for name, lines in self.lines().items()}
        contents |= {f"{name}.jsonl": lines for name, lines in self.registry.lines(self.versions).items()}
        contents |= {f"{name}.tsv": lines for name, lines in self.history.lines(self.versions).items()}
        contents["shapes.tsv"] = self._shapes()
        contents["releases.txt"] = self.versions
        for old in output.glob("*"):
            if old.name not in contents and old.suffix in (".jsonl", ".tsv", ".txt"):
                old.unlink()
        for name, lines in contents.items():
            (output / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")

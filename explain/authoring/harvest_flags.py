"""The command-line flags, server arguments and environment variables over the releases."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from explain.authoring.harvest_options import (
    ENVIRONMENT_NAME,
    Flag,
    annotated_flags,
    argparse_flags,
    constants_of,
    environment_defaults,
    parse,
    server_fields,
)
from explain.sitefacts import intervals

SERVER_ARGUMENTS = re.compile(r"sglang/srt/(?:server_args\.py|arg_groups/.*\.py)")
OTHER_ARGUMENTS = re.compile(r"add_argument\(")


@dataclass(slots=True)
class History:
    """What the releases say of one name: the newest definition, and the release numbers."""

    newest: Any
    releases: list[int] = field(default_factory=list)
    defaults: dict[str, list[int]] = field(default_factory=dict)
    choices: dict[str, list[int]] = field(default_factory=dict)
    """The releases that take a value, of those that list the values they take."""


class Registry:
    """Flags, server-argument fields and environment variables over the releases, oldest first."""

    def __init__(self) -> None:
        self.flags: dict[tuple[str, str], History] = {}
        self.fields: dict[str, list[int]] = {}
        self.environment: dict[str, History] = {}
        self.by_field: dict[str, str] = {}

    def add(self, number: int, files: Iterable[tuple[str, str]]) -> None:
        texts = dict(files)
        server = [texts[name] for name in sorted(texts) if SERVER_ARGUMENTS.fullmatch(name)]
        trees = [tree for tree in map(parse, server) if tree is not None]
        names = constants_of(trees)
        fields = server_fields(trees)
        for tree in trees:
            for flag in [*argparse_flags(tree, "server", names, fields), *annotated_flags(tree, names)]:
                self._note(flag, number)
        for name, text in sorted(texts.items()):
            if OTHER_ARGUMENTS.search(text) and not SERVER_ARGUMENTS.fullmatch(name):
                own = parse(text)
                if own is not None:
                    command = name.removeprefix("sglang/").removesuffix(".py")
                    command = "diffusion" if command.startswith("multimodal_gen/") else command
                    for flag in argparse_flags(own, command, constants_of([own]), {}):
                        self._note(flag, number)
        for field_name in fields:
            self.fields.setdefault(field_name, []).append(number)
        self._environment(number, texts)

    def _note(self, flag: Flag, number: int) -> None:
        for alias in flag.aliases:
            self._note(Flag(alias, flag.command, field=flag.field, default=flag.default, alias_of=flag.name), number)
        history = self.flags.setdefault((flag.command, flag.name), History(flag))
        history.newest = flag
        if number not in history.releases:
            history.releases.append(number)
        numbers = history.defaults.setdefault(json.dumps(flag.default), [])
        if number not in numbers:
            numbers.append(number)
        for choice in flag.choices:
            numbers = history.choices.setdefault(json.dumps(choice), [])
            if number not in numbers:
                numbers.append(number)
        if flag.command == "server" and flag.field and not flag.alias_of:
            self.by_field[flag.field] = flag.name

    def _environment(self, number: int, texts: Mapping[str, str]) -> None:
        found: dict[str, Any] = {}
        for name, text in texts.items():
            if "SGL" in text:
                for variable in re.findall(r"(?<![\w$])(?:SGLANG|SGL)_[A-Z0-9_]*[A-Z0-9](?!\w)", text):
                    if variable not in found and ENVIRONMENT_NAME.fullmatch(variable):
                        found[variable] = None
            if name == "sglang/srt/environ.py":
                found |= environment_defaults(text)
        for variable, default in found.items():
            history = self.environment.setdefault(variable, History(default))
            history.newest = default
            history.releases.append(number)

    # ----------------------------------------------------------------------------------- asking

    def flags_for(self, names: Iterable[str], mentioned: Iterable[str]) -> list[str]:
        """The flags of server arguments and of texts, those that some release has."""
        known = {flag for _, flag in self.flags}
        found = {self.by_field[name] for name in names if name in self.by_field}
        return sorted(found | {flag for flag in mentioned if flag in known})

    def knows(self, variable: str) -> bool:
        return variable in self.environment

    def lines(self, versions: Sequence[str]) -> dict[str, list[str]]:
        """`flags`, `environment` and `fields`, each name one line of JSON."""

        def line(entry: Mapping[str, Any]) -> str:
            return json.dumps(entry, ensure_ascii=False, separators=(",", ":"))

        flags: list[str] = []
        for (command, name), history in sorted(self.flags.items()):
            flag: Flag = history.newest
            entry: dict[str, Any] = {
                "flag": name,
                "command": command,
                "releases": intervals(history.releases, versions),
            }
            entry |= {"alias_of": flag.alias_of} if flag.alias_of else {}
            entry |= {"aliases": list(flag.aliases)} if flag.aliases else {}
            entry |= {"field": flag.field} if flag.field and flag.field != name[2:].replace("-", "_") else {}
            entry |= {"choices": list(flag.choices)} if flag.choices else {}
            by_releases: dict[str, list[Any]] = {}
            for value, numbers in history.choices.items():
                by_releases.setdefault(intervals(numbers, versions), []).append(json.loads(value))
            entry |= {"choices_in": by_releases} if len(by_releases) > 1 else {}
            if flag.alias_of:
                pass
            elif len(history.defaults) > 1:
                entry["defaults"] = {
                    intervals(numbers, versions): json.loads(value) for value, numbers in history.defaults.items()
                }
            elif flag.default is not None:
                entry["default"] = flag.default
            entry |= {"renamed_to": flag.renamed_to} if flag.renamed_to else {}
            entry |= {"deprecated": True} if flag.deprecated else {}
            flags.append(line(entry))
        environment = [
            line(
                {"variable": name, "releases": intervals(history.releases, versions)}
                | ({"default": history.newest} if history.newest is not None else {})
            )
            for name, history in sorted(self.environment.items())
        ]
        fields = [
            line({"field": name, "releases": intervals(numbers, versions)})
            for name, numbers in sorted(self.fields.items())
        ]
        return {"flags": flags, "environment": environment, "fields": fields}

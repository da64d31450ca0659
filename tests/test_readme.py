"""What README.md shows is what the program prints."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from explain.cli import COMMANDS
from tests import contract

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text("utf-8")
ENVIRONMENT = {"COLUMNS": "80", "PYTHONIOENCODING": "utf-8", "PYTHONPATH": str(ROOT)}


def console_commands() -> list[tuple[str, str]]:
    """(command, expected output) for every `$ ` line in README's console blocks."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def expected_pattern(output: str) -> re.Pattern[str]:
    """A pattern of the output, in which `...` stands for anything."""
    return re.compile(".*".join(map(re.escape, re.split(r"\.\.\.\n?", output.strip("\n")))), re.DOTALL)


def printed(command: str) -> str:
    """What a command of README prints, on both streams, where it is read at 80 columns."""
    arguments = shlex.split(command)
    assert arguments[0] == "sglang-explain"
    done = subprocess.run(
        [sys.executable, "-m", "explain", *arguments[1:]],
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return done.stdout.strip("\n")


@pytest.mark.parametrize(("command", "output"), console_commands(), ids=lambda value: value[:50])
def test_console_blocks(command: str, output: str) -> None:
    """Where what is printed changed on purpose: `python -m tests.test_readme` writes it into README."""
    shown = printed(command)
    assert expected_pattern(output).fullmatch(shown), shown


def rewrite() -> None:
    """Puts what the commands print now into README; outputs with a `...` stay as they are."""
    text = README
    for command, output in console_commands():
        if "..." not in output:
            text = text.replace(f"$ {command}\n{output}", f"$ {command}\n{printed(command)}\n", 1)
    (ROOT / "README.md").write_text(text, "utf-8")


def test_there_are_console_blocks() -> None:
    assert len(console_commands()) >= 5


def test_an_expectation_can_fail() -> None:
    assert expected_pattern("a\n...\nb\n").fullmatch("a\nx\ny\nb")
    assert not expected_pattern("a\n...\nb\n").fullmatch("a\nx\ny\nc")


def test_set_up_commands_are_the_ones_that_ci_runs() -> None:
    commands = re.findall(r"^(python3 -m venv .*)$", README, re.MULTILINE)
    assert len(commands) == 2
    log = commands[0].rpartition(" ")[2]
    assert (ROOT / log).is_file()
    script = (ROOT / ".ci" / "run").read_text("utf-8")
    assert commands[1] in script or 'grep -m1 -F ".venv/bin/pytest" README.md' in script


@pytest.mark.parametrize("name", ["REPORT", "FINDING", "EVENT", "SUMMARY"])
def test_every_key_of_the_contract_is_in_the_reference(name: str) -> None:
    reference = README.partition("## Reference: `--format json`")[2].partition("## From Python")[0]
    check = getattr(contract, name)
    keys = next(cell.cell_contents for cell in check.__closure__ if isinstance(cell.cell_contents, dict))
    for key in keys:
        assert re.search(rf"`{key}(\[\]|\{{\}})?`", reference), f"{key} is not in the reference"


def keys_of(check: object) -> dict[str, object]:
    cells = check.__closure__  # type: ignore[attr-defined]
    found: dict[str, object] = next(cell.cell_contents for cell in cells if isinstance(cell.cell_contents, dict))
    return found


def test_the_context_is_documented_key_by_key() -> None:
    """The table of the context names the keys of the contract and no other."""
    table = README.partition("The context is that of the start")[2].partition("## Reference: `--format jsonl`")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = [key for row in rows for key in re.findall(r"`(\w+)(?:\[\]|\{\})?`", row)]
    assert sorted(named) == sorted(keys_of(contract.CONTEXT))
    for nested in ("memory", "pools", "batches", "lifetimes", "changes"):
        (row,) = (line for line in table.splitlines() if line.startswith(f"| `{nested}"))
        element = keys_of(contract.CONTEXT)[nested]
        for cell in element.__closure__:  # type: ignore[attr-defined]
            if callable(cell.cell_contents):
                for key in keys_of(cell.cell_contents):
                    assert re.search(rf"`{key}(\[\]|\{{\}})?`", row), f"{nested}: {key} is not in the reference"


def test_every_command_is_mentioned() -> None:
    for name in COMMANDS:
        assert f"`{name}`" in README or f"sglang-explain {name}" in README


def test_every_option_is_in_the_table() -> None:
    text = printed("sglang-explain --help")
    for option in sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - {"--help"}):
        assert f"`{option}" in README, option


def test_the_python_example_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[0]
    monkeypatch.chdir(ROOT / "tests" / "logs")
    exec(compile(code.replace("server.log", "hicache-inkling-draft.log"), "README.md", "exec"), {})
    assert capsys.readouterr().out.startswith("cause ")


def test_links_lead_to_files() -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).exists(), target


if __name__ == "__main__":
    rewrite()

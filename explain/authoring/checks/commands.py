"""Checks of `exampleFix`: it is what it shows, commands that a shell takes."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from explain.authoring.book import Book, Entry
from explain.authoring.checks.registry import check

ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_SHELL_WORDS = """
all_reduce_perf amd-smi apptainer apt apt-get awk az bash blockdev cat cd chmod chown chrt cmake
compute-sanitizer conda cp crictl ctr curl cut date dcgmi dd df dig dmesg dnf docker dpkg du echo env
exec export fallocate file find findmnt for free gcloud gdb genai-bench getent git grep head helm hf
hipcc hostname huggingface-cli ib_write_bw ibstat ibv_devinfo id if ip journalctl jq kill kubectl
ldconfig ldd ln ls lscpu lsmod lsof lspci make mkdir modprobe module mooncake_master mount mountpoint
mpirun msprof mv nc nerdctl ninja nm nohup nproc npu-smi nslookup numactl nvcc nvidia-bug-report.sh
nvidia-ctk nvidia-modprobe nvidia-smi oc openssl patchelf ping pip pip3 pipx pkill podman ps py-spy
python python3 python3.10 python3.11 python3.12 ray readelf rm rocm-smi rocminfo rsync scp screen sed set
setfacl sglang sglang-explain sglang-router sh singularity smg sort source srun ss ssh stat strings sudo
sysctl systemctl tail tar taskset tee test time timeout tmux torchrun touch trap true ulimit umask uniq
unset unzip update-alternatives uv wget which xargs yum
"""

SHELL_WORDS = frozenset(_SHELL_WORDS.split())
"""Commands that examples may show."""


@dataclass(frozen=True, slots=True)
class Command:
    """One command of an example. `line` is 1-based in the text; `words` are as the shell splits them."""

    line: int
    words: tuple[str, ...]


class NotACommand(ValueError):
    """The line of an example that a shell does not take, and why."""

    def __init__(self, line: int, reason: str) -> None:
        super().__init__(f"line {line}: {reason}")


def commands(text: str) -> list[Command]:
    """The commands of an example, comments left out, lines that end in a backslash joined.

    A quoted argument may span lines. Raises `NotACommand` for the first line that does not parse.
    """
    found = []
    lines = text.split("\n")
    position = 0
    while position < len(lines):
        start = position
        joined = lines[position]
        position += 1
        if not joined.strip() or joined.lstrip().startswith("#"):
            continue
        while position < len(lines) and (joined.endswith("\\") or _open_quote(joined)):
            joined = joined.removesuffix("\\") + ("\n" if _open_quote(joined) else " ") + lines[position]
            position += 1
        try:
            words = shlex.split(joined, comments=True)
        except ValueError as error:
            raise NotACommand(start + 1, str(error).lower()) from None
        if words:
            found.append(Command(start + 1, tuple(words)))
    return found


def _open_quote(text: str) -> bool:
    try:
        shlex.split(text, comments=True)
    except ValueError as error:
        return "quotation" in str(error)
    return False


@check
def example_fix(entry: Entry, book: Book) -> None:
    """The example fix shows a before and an after, both commands that a shell splits and knows."""
    text = entry.record.example_fix
    if text is None:
        return
    headings = [line for line in text.split("\n") if line.startswith("#")]
    if not any("before" in line for line in headings) or not any("after" in line for line in headings):
        entry.says("/exampleFix", "has no '# before' and '# after'")
    try:
        found = commands(text)
    except NotACommand as error:
        entry.says("/exampleFix", f"{error}", "quote it as a shell needs it")
        return
    for command in found:
        word = next((word for word in command.words if not ASSIGNMENT.match(word)), None)
        if word is not None and word.rpartition("/")[2] not in SHELL_WORDS and not word.startswith("./"):
            entry.says("/exampleFix", f"line {command.line}: {word!r} is not a command that is known")

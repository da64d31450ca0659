"""What somebody who tried the program for the first time, and somebody who attacked it, ran into."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from explain.startpoint import is_wide, look_back, start_of
from explain.state import State, load_state, save_state


@pytest.mark.skipif(os.name == "nt", reason="no modes of files there")
def test_a_state_is_for_its_owner_only(tmp_path: Path) -> None:
    """It holds the last bytes of the log as they stand there, secrets included."""
    path = tmp_path / "state.json"
    assert save_state(path, State()) is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_state_with_an_endless_number_is_none(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    save_state(path, State())
    value = json.loads(path.read_text())
    value["sources"] = {"server.log": {"marks": [[1, float("inf"), 0, "", 1, 0.0]], "seen": []}}
    path.write_text(json.dumps(value))
    state, problem = load_state(path)
    assert not state.left and problem is not None and "no state" in problem.message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes there")
def test_following_a_pipe_that_nobody_writes_to_can_be_interrupted(tmp_path: Path) -> None:
    """Looking where to begin opened the pipe and waited, deaf to Ctrl-C."""
    pipe = tmp_path / "server.log"
    os.mkfifo(pipe)
    assert not is_wide(str(pipe))
    assert start_of(str(pipe), "end") == (0, 1)
    assert look_back(str(pipe), 100) == (b"", 1)


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to a child there")
def test_an_interrupt_while_the_program_is_loaded_is_quiet() -> None:
    code = (
        "import builtins, os, signal\n"
        "real = builtins.__import__\n"
        "def slow(name, *rest):\n"
        "    if name == 'explain.cli':\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = slow\n"
        "from explain.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"")


def test_the_installed_program_starts_where_interrupts_are_heard() -> None:
    assert 'sglang-explain = "explain.__main__:main"' in Path("pyproject.toml").read_text("utf-8")


def test_several_inputs_show() -> None:
    text = "[2026-11-30 10:41:09] SIGQUIT received. signum=None, frame=None. It usually means one child failed.\n"
    done = subprocess.run(
        [sys.executable, "-m", "explain", "-", os.path.join("tests", "logs", "healthy.log")],
        input=text.encode(),
        capture_output=True,
        check=False,
    )
    words = " ".join(done.stdout.decode().split())
    assert "2 inputs (12 lines) show that something failed" in words

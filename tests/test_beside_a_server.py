"""The systemd unit and the Kubernetes sidecar of README: read by their own tools, and their commands run."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from explain.render.text import TIMES
from tests.followed import EXPLAIN, HEALTHY, ROOT, await_that
from tests.torture import await_open, failure

README = (ROOT / "README.md").read_text("utf-8")
PROGRAM = "/opt/sglang-explain/.venv/bin/sglang-explain"


def block(language: str, first: str) -> str:
    found = re.search(rf"^```{language}\n({re.escape(first)}.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


UNIT = block("ini", "# /etc/systemd/system/sglang-explain.service")
SPEC = block("yaml", "# part of a pod's spec")
POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: sglang\nspec:\n" + re.sub(r"^", "  ", SPEC, flags=re.MULTILINE)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not here")
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "sglang-explain.service"
    unit.write_text(UNIT.replace(PROGRAM, sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_command_of_the_unit_does_what_it_is_for(tmp_path: Path) -> None:
    """Its output is appended to, it is killed and started again: each event once."""
    command = UNIT.replace("\\\n", " ").partition("ExecStart=")[2].partition("\n")[0]
    got = tmp_path / "got"
    for there, here in (
        (PROGRAM, shlex.join(EXPLAIN)),
        ("/usr/local/bin/notify-oncall", f"'sh -c \"cat >> {got}\"'"),
        ("/var/lib/sglang-explain/", f"{tmp_path}/"),
        ("/var/lib/node_exporter/textfile/", f"{tmp_path}/"),
        ("/var/log/sglang/", f"{tmp_path}/"),
    ):
        assert there in command
        command = command.replace(there, here)
    log, events = tmp_path / "server.log", tmp_path / "events.jsonl"
    assert "StandardOutput=append:" in UNIT
    log.write_bytes(HEALTHY)
    for number in (1, 2):
        with events.open("ab") as output:
            process = subprocess.Popen(shlex.split(command), stdout=output, cwd=ROOT)
        await_open(process.pid, log)
        with log.open("ab") as file:
            file.write(failure(number, 0) + HEALTHY)
        await_that(lambda: "yes" if events.read_text().count("\n") == number else "", "the event")  # noqa: B023
        await_that(lambda: "yes" if got.exists() and got.read_text().count("}\n") == number else "", "the message")  # noqa: B023
        process.kill()
        process.wait()
    assert [json.loads(line)["message"] for line in events.read_text().splitlines()] == [
        "planted failure baaa",
        "planted failure caaa",
    ]
    assert "sglang_explain_events_total" in (tmp_path / "sglang.prom").read_text()


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not here")
def test_kubernetes_knows_every_field_of_the_sidecar(tmp_path: Path) -> None:
    """Read as a Pod and as it stands: a field that a Pod does not have would be gone."""
    pod = tmp_path / "pod.yaml"
    pod.write_text(POD)

    def spec(*command: str) -> dict[str, object]:
        done = subprocess.run(
            ["kubectl", *command, "--local", "-f", pod, "a=b", "-o", "json"], capture_output=True, check=True
        )
        return json.loads(done.stdout)["spec"]

    typed, untyped = spec("set", "env"), spec("annotate")
    for container in typed["containers"]:  # type: ignore[attr-defined]
        del container["env"], container["resources"]
    assert typed == untyped


def test_the_sidecar_tells_what_the_server_writes_beside_it(tmp_path: Path) -> None:
    """Both containers as processes with one folder; the sidecar is there first, is killed and starts again."""
    server = re.search(r'args: \["(.*)"\]', SPEC)
    sidecar = re.search(r"args: \[(sglang-explain.*)\]", SPEC)
    assert server is not None and sidecar is not None
    (tmp_path / "log").write_bytes(HEALTHY + failure(1, 0) + HEALTHY)
    script = re.sub(r"python3 .* MODEL", f"cat {tmp_path}/log", server[1]).replace("/logs", str(tmp_path))
    options = sidecar[1].replace("/logs", str(tmp_path)).split(", ")[1:]
    out = tmp_path / "out"
    for number in (1, 2):
        with out.open("ab") as output:
            process = subprocess.Popen([*EXPLAIN, *options], stdout=output, stderr=subprocess.DEVNULL, cwd=ROOT)
        try:
            done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
            assert done.stdout == HEALTHY + failure(1, 0) + HEALTHY
            await_that(lambda: "yes" if "planted failure baaa" in out.read_text() else "", "the failure")
        finally:
            await_open(process.pid, tmp_path / "server.log")
            if number == 2:  # what came again is counted on
                await_that(lambda: "yes" if f"2 {TIMES}" in out.read_text() else "", "the count")
            process.send_signal(signal.SIGKILL if number == 1 else signal.SIGTERM)
            process.wait(60)
    assert out.read_text().count("CAUSE, not in the catalogue") == 2  # once, and in the summary of the polite end

"""The command as a user meets it: streams, exit codes, and one clear line for everything that is wrong."""

from __future__ import annotations

import ast
import gzip
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import explain
from explain import cli, sitepack
from explain.cli import COMMANDS, PlainCall, plain_call, run_guarded
from explain.console import wants_color
from explain.model import LaunchContext, Place, Stall
from explain.run import fails
from tests.contract import check_json_output, check_jsonl_output
from tests.render.reports import consequence, finding, record, report

ROOT = Path(__file__).resolve().parent.parent
LOGS = Path(__file__).resolve().parent / "logs"
FAILURE = LOGS / "hicache-inkling-draft.log"
HEALTHY = LOGS / "healthy.log"


def run(
    *arguments: str | Path,
    stdin: bytes | None = b"",
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[bytes]:
    environment = {
        **os.environ,
        "COLUMNS": "80",
        "PYTHONPATH": str(ROOT),
        "PYTHONIOENCODING": "utf-8",
        **(env or {}),
    }
    environment.pop("SGLANG_EXPLAIN_DEBUG", None)
    return subprocess.run(
        [sys.executable, "-m", "explain", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        env=environment,
        cwd=cwd,
        timeout=60,
        check=False,
    )


def complaints(done: subprocess.CompletedProcess[bytes]) -> list[str]:
    """The lines on standard error; all of them must be ours, none a traceback."""
    lines = done.stderr.decode().splitlines()
    assert all(line.startswith("sglang-explain: ") for line in lines), done.stderr.decode()
    return lines


# ------------------------------------------------------------------------------- explaining


def test_a_file_is_explained() -> None:
    done = run(FAILURE)
    assert done.returncode == 0 and not done.stderr
    assert "── CAUSE " in done.stdout.decode() and b"HiCache" in done.stdout
    assert b"\x1b" not in done.stdout


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_a_pipe_is_explained(arguments: tuple[str, ...]) -> None:
    done = run(*arguments, stdin=FAILURE.read_bytes())
    assert done.returncode == 0 and b"HiCache" in done.stdout and b"Where    line 19," in done.stdout


def test_json_and_jsonl_are_to_the_contract() -> None:
    whole = check_json_output(run("--format", "json", FAILURE).stdout)
    assert whole["findings"][0]["role"] == "cause"
    assert whole["findings"][0]["exception"] == "NotImplementedError"
    assert whole["findings"][0]["ranks"] == ["TP0", "TP1"]
    lines = check_jsonl_output(run("-F", "jsonl", FAILURE).stdout)
    assert lines[-1]["cause"]["exception"] == "NotImplementedError"
    assert {"TP0", "TP1"} <= {line["rank"] for line in lines[:-1]}


def test_a_compressed_log_gives_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(FAILURE.read_bytes()))
    packed = json.loads(run("-F", "json", "a.log.gz", cwd=tmp_path).stdout)
    plain = json.loads(run("-F", "json", FAILURE).stdout)
    assert packed["findings"][0]["record"] == plain["findings"][0]["record"]
    assert packed["stats"]["lines"] == plain["stats"]["lines"]


def test_output_goes_to_a_file(tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    done = run("--format", "json", "--output", target, FAILURE)
    assert done.returncode == 0 and not done.stdout
    check_json_output(target.read_bytes())


def test_secrets_of_a_log_are_never_printed() -> None:
    log = LOGS / "cuda-graph-out-of-memory.log"
    assert b"sk-example" in log.read_bytes()
    for arguments in ((), ("--all",), ("-F", "json"), ("-F", "jsonl")):
        assert b"sk-example" not in run(*arguments, log).stdout


def test_a_healthy_log_takes_one_line() -> None:
    done = run(HEALTHY)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 1 and b"No failure found" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="select on pipes")
def test_lines_are_written_as_soon_as_they_are_known() -> None:
    """A live pipe: while the log goes on, what it held so far is told."""
    filler = b"[2026-11-30 09:03:00] The server is fired up and ready to roll!\n" * 200
    with subprocess.Popen(
        [sys.executable, "-m", "explain", "-F", "jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdin and process.stdout
        process.stdin.write(FAILURE.read_bytes())
        deadline = time.monotonic() + 60
        while not select.select([process.stdout], [], [], 0.05)[0] and time.monotonic() < deadline:
            process.stdin.write(filler)
            process.stdin.flush()
        early = bool(select.select([process.stdout], [], [], 0)[0])
        process.stdin.close()
        lines = process.stdout.read().splitlines()
    assert early
    assert json.loads(lines[0])["type"] == "event" and json.loads(lines[-1])["type"] == "summary"


# ------------------------------------------------------------------------------- wrong input


def one_complaint(done: subprocess.CompletedProcess[bytes], *needed: str) -> None:
    lines = complaints(done)
    assert done.returncode == 2
    assert len(lines) == 1, lines
    for part in needed:
        assert part in lines[0]


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (("no-such.log",), ("no-such.log", "; ")),
        (("--fromat", "json", "x"), ("--fromat", "did you mean --format?")),
        (("serach", "nccl"), ("serach", "did you mean sglang-explain search?")),
        (("",), ("the name is empty", "variable")),
        (("https://host/a.log",), ("https://host/a.log", "curl", "| sglang-explain")),
        (("run", "python3", "-c", "1"), ("-c", "put -- before the command")),
        (("--from", "5", "x"), ("--from", "add -f")),
        (("--follow", "--output", "y", "x"), ("--output", "does not go with --follow")),
        (("--format", "jsn", "x"), ("--format jsn", "terminal, json, jsonl", "did you mean json?")),
        (("--fail-on", "err", "x"), ("--fail-on err", "did you mean error?")),
        (("--color", "maybe", "x"), ("--color maybe", "auto, always, never")),
        (("--format",), ("--format", "argument")),
        (("--only-patterns", "x"), ("--only-patterns", "--patterns PATH")),
        (("show",), ("show", "list")),
        (("search",), ("search", "words")),
        (("search", "--limit", "none", "x"), ("--limit none", "number")),
        (("list", "--severity", "bad"), ("--severity bad", "critical, error")),
        (("list", "--are", "x"), ("--are", "did you mean --area?")),
        (("show", "--fromat", "json"), ("--fromat", "sglang-explain show --help")),
    ],
)
def test_wrong_usage_is_one_clear_line(arguments: tuple[str, ...], needed: tuple[str, ...]) -> None:
    done = run(*arguments)
    one_complaint(done, *needed)
    assert not done.stdout


def test_an_empty_input_is_named() -> None:
    done = run(stdin=b"")
    one_complaint(done, "standard input", "empty")
    assert b"No failure" not in done.stdout


def test_a_broken_record_is_named_and_the_rest_explained(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"record": {"id": 3}}')
    done = run("--patterns", tmp_path, FAILURE)
    assert done.returncode == 2 and b"HiCache" in done.stdout
    assert any("bad.json" in line for line in complaints(done))


def test_missing_patterns_are_named() -> None:
    done = run("--patterns", "no-such-folder", FAILURE)
    assert done.returncode == 2 and any("no-such-folder" in line for line in complaints(done))


def test_one_bad_source_of_several() -> None:
    done = run("no-such.log", FAILURE)
    one_complaint(done, "no-such.log")
    assert b"HiCache" in done.stdout


def test_broken_gzip(tmp_path: Path) -> None:
    whole = gzip.compress(FAILURE.read_bytes() * 50)
    (tmp_path / "cut.log.gz").write_bytes(whole[: len(whole) // 2])
    one_complaint(run("cut.log.gz", cwd=tmp_path), "cut.log.gz")


def test_no_failure_is_not_promised_for_what_was_not_read(tmp_path: Path) -> None:
    whole = gzip.compress(b"all is well\n" + os.urandom(100_000).hex().encode())
    (tmp_path / "cut.log.gz").write_bytes(whole[: len(whole) // 2])
    assert b"could not be read" in run("cut.log.gz", cwd=tmp_path).stdout


def test_output_is_never_a_log_that_is_read(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(FAILURE.read_bytes())
    one_complaint(run("-o", log, log), "--output", "one of the logs")
    assert log.read_bytes() == FAILURE.read_bytes()
    one_complaint(run("-o", tmp_path / "no" / "such" / "folder", log), "--output", "cannot be written")


@pytest.mark.parametrize("data", [b"\0" * 1_000_000, b"\x1b]0;x\x07\x9b31m" * 1000, b"\xff" * 1000])
def test_bytes_that_are_no_text(data: bytes) -> None:
    done = run("-F", "json", stdin=data)
    assert done.returncode == 0, done.stderr
    check_json_output(done.stdout)


@pytest.mark.parametrize("data", [os.urandom(200_000), Path(sys.executable).read_bytes()[:500_000]])
def test_a_binary_file_is_named(data: bytes) -> None:
    done = run("-F", "json", stdin=data)
    one_complaint(done, "is not text", "; ")
    check_json_output(done.stdout)


def test_an_unexpected_error_is_one_line_unless_debugging(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(arguments: list[str]) -> int:
        raise ZeroDivisionError("made to fail\x1b[31m")

    monkeypatch.setattr("explain.cli.run", fail)
    monkeypatch.delenv("SGLANG_EXPLAIN_DEBUG", raising=False)
    assert run_guarded([]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1 and "ZeroDivisionError" in shown and "SGLANG_EXPLAIN_DEBUG=1" in shown
    assert "\x1b" not in shown
    monkeypatch.setenv("SGLANG_EXPLAIN_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run_guarded([])


# ------------------------------------------------------------------------------- streams


def test_a_closed_pipe_ends_quietly() -> None:
    command = f"{sys.executable} -m explain --all -F json {FAILURE} | head -c 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=60,
        check=False,
    )
    assert done.stdout == b"{" and not done.stderr and done.returncode == 0


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_interrupting_is_quiet() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "explain", "-"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as process:
        assert process.stdin
        process.stdin.write(b"[2026-11-30 09:00:00] hello\n" * 50_000)
        process.stdin.flush()
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        process.stdin.close()
        assert process.stderr and process.stderr.read() == b""
    assert process.returncode == 130


def test_a_terminal_that_knows_ascii_only() -> None:
    done = run(FAILURE, env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert done.returncode == 0 and done.stdout.isascii() and b"-- CAUSE ---" in done.stdout


def test_colour_follows_the_option(monkeypatch: pytest.MonkeyPatch) -> None:
    assert b"\x1b[" in run("--color", "always", FAILURE).stdout
    assert b"\x1b[" not in run("--color", "never", FAILURE).stdout
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert wants_color("auto") and not wants_color("auto", to_screen=False)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_color("auto") and wants_color("always")


@pytest.mark.skipif(os.name == "nt", reason="needs a pseudo terminal")
def test_no_source_before_a_terminal_gives_short_help() -> None:
    import pty

    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "explain"],
            stdin=theirs,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            timeout=60,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 2 and b"sglang-explain server.log" in done.stderr
    assert len(done.stderr.splitlines()) < 12


# ------------------------------------------------------------------------------- exit codes


def test_fail_on() -> None:
    assert run("--fail-on", "error", FAILURE).returncode == 1
    assert run("--fail-on", "warning", FAILURE).returncode == 1
    assert run("--fail-on", "never", FAILURE).returncode == 0
    assert run("--fail-on", "error", HEALTHY).returncode == 0


def test_what_fail_on_counts() -> None:
    stopped = consequence(record=record(severity="info"))
    assert not fails(report(stopped), "error")
    assert fails(report(consequence()), "error")
    assert fails(report(finding()), "error")
    assert not fails(report(finding(role="warning")), "error")
    assert fails(report(finding(role="warning")), "warning")
    assert not fails(report(finding(role="noise")), "warning")
    assert not fails(report(finding()), "never")
    stalled = LaunchContext(stalled=Stall("serving", 300.0, Place("a", 1, None), Place("a", 9, None), 3, 0))
    assert not fails(report(context=stalled), "error") and fails(report(context=stalled), "warning")


# ------------------------------------------------------------------------------- queries, help


def test_version_in_one_line() -> None:
    done = run("--version")
    assert done.returncode == 0
    assert re.fullmatch(rb"sglang-explain \d+\.\d+\.\d+ \(\d+ records, (hyperscan|plain) scanner\)\n", done.stdout)
    assert run("--version", "--color", "never").stdout == done.stdout


def test_the_version_is_that_of_the_package() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    written = re.findall(r'^version = "(.*)"$', project, re.MULTILINE)
    assert written in ([], [explain.__version__])


def test_help_names_every_command_and_option() -> None:
    text = run("--help").stdout.decode()
    for needed in (
        "--format",
        "--output",
        "--patterns",
        "--fail-on",
        "show",
        "search",
        "list",
        "check",
        "Exit code",
    ):
        assert needed in text
    for name in COMMANDS:
        assert f"sglang-explain {name}" in run(name, "--help").stdout.decode()


def test_show_search_and_list() -> None:
    listed = json.loads(run("list", "--format", "json").stdout)
    assert {"id", "slug", "title", "severity", "area"} == set(listed[0])
    slug = listed[0]["slug"]
    assert json.loads(run("show", slug, "-F", "json").stdout)["id"] == listed[0]["id"]
    page = run("show", listed[0]["id"]).stdout.decode()
    assert slug in page and "Meaning" in page and "Fix" in page
    found = json.loads(run("search", *slug.split("-"), "-F", "json").stdout)
    assert slug in [hit["slug"] for hit in found]
    by_area = json.loads(run("list", "--area", listed[0]["area"], "-F", "json").stdout)
    assert by_area and all(one["area"] == listed[0]["area"] for one in by_area)


def test_a_file_that_bears_the_name_of_a_command(tmp_path: Path) -> None:
    (tmp_path / "show").write_bytes(FAILURE.read_bytes())
    done = run("./show", cwd=tmp_path)
    assert done.returncode == 0 and b"HiCache" in done.stdout


# ------------------------------------------------------------------------------- start-up


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import sys, explain; print(sorted(m for m in sys.modules if m.startswith('explain')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=ROOT, text=True, check=True)
    assert done.stdout.strip() == "['explain']"


def test_a_run_imports_only_what_it_needs() -> None:
    """Newer releases of typer import pydantic for every value, which costs more than all the rest."""
    for argument, allowed in (
        ("--help", []),
        ("--version", []),
        ("--color=nonsense", []),
        (str(HEALTHY), ["explain.engine", "hyperscan"]),
    ):
        code = (
            "import sys; from explain.cli import run_guarded; run_guarded([sys.argv[1]]);"
            "print([m for m in ('explain.engine', 'hyperscan', 'pydantic', 'rich') if m in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, argument], capture_output=True, cwd=ROOT, text=True, check=True
        )
        assert set(ast.literal_eval(done.stdout.splitlines()[-1])) <= set(allowed), argument


def test_an_ordinary_log_loads_nothing_that_only_others_need() -> None:
    """Each of these takes from one to ten milliseconds to import."""
    heavy = ("ast", "datetime", "difflib", "html", "inspect", "orjson", "regex", "shutil", "tempfile", "uuid")
    code = (
        "import sys; from explain.cli import run_guarded; run_guarded([sys.argv[1]]);"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, str(HEALTHY)]
    subprocess.run(command, capture_output=True, cwd=ROOT, check=True)  # what is kept in the cache may have to be built
    done = subprocess.run(command, capture_output=True, cwd=ROOT, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_library_says_the_same_as_the_command() -> None:
    from explain.render.json import to_dict

    printed = json.loads(run("-F", "json", FAILURE).stdout)
    made = to_dict(explain.explain(FAILURE))
    lines = to_dict(explain.explain(FAILURE.read_text().splitlines()))
    for whole in (printed, made, lines):
        whole["stats"]["seconds"] = 0
    assert made == printed
    assert lines["findings"][0]["record"] == made["findings"][0]["record"]
    with pytest.raises(OSError, match=r"no-such\.log"):
        explain.explain("no-such.log")


def test_a_call_without_options_parses_nothing() -> None:
    """The parser's import is a fifth of a short run."""
    script = (
        "import sys\n"
        "from explain.cli import run\n"
        f"code = run([{str(LOGS / 'cause-cut-off.log')!r}])\n"
        "sys.stdout.flush()\n"
        "print([name for name in ('typer', 'watchfiles', 'explain.authoring') if name in sys.modules],"
        " code, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=LOGS.parent.parent)
    assert done.stderr == "[] 0\n" and "cause-cut-off.log" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["a.log", "b.log"], PlainCall(["a.log", "b.log"])),
        (["--format", "json", "a.log"], PlainCall(["a.log"], form="json")),
        (["a.log", "--all", "--color=never", "-"], PlainCall(["a.log", "-"], color="never", show_all=True)),
        (["--fail-on", "warning", "a.log", "--fail-on=error"], PlainCall(["a.log"], fail_on="error")),
        (["--format", "yaml", "a.log"], None),
        (["a.log", "--format"], None),
        (["--follow", "a.log"], None),
        (["--all=yes", "a.log"], None),
        (["-F", "json", "a.log"], None),
        (["--", "a.log"], None),
        (["show", "a.log"], None),
        ([""], None),
    ],
)
def test_calls_that_need_no_parser(arguments: list[str], expected: PlainCall | None) -> None:
    assert plain_call(arguments) == expected


@pytest.mark.parametrize("options", [["--format", "json"], ["--all", "--color", "always"], ["--fail-on=error"]])
def test_the_parser_and_the_short_way_say_the_same(
    options: list[str], monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    log = str(Path(__file__).parent / "logs" / "cuda-graph-out-of-memory.log")
    codes, printed = [], []
    for short in (plain_call, lambda arguments: None):
        monkeypatch.setattr(cli, "plain_call", short)
        codes.append(cli.run_guarded([*options, log]))
        printed.append(re.sub(rb'"seconds": [\d.]+', b"", capsysbinary.readouterr().out))
    assert codes[0] == codes[1] and printed[0] == printed[1] and printed[0]


def test_a_damaged_site_index_is_told_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether its head is damaged or a section that is read late."""
    shipped = tmp_path / "sites.pack"
    monkeypatch.setattr(sitepack, "SHIPPED", str(shipped))
    whole = sitepack.build_pack(ROOT / "patterns" / "sites")
    for damaged in (b"", whole[:100], whole[: len(whole) // 2] + bytes(len(whole) - len(whole) // 2)):
        shipped.write_bytes(damaged)
        sitepack._read_once.cache_clear()
        assert cli.run_guarded([str(LOGS / "cuda-graph-out-of-memory.log")]) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1 and str(shipped) in told and "--force-reinstall" in told
    sitepack._read_once.cache_clear()

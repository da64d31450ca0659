"""Arguments from launch commands, and lists of arguments that a paste broke."""

from __future__ import annotations

import pytest

from explain.commandline import arguments_of
from tests.contexts.servers import Server, graphs_do_not_fit
from tests.helpers import explain_text

LAUNCH = "python3 -m sglang.launch_server "


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (LAUNCH + "--model-path org/m --tp 8 --port 30000", {"model_path": "org/m", "tp_size": 8, "port": 30000}),
        (LAUNCH + "--model org/m --tensor-parallel-size=8", {"model_path": "org/m", "tp_size": 8}),
        (LAUNCH + "--mem-fraction-static 0.95 --dp 2 --ep 4", {"mem_fraction_static": 0.95, "dp_size": 2, "ep_size": 4}),
        (LAUNCH + "--disable-cuda-graph --trust-remote-code", {"disable_cuda_graph": True, "trust_remote_code": True}),
        (LAUNCH + "--cuda-graph-bs 1 2 4 --host 0.0.0.0", {"cuda_graph_bs": [1, 2, 4], "host": "0.0.0.0"}),
        (LAUNCH + "--model_path org/m --tp_size 2", {"model_path": "org/m", "tp_size": 2}),
        (LAUNCH + "--model-path 12345 --revision 1", {"model_path": "12345", "revision": "1"}),
        (LAUNCH + "--speculative-algo EAGLE3 --context-length -1", {"speculative_algorithm": "EAGLE3", "context_length": -1}),
        (LAUNCH + "--model-path $MODEL --tp $TP --port 1", {"port": 1}),
        (LAUNCH + "--model-path 'org/a model' --no-such-flag 3", {"model_path": "org/a model"}),
        (LAUNCH + "--tp 2 > server.log 2>&1 && other --port 9", {"tp_size": 2}),
        (LAUNCH + "--tp 2 --json-model-override-args '{\"a\": 1", {"tp_size": 2}),
        ("sglang serve org/m --tp 2", {"model_path": "org/m", "tp_size": 2}),
        ("sglang serve --model-path org/m", {"model_path": "org/m"}),
        ("docker run lmsysorg/sglang:v0.5.4 " + LAUNCH + "--tp 2", {"tp_size": 2}),
        ("python -m other --tp 2", {}),
        (LAUNCH + "--t 2 --m 3", {}),
    ],
)  # fmt: skip
def test_arguments(command: str, expected: dict[str, object]) -> None:
    found = arguments_of(command)
    assert {name: found.get(name) for name in expected} == expected
    assert len(found) == len(expected)


FAILURE = (
    "Traceback (most recent call last):\n"
    '  File "/x/sglang/srt/managers/scheduler.py", line 1, in run_scheduler_process\n'
    "    raise RuntimeError()\n"
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
)


def test_a_command_tells_the_arguments_where_the_server_printed_none() -> None:
    log = "$ " + LAUNCH + "--model-path org/m --mem-fraction-static 0.6 --api-key sk-secret-0123456789\n" + FAILURE
    context = explain_text(log).context
    assert context.server_args["mem_fraction_static"] == 0.6 and context.model == "org/m"
    assert context.args_place is not None and context.args_place.line == 1
    printed = "[2026-11-30 08:00:00] server_args=ServerArgs(model_path='org/n', tp_size=4)\n"
    assert explain_text(log.replace("Traceback", printed + "Traceback", 1)).context.server_args["tp_size"] == 4


def test_the_line_of_a_shell_job_is_of_the_server_before_it() -> None:
    job = "./run.sh: line 22: 90411 Killed                  " + LAUNCH + "--model-path org/m --tp-size 2\n"
    assert explain_text(FAILURE + job).context.server_args == {"model_path": "org/m", "tp_size": 2}


def test_a_command_after_the_failure_is_of_the_next_attempt() -> None:
    first, second = LAUNCH + "--model-path org/m --tp-size 2\n", LAUNCH + "--model-path org/m --tp-size 4\n"
    assert explain_text("$ " + first + FAILURE + "$ " + second).context.server_args["tp_size"] == 2
    assert not explain_text(FAILURE + "$ " + second).context.server_args


def test_the_release_of_an_image_and_of_check_env() -> None:
    image = "docker run --gpus all lmsysorg/sglang:v0.5.4 " + LAUNCH + "--model-path org/m\n" + FAILURE
    assert explain_text(image).context.sglang_version == "0.5.4"
    assert explain_text("Python: 3.12\nsglang: 0.4.6.post5\nsgl_kernel: 0.1.4\n" + FAILURE).context.sglang_version == (
        "0.4.6.post5"
    )
    assert explain_text("sglang: 9.9.9\n" + FAILURE).context.sglang_version != "9.9.9"


@pytest.mark.parametrize("release", ["0.4.6.post5", "0.5.10", "0.5.23"])
@pytest.mark.parametrize("indent", ["    ", "", "  "])
def test_a_list_of_arguments_over_many_lines(release: str, indent: str) -> None:
    """Each argument in a line of its own is no error, whatever its name."""
    server = graphs_do_not_fit(release)[0]
    head, rest = server.text.split("\n", 1)
    whole = explain_text(server.text)
    report = explain_text(head.replace(", ", f",\n{indent}") + "\n" + rest)
    assert report.context.server_args == whole.context.server_args
    assert [one.record and one.record.slug for one in report.findings] == [
        one.record and one.record.slug for one in whole.findings
    ]


@pytest.mark.parametrize("release", ["0.4.6.post5", "0.5.10", "0.5.23"])
@pytest.mark.parametrize("cut", [300, 1500])
def test_a_paste_that_begins_within_the_arguments(release: str, cut: int) -> None:
    server = graphs_do_not_fit(release)[0]
    whole = explain_text(server.text).context.server_args
    found = explain_text(server.text[cut:]).context.server_args
    assert found and found.items() <= whole.items()
    assert "tp_size" in found and "mem_fraction_static" in found


def test_a_first_line_of_other_pairs_is_no_list_of_arguments() -> None:
    batch = "Decode batch. a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=8\n"
    assert not explain_text(batch + FAILURE).context.server_args
    unclosed = "[2026-11-30 08:00:00] server_args=ServerArgs(model_path='m', tp_size=2, host='127\n" + FAILURE
    report = explain_text(unclosed)
    assert report.context.server_args["tp_size"] == 2
    assert report.findings[0].record is not None and report.findings[0].record.slug == "kv-pool-no-memory-left"


def main_failure(module: str) -> str:
    return (
        "Traceback (most recent call last):\n"
        '  File "<frozen runpy>", line 198, in _run_module_as_main\n'
        '  File "<frozen runpy>", line 88, in _run_code\n'
        f'  File "/opt/venv/lib/python3.12/site-packages/{module}", line 6, in <module>\n'
        "    run()\n"
        "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
    )


@pytest.mark.parametrize(
    ("log", "state"),
    [
        (main_failure("sglang/launch_server.py"), "dead"),
        (main_failure("sglang/bench_serving.py"), "unknown"),
        ("Process SpawnProcess-1:\n" + FAILURE, "dead"),
        (FAILURE.replace("run_scheduler_process", "init_memory_pool"), "unknown"),
        (FAILURE.replace("run_scheduler_process", "init_memory_pool") + "sglang-1 exited with code 137\n", "dead"),
        (FAILURE.replace("run_scheduler_process", "init_memory_pool") + "srun: error: n1: task 0: Exited with exit code 1\n",
         "dead"),
    ],
)  # fmt: skip
def test_what_ends_a_server(log: str, state: str) -> None:
    recovery = explain_text(log).findings[0].recovery
    assert recovery is not None and recovery.state == state


def test_ranks_are_those_of_failures_and_batches_too() -> None:
    server = Server("0.5.10", tp=2)
    server.batches(2, running=3)
    server.exception("TP1", [("sglang/srt/x.py", 1, "f", "raise ValueError()")], "ValueError: odd")
    assert explain_text(server.text).context.ranks == ("TP0", "TP1")
    assert explain_text("[rank0]: " + FAILURE.replace("\n", "\n[rank0]: ")).context.ranks == ()

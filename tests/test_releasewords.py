"""Solutions in the words of a release: its own names, and what it lacks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explain.model import LaunchContext
from explain.releasewords import shown, worded
from tests.helpers import explain_text
from tests.test_fitting import finding_of, fitted, fitted_records


@pytest.mark.parametrize(
    ("release", "text", "told"),
    [
        # renamed flags, both ways
        ("0.5.23", "Lower `--cuda-graph-max-bs 8`.", "Lower `--cuda-graph-max-bs-decode 8`."),
        ("0.5.2", "Lower `--cuda-graph-max-bs-decode 8`.", "Lower `--cuda-graph-max-bs 8`."),
        ("0.5.16", "Lower `--cuda-graph-max-bs 8`.", "Lower `--cuda-graph-max-bs 8`."),
        ("0.5.23", "Set --nsa-decode-backend fa3.", "Set --dsa-decode-backend fa3."),
        ("0.5.9", "Set --dsa-decode-backend fa3.", "Set --nsa-decode-backend fa3."),
        ("0.5.23", "Use `--mamba-scheduler-strategy no_buffer`.", "Use `--mamba-radix-cache-strategy no_buffer`."),
        # switches that became values
        ("0.5.23", "Add `--disable-piecewise-cuda-graph`.", "Add `--cuda-graph-backend-prefill disabled`."),
        ("0.5.12", "Add --cuda-graph-backend-prefill=disabled.", "Add --disable-piecewise-cuda-graph."),
        ("0.5.23", "Add `--enable-deepep-moe`.", "Add `--moe-a2a-backend deepep`."),
        ("0.4.9", "Add `--moe-a2a-backend deepep`.", "Add `--enable-deepep-moe`."),
        # what took two flags
        ("0.5.10", "Use `--tp-size 8 --attn-dp-size 8`.", "Use `--tp-size 8 --dp-size 8 --enable-dp-attention`."),
        ("0.5.23", "Use `--tp-size 8 --attn-dp-size 8`.", None),
        ("0.5.10", "Set `--attn-dp-size 8` (before 0.5.22 `--dp-size 8 --enable-dp-attention`).",
         "Set `--dp-size 8 --enable-dp-attention`."),
        ("0.5.10", "Set --attn-dp-size 8 for --tp 8 (0.5.21 and older: --enable-dp-attention --dp-size 8).", None),
        # variables
        ("0.5.2", "Set SGLANG_ENABLE_JIT_DEEPGEMM=0.", "Set SGL_ENABLE_JIT_DEEPGEMM=0."),
        ("0.5.10", "Set SGL_ENABLE_JIT_DEEPGEMM=0.", "Set SGLANG_ENABLE_JIT_DEEPGEMM=0."),
        # aliases
        ("0.4.6", "Pass `--model org/x`.", "Pass `--model-path org/x`."),
        ("0.5.22", "Add --enable-hicache.", "Add --enable-hierarchical-cache."),
        # two names, one of them this release's
        ("0.5.2", "Lower --cuda-graph-max-bs (--cuda-graph-max-bs-decode since 0.5.20) to 8.", "Lower --cuda-graph-max-bs to 8."),
        ("0.5.23", "Lower --cuda-graph-max-bs (--cuda-graph-max-bs-decode since 0.5.20) to 8.", "Lower --cuda-graph-max-bs-decode to 8."),
        ("0.5.16", "Lower --cuda-graph-max-bs (--cuda-graph-max-bs-decode since 0.5.20) to 8.", None),
        ("0.5.2", "Use --cuda-graph-max-bs 64 (from 0.5.14 on `--cuda-graph-max-bs-decode 64`, with --tp-size 2).", None),
        # nothing to say
        ("0.5.2", "Run `docker run --shm-size 32g --gpus all`.", None),
        ("0.5.2", "Remove all --speculative-* flags.", None),
        ("0.4.1 to 0.5.23", "Add `--enable-prefill-cp`.", None),
        (None, "Add `--enable-prefill-cp`.", None),
        ("9.9.9", "Add `--enable-prefill-cp`.", None),
    ],
)  # fmt: skip
def test_names(release: str | None, text: str, told: str | None) -> None:
    found = worded(text, release)
    assert found.text == (told or text) and not found.lacking and not found.vain


@pytest.mark.parametrize(
    ("release", "text", "lacking", "vain"),
    [
        ("0.4.6", "Set `--mm-feature-transport cpu`.", "SGLang 0.4.6 has no `--mm-feature-transport` (from 0.5.16)", True),
        ("0.5.23", "Set SGLANG_ENABLE_SPEC_V2=0.", "SGLang 0.5.23 has no `SGLANG_ENABLE_SPEC_V2` (until 0.5.20)", True),
        ("0.5.2", "Use --attention-backend fa4.", "SGLang 0.5.2 has no `--attention-backend fa4` (from 0.5.3)", True),
        ("0.5.23", "Use --attention-backend cutlass_mla.", "SGLang 0.5.23 has no `--attention-backend cutlass_mla` (until 0.5.19)", True),
        ("0.5.2", "Use --attention-backend fa3.", "", False),
        ("0.5.1", "Use --attention-backend fa4.", "", False),  # what 0.5.1 takes is not known
        ("0.5.2", "Set `--schedule-policy fcfs` with `--enable-priority-scheduling`.",
         "SGLang 0.5.2 has no `--enable-priority-scheduling` (from 0.5.3)", False),
        ("0.5.2", "Lower --page-size. Then try --dcp-size 2.", "SGLang 0.5.2 has no `--dcp-size` (from 0.5.15)", False),
        ("0.5.2", "Upgrade for `--dcp-size`.", "SGLang 0.5.2 has no `--dcp-size` (from 0.5.15)", False),
        ("0.5.2", "Add `--dcp-size 2` (0.5.15 and later).", "", True),  # the text says it
        ("0.5.2", "Upgrade to 0.5.20 or set --dcp-size 2.", "SGLang 0.5.2 has no `--dcp-size` (from 0.5.15)", False),
        ("0.5.6 to 0.5.9", "Add --dcp-size 2.", "SGLang 0.5.6 to 0.5.9 has no `--dcp-size` (from 0.5.15)", True),
    ],
)  # fmt: skip
def test_what_is_lacking(release: str, text: str, lacking: str, vain: bool) -> None:
    assert worded(text, release)[1:] == (lacking, vain)


def test_the_diffusion_server_has_flags_of_its_own() -> None:
    text = "Add `--vae-cpu-offload`."
    assert worded(text, "0.5.20", diffusion=True).lacking == ""


def test_a_solution_in_vain_comes_last() -> None:
    record = replace(fitted_records()[0], fits=(), solutions=("Add --dcp-size 2.", "Read the log."))
    solutions, _ = fitted(finding_of(record, {}), LaunchContext(sglang_version="0.5.2"))
    assert solutions == ("Read the log.", "Add --dcp-size 2. [SGLang 0.5.2 has no `--dcp-size` (from 0.5.15)]")


def test_examples_and_tips_of_other_releases_are_not_shown() -> None:
    record = replace(
        fitted_records()[0],
        example_fix="# before\nsglang serve --model-path x\n# after\nsglang serve --model-path x --cuda-graph-max-bs-decode 8",
        prevention_tips=("Use --dcp-size 2.", "Watch the log."),
    )
    older, newer = shown(record, "0.5.2"), shown(record, "0.5.23")
    assert older.example_fix is not None and older.example_fix.endswith("--cuda-graph-max-bs 8")
    assert older.prevention_tips == ("Watch the log.",) and newer is record
    lacking = replace(record, example_fix="# after\nsglang serve --dcp-size 2")
    assert shown(lacking, "0.5.2").example_fix is None and shown(lacking, None) is lacking


def test_end_to_end() -> None:
    """The release is read off the server arguments; the report then speaks its language."""
    from tests.contexts.servers import graphs_do_not_fit

    for release, flag, other in (
        ("0.5.2", "--cuda-graph-max-bs ", "--cuda-graph-max-bs-decode"),
        ("0.5.23", "--cuda-graph-max-bs-decode ", "--cuda-graph-max-bs "),
    ):
        (server,) = graphs_do_not_fit(release)
        said = " ".join(explain_text(server.text).findings[0].solutions)
        assert flag in said and other not in said

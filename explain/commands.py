"""To explain logs: the command without a name, and `run`.

Values come as texts and are checked here; what costs time is imported where it is used.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from explain.choices import COLORS, FORMATS, LEVELS
from explain.console import FAILED, UsageProblem, choose

SHORT_HELP = """\
sglang-explain reads an SGLang server log and says what failed, why, and what to do.

  sglang-explain server.log                    a file (.gz, .bz2, .xz and .zst too)
  sglang-explain node0.log node1.log           the logs of several nodes as one story
  journalctl -u sglang | sglang-explain        a pipe
  sglang-explain -                             what you paste, up to Ctrl-D
  sglang-explain --help                        everything else
"""

Patterns = Annotated[
    list[str] | None,
    typer.Option("--patterns", metavar="PATH", help="Add records from a file or folder; repeatable."),
]
OnlyPatterns = Annotated[bool, typer.Option("--only-patterns", help="Use the records of --patterns only.")]
Format = Annotated[str, typer.Option("--format", "-F", metavar="|".join(FORMATS), help="What to print.")]
Color = Annotated[str, typer.Option("--color", metavar="|".join(COLORS), help="Colours; NO_COLOR is respected.")]
OnFindingOption = Annotated[
    str | None,
    typer.Option("--on-finding", metavar="COMMAND", help="Run for each new cause, its JSON on standard input."),
]
MetricsOption = Annotated[
    str | None, typer.Option("--metrics", metavar="FILE", help="Keep a file of metrics for Prometheus.")
]
Names = list[str] | None


def explain_command(
    sources: Annotated[
        Names, typer.Argument(metavar="SOURCE", help="Files, folders, globs, or - for standard input.")
    ] = None,
    form: Format = "terminal",
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write here instead of to the screen."),
    ] = None,
    patterns: Patterns = None,
    only_patterns: OnlyPatterns = False,
    show_all: Annotated[bool, typer.Option("--all", help="Every finding in full, warnings and noise too.")] = False,
    fail_on: Annotated[
        str,
        typer.Option("--fail-on", metavar="|".join(LEVELS), help="Exit with 1 if there is an error (or a warning)."),
    ] = "never",
    color: Color = "auto",
    sglang: Annotated[
        str | None,
        typer.Option("--sglang", metavar="PATH", help="Your own SGLang: its errors are known, its source shown."),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Follow growing logs; Ctrl-C prints the summary.")
    ] = False,
    start: Annotated[
        str,
        typer.Option("--from", metavar="start|end|N", help="Where to begin in a followed file: N lines back."),
    ] = "end",
    poll: Annotated[bool, typer.Option("--poll", help="Look for changes instead of being told of them.")] = False,
    state: Annotated[
        str | None, typer.Option("--state", metavar="FILE", help="Keep the place, to go on after a restart.")
    ] = None,
    tee: Annotated[
        bool, typer.Option("--tee", help="Pass standard input on; explanations go to standard error.")
    ] = False,
    on_finding: OnFindingOption = None,
    metrics: MetricsOption = None,
    version: Annotated[bool, typer.Option("--version", help="Print version, catalogue size and scanner.")] = False,
) -> int:
    """Say what failed in an SGLang server log, why, and what to do about it.

    Reads logs of any size from any collector. The verdict on the first cause stands last on the screen and
    first in json; where the log does not hold the cause, it says so.
    """
    if version:
        from explain.cli import print_version

        print_version()
        return 0
    choose("--format", form, FORMATS)
    choose("--fail-on", fail_on, LEVELS)
    choose("--color", color, COLORS)
    check_patterns(patterns, only_patterns)
    check_filled(
        {
            "--output": output,
            "--sglang": sglang,
            "--state": state,
            "--on-finding": on_finding,
            "--metrics": metrics,
        }
    )
    piped = sys.stdin is not None and not sys.stdin.isatty()
    names = sources or (["-"] if piped else [])
    if not names:
        sys.stderr.write(SHORT_HELP)
        return FAILED
    if follow or tee:
        for option, given in (("--output", output is not None), ("--fail-on", fail_on != "never")):
            if given:
                live = "--follow" if follow else "--tee"
                raise UsageProblem(f"{option}: does not go with {live}; see --on-finding and --format jsonl")
        from explain import followrun

        return followrun.follow(
            names,
            form=form,
            patterns=[Path(path) for path in patterns or ()],
            only_patterns=only_patterns,
            show_all=show_all,
            color=color,
            sglang=Path(sglang) if sglang else None,
            start=start,
            poll=poll,
            state=Path(state) if state else None,
            tee=tee,
            on_finding=on_finding,
            metrics=Path(metrics) if metrics else None,
        )
    others = {
        "--poll": poll,
        "--state": state,
        "--on-finding": on_finding,
        "--metrics": metrics,
        "--from": start != "end",
    }
    for option in (option for option, given in others.items() if given):
        raise UsageProblem(f"{option}: goes with --follow; add -f")
    from explain import run

    return run.explain(
        names,
        form=form,
        output=Path(output) if output and output != "-" else None,
        patterns=[Path(path) for path in patterns or ()],
        only_patterns=only_patterns,
        show_all=show_all,
        fail_on=fail_on,
        color=color,
        sglang=Path(sglang) if sglang else None,
    )


def check_patterns(patterns: Sequence[str] | None, only: bool) -> None:
    if only and not patterns:
        raise UsageProblem("--only-patterns: there are no records to use; name them with --patterns PATH")
    for path in patterns or ():
        check_filled({"--patterns": path})


def check_filled(values: Mapping[str, str | None]) -> None:
    """An option that was given an empty text was meant to have another: the variable in it is not set."""
    for option, value in values.items():
        if value == "":
            raise UsageProblem(f"{option}: the value is empty; check the variable it comes from")


def run_command(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="The command to run.")],
    form: Annotated[str, typer.Option("--format", "-F", metavar="terminal|jsonl", help="What to print.")] = "terminal",
    patterns: Patterns = None,
    only_patterns: OnlyPatterns = False,
    show_all: Annotated[bool, typer.Option("--all", help="Warnings and noise too.")] = False,
    color: Color = "auto",
    on_finding: OnFindingOption = None,
    metrics: MetricsOption = None,
) -> int:
    """Run a command and explain its output as it comes.

    Output and signals pass through, the exit status is the command's own; explanations go to standard error.
    """
    choose("--color", color, COLORS)
    check_patterns(patterns, only_patterns)
    check_filled({"--on-finding": on_finding, "--metrics": metrics})
    from explain import followrun

    return followrun.run_command(
        command,
        form=form,
        patterns=[Path(path) for path in patterns or ()],
        only_patterns=only_patterns,
        show_all=show_all,
        color=color,
        on_finding=on_finding,
        metrics=Path(metrics) if metrics else None,
    )

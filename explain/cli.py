"""The command line: parse, call, choose the exit code. Whatever happens, the user reads one clear line.

The commands are in `commands.py`, `queries.py` and `authoring/commands.py`. Typer is imported when there is
something to parse.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple, NoReturn

from explain import __version__
from explain.choices import COLORS, FORMATS, LEVELS
from explain.console import FAILED, INTERRUPTED, PROGRAM, UsageProblem, complain, nearest

COMMANDS = {
    "show": "one record: by id, slug, beginning of either, or a pasted message",
    "search": "records by words, typing errors allowed",
    "list": "all records, by area, tag, severity, role or class",
    "why": "why a record fires on a log, or how near it comes",
    "run": "run a command, explain its output as it comes, keep its exit status",
    "new": "start a record from a failing line, a traceback or a saved error page",
    "check": "check records that you wrote",
    "harvest": "read SGLang releases into the index of all its errors",
}
HOMES = {
    "explain.commands": ("run",),
    "explain.queries": ("show", "search", "list", "why"),
    "explain.authoring.commands": ("new", "check", "harvest"),
}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the program and exits."""
    # Tables of many thousand small objects are built at the start and kept: looking through them again and
    # again for garbage costs a tenth of a short run.
    gc.set_threshold(100_000, 50, 100)
    code = run_guarded(list(sys.argv[1:] if arguments is None else arguments))
    with suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
        sys.stderr.flush()
    # Everything is written: taking the tables apart piece by piece would only keep the caller waiting.
    os._exit(code)


def run_guarded(arguments: list[str]) -> int:
    """The exit code of a run. With `SGLANG_EXPLAIN_DEBUG` set, unexpected errors keep their traceback."""
    stand_in_for_closed_streams()
    try:
        code = run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        forget_output()  # the reader has what it wanted
        return 0
    except UsageProblem as problem:
        complain(str(problem))
        return FAILED
    except OSError as error:
        if os.environ.get("SGLANG_EXPLAIN_DEBUG"):
            raise
        what = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else "output"
        from explain.model import reason_of

        complain(f"{what}: cannot be read or written: {reason_of(error)}; check the disk, or choose another place")
        forget_output()
        return FAILED
    except Exception as error:
        if os.environ.get("SGLANG_EXPLAIN_DEBUG"):
            raise
        from explain.sitepack import SHIPPED, PackError

        if isinstance(error, PackError):
            again = f"{sys.executable} -m pip install --force-reinstall sglang-explain"
            complain(f"{SHIPPED}: {error}; {again}" if os.path.isfile(SHIPPED) else str(error))
            return FAILED
        complain(
            f"internal error: {type(error).__name__}: {error}; this is a bug of {PROGRAM}: run again with "
            "SGLANG_EXPLAIN_DEBUG=1 and report the traceback together with the lines of the log"
        )
        return FAILED


def stand_in_for_closed_streams() -> None:
    """Puts an end that swallows everything where standard output or error was closed before the start.

    Whoever closes them wants nothing printed; commands, metrics and exit codes still count.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - as long as we run


def forget_output() -> None:
    """What is still buffered for an output that takes nothing any more must not complain at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(arguments: list[str]) -> int:
    """Parses and runs. The first argument is a subcommand only where it is exactly one's name."""
    if arguments == ["--version"]:
        print_version()
        return 0
    check_command(arguments)
    if (call := plain_call(arguments)) is not None:
        from explain.run import explain

        return explain(call.names, form=call.form, show_all=call.show_all, fail_on=call.fail_on, color=call.color)
    import typer

    if arguments and arguments[0] in COMMANDS:
        name, rest = f"{PROGRAM} {arguments[0]}", arguments[1:]
        home = import_module(next(module for module, names in HOMES.items() if arguments[0] in names))
        command = build_command(getattr(home, f"{arguments[0]}_command"))
    else:
        name, rest = PROGRAM, arguments
        from explain.commands import explain_command

        command = build_command(explain_command, epilog=epilog())
    # Typer brings its parser along or depends on one, by version; this class is what its errors share.
    parser_error: type[Exception] = typer.BadParameter.__mro__[2]
    try:
        result = command.main(args=rest, prog_name=name, standalone_mode=False)
    except typer.Abort:
        return INTERRUPTED
    except parser_error as error:
        message = usage_message(error, command)
        if arguments[:1] == ["run"] and "--" not in arguments:
            raise UsageProblem(f"{message}; put -- before the command: {name} -- COMMAND") from None
        raise UsageProblem(f"{message}{'' if message.endswith('?') else ';'} try {name} --help") from None
    return result if isinstance(result, int) else 0


class PlainCall(NamedTuple):
    """A call that names sources, and options of those that need no parser."""

    names: list[str]
    form: str = "terminal"
    color: str = "auto"
    fail_on: str = "never"
    show_all: bool = False


_CHOSEN = {"--format": ("form", FORMATS), "--color": ("color", COLORS), "--fail-on": ("fail_on", LEVELS)}


def plain_call(arguments: Sequence[str]) -> PlainCall | None:
    """What most people and scripts call; None for anything that the parser has to judge.

    The parser's import is a third of a short run.
    """
    if arguments and arguments[0] in COMMANDS:
        return None
    names: list[str] = []
    chosen: dict[str, str] = {}
    show_all = False
    rest = iter(arguments)
    for one in rest:
        option, given, value = one.partition("=")
        if option in _CHOSEN:
            name, choices = _CHOSEN[option]
            chosen[name] = value if given else next(rest, "")
            if chosen[name] not in choices:
                return None
        elif one == "--all":
            show_all = True
        elif not one or (one[0] == "-" and one != "-"):
            return None
        else:
            names.append(one)
    if not names:
        if sys.stdin is None or sys.stdin.isatty():
            return None
        names = ["-"]
    return PlainCall(names, show_all=show_all, **chosen)


def check_command(arguments: list[str]) -> None:
    """Tells of a mistyped subcommand, which would else be looked for as a file."""
    first = arguments[0] if arguments else ""
    if not first.isalpha() or first in COMMANDS or os.path.lexists(first):
        return
    from difflib import get_close_matches

    if near := get_close_matches(first, COMMANDS, 1, 0.75):
        raise UsageProblem(f"{first}: is neither a file nor a command; did you mean {' '.join([PROGRAM, near[0]])}?")


class _AsGiven:
    """Takes option values as the parser gives them: texts, lists of texts, booleans.

    Newer releases of typer send every value through pydantic, whose import costs more than the rest of the
    start. Nothing here needs it: the commands check what they are given.
    """

    def coerce(self, value: Any, param: object, ctx: object) -> Any:
        return value


def build_command(function: Callable[..., int], epilog: str = "") -> Any:
    """The parser of one command."""
    import typer

    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command(epilog=epilog, context_settings={"help_option_names": ["-h", "--help"]})(function)
    command: Any = typer.main.get_command(app)
    for parameter in command.params:
        take_as_given(parameter)
    help_option = command.get_help_option
    command.get_help_option = lambda context: take_as_given(help_option(context))
    return command


def take_as_given(parameter: Any) -> Any:
    if hasattr(parameter, "_runtime_param"):
        parameter._runtime_param = _AsGiven()
    return parameter


def epilog() -> str:
    """What `--help` says below the options. `\\b` keeps the parser from joining lines."""
    commands = [f"  {name:<8} {words}" for name, words in COMMANDS.items()]
    exits = "Exit code: 0 the input was read, 1 --fail-on matched, 2 bad usage or unreadable input."
    return "\n".join(["\b", "Commands (a file of that name is given as ./show):", *commands, "", "\b", exits])


def usage_message(error: Any, command: Any) -> str:
    """One line on what is wrong with the arguments, with the nearest option where one is near."""
    if hasattr(error, "possibilities"):
        options = [option for parameter in command.params for option in parameter.opts if len(option) > 2]
        return f"no such option {error.option_name}{nearest(error.option_name, options)}"
    message = " ".join(error.format_message().split()).rstrip(".")
    return message[:1].lower() + message[1:]


def print_version() -> None:
    from importlib.util import find_spec

    from explain.catalogue import Catalogue

    scanner = "hyperscan" if find_spec("hyperscan") else "plain"
    sys.stdout.write(f"{PROGRAM} {__version__} ({len(Catalogue.load())} records, {scanner} scanner)\n")

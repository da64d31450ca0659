"""One statement to the errors it reports: raise, assert, log, warning, HTTP error, abort, usage error."""

from __future__ import annotations

import ast
import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from explain.authoring.harvest_calls import (
    ABORT_NAME,
    ALIASES,
    EXCEPTION_NAME,
    EXCEPTIONS,
    called,
    exception_name,
    reported,
    textual,
)
from explain.authoring.harvest_format import Text, percent, slot_name, tuple_text
from explain.authoring.harvest_text import ALTERNATIVES, Block, Evaluator, Scope
from explain.templates import ANSI, joined

ENVIRONMENT = re.compile(r"\bSGL(?:ANG)?_[A-Z0-9_]+\b")
ARGS_NAME = re.compile(
    r"_?(?:global_)?(?:server_args|cfg|args|server_config|sargs|resolved|get_server_args|get_global_server_args)"
)


@dataclass(frozen=True, slots=True)
class RawSite:
    """One way one statement reports an error. `arguments` are the texts of the exception's arguments.

    `code` holds a hash for each physical line of the statement, after one for the whole statement.
    """

    kind: str
    exception: str | None
    arguments: tuple[Text, ...]
    keywords: tuple[tuple[str, Text], ...]
    function: str
    line: int
    code: tuple[str, ...]
    names: tuple[str, ...]
    environment: tuple[str, ...]


def code_hash(line: str) -> str:
    """Eight hex digits for a source line, blanks left out: what a traceback's code line is compared by."""
    return hashlib.sha1("".join(line.split()).encode()).hexdigest()[:8]


def own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """Every expression node of the statement itself, not of the statements nested in it."""
    pending: list[ast.AST] = [
        child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.expr | ast.withitem)
    ]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(ast.iter_child_nodes(node))


@dataclass(frozen=True, slots=True)
class Place:
    """Where a statement stands: its function, its scope, the tests around it, the class around it."""

    function: str
    scope: Scope
    block: Block
    guards: tuple[ast.expr, ...]
    owner: str


class StatementReader:
    """Reads the statements of one file. `makers` are its functions that return an exception."""

    def __init__(
        self,
        evaluator: Evaluator,
        lines: Sequence[str],
        makers: Mapping[str, Sequence[tuple[ast.Call, Scope, Block]]],
    ) -> None:
        self.evaluator = evaluator
        self.lines = lines
        self.makers = makers

    def read(self, statement: ast.stmt, place: Place) -> list[RawSite]:
        sites: list[RawSite] = []
        handled: set[int] = set()

        def add(
            kind: str,
            exception: str | None,
            arguments: Sequence[Text],
            keywords: Sequence[tuple[str, Text]] = (),
        ) -> None:
            names, environment = self._involved(statement, place)
            clean = tuple(
                joined(ANSI.sub("", part) if isinstance(part, str) else part for part in text) for text in arguments
            )
            sites.append(
                RawSite(
                    kind,
                    exception,
                    clean,
                    tuple(keywords),
                    place.function,
                    statement.lineno,
                    self._code(statement),
                    names,
                    environment,
                )
            )

        def texts(node: ast.expr, scope: Scope = place.scope, block: Block = place.block) -> list[Text]:
            return self.evaluator.texts(node, scope, block, node.lineno)

        def construct(call: ast.Call, scope: Scope = place.scope, block: Block = place.block) -> None:
            """One site for every text of an exception's arguments."""
            handled.add(id(call))
            name = ALIASES.get(called(call), called(call))
            values = [texts(a, scope, block) for a in call.args]
            keywords = [(k.arg, texts(k.value, scope, block)) for k in call.keywords if k.arg]
            if name == "HTTPException":
                detail = dict(keywords).get("detail") or (values[1] if len(values) > 1 else [])
                for text in detail:
                    add("http", name, [text])
                return
            first = [[(k, text) for text in alternatives] for k, alternatives in keywords]
            for arguments in itertools.islice(itertools.product(*values), ALTERNATIVES):
                for extra in itertools.islice(itertools.product(*first), ALTERNATIVES):
                    add("raise", name, arguments, extra)

        if isinstance(statement, ast.Raise) and statement.exc is not None:
            raised = statement.exc
            if isinstance(raised, ast.Call):
                name = called(raised)
                if name in self.makers and not exception_name(raised):
                    for call, scope, block in self.makers[name]:
                        construct(call, scope, block)
                    handled.add(id(raised))
                elif exception_name(raised) or name.lstrip("_")[:1].isupper():
                    construct(raised)
                elif raised.args and textual(raised.args[0]):
                    # The class is in a variable.
                    handled.add(id(raised))
                    for text in texts(raised.args[0]):
                        add("raise", None, [text])
            elif isinstance(raised, ast.Name | ast.Attribute):
                name = raised.id if isinstance(raised, ast.Name) else raised.attr
                if name in EXCEPTIONS or EXCEPTION_NAME.fullmatch(name):
                    add("raise", ALIASES.get(name, name), [])
        elif isinstance(statement, ast.Assert):
            message = statement.msg
            if message is None:
                add("assert", "AssertionError", [])
            elif isinstance(message, ast.Tuple):
                choices = itertools.product(*(texts(element) for element in message.elts))
                for elements in itertools.islice(choices, ALTERNATIVES):
                    add("assert", "AssertionError", [tuple_text(elements)])
            else:
                if isinstance(message, ast.Call) and exception_name(message) and message.args:
                    handled.add(id(message))
                    message = message.args[0]
                for text in texts(message):
                    add("assert", "AssertionError", [text])
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            if isinstance(target, ast.Attribute) and ABORT_NAME.fullmatch(target.attr):
                for text in texts(statement.value):
                    add("abort", None, [text])

        for node in own_expressions(statement):
            if isinstance(node, ast.Call) and id(node) not in handled:
                if exception_name(node) is not None:
                    if not isinstance(statement, ast.Raise) and not (node.args or node.keywords):
                        continue
                    construct(node)
                else:
                    for kind, exception, value in reported(node):
                        for text in texts(value):
                            rest = node.args[node.args.index(value) + 1 :] if value in node.args else []
                            add(
                                kind,
                                exception,
                                [percent(text, rest) if rest and kind.startswith("log") else text],
                            )
        return sites

    def _code(self, statement: ast.stmt) -> tuple[str, ...]:
        last = getattr(statement, "end_lineno", None) or statement.lineno
        if not isinstance(statement, ast.Raise | ast.Assert | ast.Expr | ast.Assign | ast.Return):
            last = statement.lineno
        lines = self.lines[statement.lineno - 1 : last]
        hashes = [code_hash(line) for line in lines if len("".join(line.split())) > 1]
        return (code_hash("".join(lines)), *hashes[:12])

    def _involved(self, statement: ast.stmt, place: Place) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Server arguments and environment variables in the statement and the tests around it."""
        names: set[str] = set()
        environment: set[str] = set()
        nested = (node for guard in place.guards for node in ast.walk(guard))
        for node in itertools.chain(own_expressions(statement), nested):
            if isinstance(node, ast.Attribute):
                base = slot_name(node.value)
                if ARGS_NAME.fullmatch(base) or (base == "self" and place.owner == "ServerArgs"):
                    names.add(node.attr)
                environment.update(ENVIRONMENT.findall(node.attr))
            elif isinstance(node, ast.Name):
                environment.update(ENVIRONMENT.findall(node.id))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                environment.update(ENVIRONMENT.findall(node.value))
            elif isinstance(node, ast.Call) and called(node) in ("getattr", "hasattr") and len(node.args) > 1:
                key = node.args[1]
                if ARGS_NAME.fullmatch(slot_name(node.args[0])) and isinstance(key, ast.Constant):
                    names.add(str(key.value))
        return tuple(sorted(names)), tuple(sorted(environment))

"""Synthetic error events from SGLang's source, made without the harvester.

Every raise, assert and log statement is found by its tokens in the syntax tree and its message is *run*:
Python itself evaluates the expression, with stand-ins for every name that is not a constant. So the text is
what SGLang would print, whatever way the message is built. An exception of SGLang's own is made from its
own class, run the same way.
"""

from __future__ import annotations

import ast
import builtins
import random
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .values import Value

LOG_METHODS = {"warning", "warn", "error", "exception", "critical", "warning_once"}
SKIPPED_FOLDERS = {"test", "tests"}


@dataclass(frozen=True)
class Synthetic:
    """One event. `literal` is the longest fixed run of its source, `bare` means that it has no message."""

    kind: str
    exception: str
    message: str
    file: str
    function: str
    line: int
    code: str
    literal: int
    bare: bool


class Names(dict[str, Any]):
    """A namespace in which every name is known: constants, builtins, else a stand-in."""

    def __init__(self, chance: random.Random, known: dict[str, Any]) -> None:
        super().__init__(known)
        self.chance = chance

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            return getattr(builtins, name)
        value = Value(self.chance)
        self[name] = value
        return value


class Finder(ast.NodeVisitor):
    """Walks one file, keeping the stack of functions."""

    def __init__(self) -> None:
        self.functions: list[ast.AST] = []
        self.names: list[str] = ["<module>"]
        self.found: list[tuple[ast.stmt, str, ast.AST | None]] = []
        self.classes: dict[str, ast.ClassDef] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.functions.append(node)
        self.names.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self.names.pop()
        self.functions.pop()

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.classes.setdefault(node.name, node)
        self.names.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self.names.pop()

    def _keep(self, node: ast.stmt) -> None:
        self.found.append((node, self.names[-1], self.functions[-1] if self.functions else None))

    visit_Raise = visit_Assert = visit_Expr = _keep  # type: ignore[assignment]


def longest_literal(node: ast.AST) -> int:
    """The longest run of fixed text in the source of a message."""
    return max(
        (
            len(inner.value.strip())
            for inner in ast.walk(node)
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
        ),
        default=0,
    )


def assigned(name: str, function: ast.AST | None, before: int) -> ast.expr | None:
    """What a name holds at a line: the last assignment above it, and everything added since."""
    found: ast.expr | None = None
    statements = [
        node
        for node in (ast.walk(function) if function is not None else ())
        if isinstance(node, ast.Assign | ast.AugAssign) and node.lineno < before
    ]
    for node in sorted(statements, key=lambda one: one.lineno):
        target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
        if not isinstance(target, ast.Name) or target.id != name:
            continue
        if isinstance(node, ast.Assign):
            found = node.value
        elif found is not None:
            found = ast.copy_location(ast.BinOp(left=found, op=node.op, right=node.value), node)
    return found


def evaluate(node: ast.expr, names: Names) -> Any:
    expression = ast.Expression(body=node)
    ast.fix_missing_locations(expression)
    return eval(compile(expression, "<message>", "eval"), {"__builtins__": builtins}, names)


def events(root: Path, seed: int = 7) -> Iterator[Synthetic]:
    """Every event of the SGLang copy that holds `sglang/`, in a stable order."""
    files: list[tuple[Path, ast.Module, list[str], Finder]] = []
    classes: dict[str, ast.ClassDef] = {}
    for path in sorted((root / "sglang").rglob("*.py")):
        parts = path.relative_to(root).parts
        if SKIPPED_FOLDERS & set(parts) or any(part.startswith(".") for part in parts):
            continue
        try:
            text = path.read_text(encoding="utf-8-sig")
            tree = ast.parse(text)
        except (SyntaxError, UnicodeDecodeError, ValueError):
            continue
        finder = Finder()
        finder.visit(tree)
        classes.update(finder.classes)
        files.append((path, tree, text.splitlines(), finder))
    for path, tree, lines, finder in files:
        chance = random.Random(f"{seed} {path.relative_to(root)}")
        constants = {
            node.targets[0].id: node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Constant)
        }
        file = path.relative_to(root).as_posix()
        for node, function_name, function in finder.found:
            names = Names(chance, constants)
            event = one_event(node, file, function_name, function, lines, names, {**classes, **finder.classes})
            if event is not None:
                yield event


def one_event(
    node: ast.stmt,
    file: str,
    function_name: str,
    function: ast.AST | None,
    lines: list[str],
    names: Names,
    classes: dict[str, ast.ClassDef],
) -> Synthetic | None:
    def text_of(expression: ast.expr) -> ast.expr:
        if isinstance(expression, ast.Name):
            return assigned(expression.id, function, expression.lineno) or expression
        return expression

    try:
        if isinstance(node, ast.Assert):
            bare = node.msg is None
            values = [] if node.msg is None else [evaluate(text_of(node.msg), names)]
            literal = 0 if node.msg is None else longest_literal(text_of(node.msg))
            printed = traceback.format_exception_only(AssertionError, AssertionError(*values))
            line = node.test.lineno if names.chance.random() < 0.5 else node.lineno
            return made("assert", printed, file, function_name, node.lineno, lines[line - 1], literal, bare)
        if isinstance(node, ast.Raise) and node.exc is not None:
            call = node.exc if isinstance(node.exc, ast.Call) else None
            target = call.func if call else node.exc
            name = (
                target.id if isinstance(target, ast.Name) else target.attr if isinstance(target, ast.Attribute) else ""
            )
            kind = exception_class(name, classes, names)
            if kind is None:
                return None
            arguments = [text_of(a) for a in call.args] if call else []
            keywords = {k.arg: text_of(k.value) for k in call.keywords if k.arg} if call else {}
            literal = max((longest_literal(a) for a in [*arguments, *keywords.values()]), default=0)
            raised = kind(
                *[evaluate(a, names) for a in arguments],
                **{k: evaluate(v, names) for k, v in keywords.items()},
            )
            printed = traceback.format_exception_only(kind, raised)
            bare = not arguments and not keywords
            return made("raise", printed, file, function_name, node.lineno, lines[node.lineno - 1], literal, bare)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            if not (isinstance(call.func, ast.Attribute) and call.func.attr in LOG_METHODS and call.args):
                return None
            if not isinstance(call.func.value, ast.Name | ast.Attribute) or "log" not in ast.unparse(call.func.value):
                return None
            first = text_of(call.args[0])
            literal = longest_literal(first)
            message = str(evaluate(first, names))
            if len(call.args) > 1:
                message = message % tuple(evaluate(a, names) for a in call.args[1:])
            return Synthetic("log", "", message, file, function_name, node.lineno, "", literal, False)
    except Exception:  # a message that cannot be run without its real values gives no event
        return None
    return None


def made(
    kind: str, printed: list[str], file: str, function: str, line: int, code: str, literal: int, bare: bool
) -> Synthetic:
    name, _, message = "".join(printed).rstrip("\n").partition(": ")
    return Synthetic(kind, name, message, file, function, line, code.strip(), literal, bare and not message)


def exception_class(name: str, classes: dict[str, ast.ClassDef], names: Names, depth: int = 0) -> type | None:
    """The builtin class, or SGLang's own, run from its source."""
    builtin = getattr(builtins, name, None)
    if isinstance(builtin, type) and issubclass(builtin, BaseException):
        return builtin
    node = classes.get(name)
    if node is None or depth > 4:
        return None
    bases: list[type] = []
    for base in node.bases:
        base_name = base.id if isinstance(base, ast.Name) else getattr(base, "attr", "")
        found = exception_class(base_name, classes, names, depth + 1)
        if found is not None:
            bases.append(found)
    if not bases:
        return None
    body = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name in ("__init__", "__str__")]
    plain = ast.ClassDef(
        name=name,
        bases=[ast.Name("Base", ast.Load())],
        keywords=[],
        body=body or [ast.Pass()],
        decorator_list=[],
    )
    module = ast.Module(body=[ast.parse("from __future__ import annotations").body[0], plain], type_ignores=[])
    ast.fix_missing_locations(module)
    space: dict[str, Any] = {"Base": bases[0], "__name__": "sglang.srt.errors"}
    for inner in ast.walk(plain):
        if (
            isinstance(inner, ast.Name)
            and inner.id not in space
            and not hasattr(builtins, inner.id)
            and inner.id != name
        ):
            space[inner.id] = names[inner.id]
    exec(compile(module, "<class>", "exec"), space)
    found_class = space[name]
    return found_class if isinstance(found_class, type) else None

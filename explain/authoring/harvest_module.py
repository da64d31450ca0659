"""One Python file to its error sites: what it raises, asserts, logs, warns, answers and aborts with.

`read_module(source)` needs nothing but the text, so files that two releases share are read once. Exceptions
of SGLang's own classes keep their arguments, because the class that turns them into a message may be
defined in another file; `harvest.py` puts the two together.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from explain.authoring.harvest_calls import EXCEPTION_NAME, EXCEPTIONS, exception_name
from explain.authoring.harvest_format import Text, slot_name
from explain.authoring.harvest_place import Place, RawSite, StatementReader, code_hash
from explain.authoring.harvest_text import Assignment, Block, Evaluator, Scope
from explain.linehistory import Mark
from explain.templates import Slot


@dataclass(frozen=True, slots=True)
class ExceptionClass:
    """An exception class of SGLang's own: its bases, parameters, and what it prints."""

    name: str
    bases: tuple[str, ...]
    parameters: tuple[str, ...]
    message: Text | None


@dataclass(slots=True)
class Module:
    """What one file holds. `marks` are the lines that can stand in a traceback (see `linehistory`)."""

    sites: list[RawSite] = field(default_factory=list)
    classes: list[ExceptionClass] = field(default_factory=list)
    marks: tuple[Mark, ...] = ()


def read_module(source: str) -> Module:
    """The sites of one file. Raises SyntaxError or ValueError where it does not parse."""
    tree = ast.parse(source)
    reader = Reader(tree, source)
    reader.run()
    reader.module.marks = marks(tree, source.splitlines())
    return reader.module


def marks(tree: ast.Module, lines: list[str]) -> tuple[Mark, ...]:
    """Every line that starts a call, a raise, an assert or an import."""
    starts = {
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call | ast.Raise | ast.Assert | ast.Import | ast.ImportFrom)
    }
    return tuple((line, code_hash(lines[line - 1])[:3]) for line in sorted(starts) if line <= len(lines))


class Reader:
    def __init__(self, tree: ast.Module, source: str) -> None:
        self.tree = tree
        self.module = Module()
        constants: dict[str, ast.expr] = {}
        helpers: dict[str, list[tuple[ast.expr, Scope, Block]]] = {}
        self.makers: dict[str, list[tuple[ast.Call, Scope, Block]]] = {}
        self.evaluator = Evaluator(constants, helpers)
        self.statements = StatementReader(self.evaluator, source.splitlines(), self.makers)
        self._collect(tree, constants, helpers)

    def _collect(
        self,
        tree: ast.Module,
        constants: dict[str, ast.expr],
        helpers: dict[str, list[tuple[ast.expr, Scope, Block]]],
    ) -> None:
        for body in [
            tree.body,
            *(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef)),
        ]:
            for statement in body:
                target = getattr(statement, "target", None)
                if isinstance(statement, ast.Assign):
                    target = statement.targets[0]
                value: ast.expr | None = getattr(statement, "value", None)
                textual = isinstance(value, ast.Constant) and isinstance(value.value, str)
                kept = textual or isinstance(value, ast.JoinedStr | ast.BinOp)
                if isinstance(target, ast.Name) and value is not None and kept:
                    constants.setdefault(target.id, value)
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            scope = Scope()
            returns: list[tuple[ast.expr, Block]] = []
            fill(scope, node, returns)
            for value, block in returns:
                if isinstance(value, ast.Call) and exception_name(value):
                    self.makers.setdefault(node.name, []).append((value, scope, block))
                elif isinstance(value, ast.JoinedStr | ast.Name | ast.BinOp | ast.Call | ast.IfExp) or (
                    isinstance(value, ast.Constant) and isinstance(value.value, str)
                ):
                    helpers.setdefault(node.name, []).append((value, scope, block))

    def run(self) -> None:
        self._body(self.tree, "<module>", Scope(), (), (), "")

    # ----------------------------------------------------------------------------------- walking

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, outer: Scope, owner: str) -> None:
        scope = Scope(outer)
        fill(scope, node)
        self._body(node, node.name, scope, (), (), owner)

    def _class(self, node: ast.ClassDef, outer: Scope) -> None:
        bases = tuple(slot_name(base) for base in node.bases)
        if any(base in EXCEPTIONS or EXCEPTION_NAME.fullmatch(base) for base in bases):
            self.module.classes.append(self._exception_class(node, bases))
        self._body(node, node.name, outer, (), (), node.name)

    def _body(
        self,
        node: ast.AST,
        function: str,
        scope: Scope,
        block: Block,
        guards: tuple[ast.expr, ...],
        owner: str,
    ) -> None:
        for name, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                self._statements(value, function, scope, (*block, (id(node), name)), guards, owner)
            elif isinstance(value, list):
                for child in value:
                    if isinstance(child, ast.ExceptHandler | ast.match_case):
                        self._body(child, function, scope, block, guards, owner)

    def _statements(
        self,
        body: list[ast.stmt],
        function: str,
        scope: Scope,
        block: Block,
        guards: tuple[ast.expr, ...],
        owner: str,
    ) -> None:
        for statement in body:
            if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                self._function(statement, scope, owner)
            elif isinstance(statement, ast.ClassDef):
                self._class(statement, scope)
            else:
                inner = guards
                if isinstance(statement, ast.If | ast.While):
                    inner = (*guards, statement.test)
                place = Place(function, scope, block, inner, owner)
                self.module.sites += self.statements.read(statement, place)
                self._body(statement, function, scope, block, inner, owner)
                if isinstance(statement, ast.If) and isinstance(statement.body[-1], ast.Return | ast.Continue):
                    guards = (*guards, statement.test)

    # ----------------------------------------------------------------------------------- exception classes

    def _exception_class(self, node: ast.ClassDef, bases: tuple[str, ...]) -> ExceptionClass:
        parameters: tuple[str, ...] = ()
        message: Text | None = None
        fields: dict[str, str] = {}
        for method in node.body:
            if isinstance(method, ast.AnnAssign) and isinstance(method.target, ast.Name):
                parameters += (method.target.id,)
            if not isinstance(method, ast.FunctionDef):
                continue
            scope = Scope()
            returns: list[tuple[ast.expr, Block]] = []
            fill(scope, method, returns)
            if method.name == "__init__":
                parameters = tuple(a.arg for a in [*method.args.args[1:], *method.args.kwonlyargs])
                for child in ast.walk(method):
                    if isinstance(child, ast.Assign) and isinstance(child.targets[0], ast.Attribute):
                        fields[child.targets[0].attr] = slot_name(child.value)
                    if (
                        message is None
                        and isinstance(child, ast.Call)
                        and isinstance(child.func, ast.Attribute)
                        and child.func.attr == "__init__"
                    ):
                        values = [a for a in child.args if not (isinstance(a, ast.Name) and a.id == "self")]
                        last_block: Block = ((id(method), "body"),)
                        texts = [self.evaluator.texts(v, scope, last_block, child.lineno) for v in values[:1]]
                        message = texts[0][0] if texts else ()
            elif method.name == "__str__" and returns:
                value, block = returns[-1]
                text = self.evaluator.texts(value, scope, block, value.lineno)[0]
                message = tuple(
                    Slot(fields.get(part.name) or part.name, part.type) if isinstance(part, Slot) else part
                    for part in text
                )
        return ExceptionClass(node.name, bases, parameters, message)


def fill(
    scope: Scope,
    function: ast.FunctionDef | ast.AsyncFunctionDef,
    returns: list[tuple[ast.expr, Block]] | None = None,
) -> None:
    """Puts the function's parameters and assignments into the scope, in order; collects its returns."""
    arguments = function.args
    for argument in [
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    ]:
        if argument is not None:
            scope.names[argument.arg] = [Assignment(0, (), None, False)]

    def visit(node: ast.AST, block: Block) -> None:
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                inner = (*block, (id(node), name)) if value and isinstance(value[0], ast.stmt) else block
                for child in value:
                    if isinstance(child, ast.ExceptHandler | ast.match_case):
                        visit(child, block)
                    elif isinstance(child, ast.stmt) and not isinstance(
                        child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
                    ):
                        note(child, inner)
                        visit(child, inner)

    def add(
        target: ast.expr,
        value: ast.expr | None,
        line: int,
        block: Block,
        adds: bool = False,
    ) -> None:
        if isinstance(target, ast.Name):
            scope.names.setdefault(target.id, []).append(Assignment(line, block, value, adds))
        elif isinstance(target, ast.Tuple | ast.List):
            values = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts) else None
            for number, element in enumerate(target.elts):
                add(element, values[number] if values else None, line, block)

    def note(statement: ast.stmt, block: Block) -> None:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                add(target, statement.value, statement.lineno, block)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            add(statement.target, statement.value, statement.lineno, block)
        elif isinstance(statement, ast.AugAssign):
            value = statement.value if isinstance(statement.op, ast.Add) else None
            add(statement.target, value, statement.lineno, block, adds=True)
        elif isinstance(statement, ast.For | ast.AsyncFor):
            add(statement.target, None, statement.lineno, block)
        elif isinstance(statement, ast.With | ast.AsyncWith):
            for item in statement.items:
                if item.optional_vars is not None:
                    add(item.optional_vars, None, statement.lineno, block)
        elif isinstance(statement, ast.Return) and statement.value is not None and returns is not None:
            returns.append((statement.value, block))

    visit(function, ())

"""The conditions under which a line of source raises: the tests above it, read from the user's own copy.

Nothing is run or imported. What is given is the whole way through the function to the line, in words where
there are plain ones for it and in Python's own where not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from explain.values import dataclass

MOST = 6
"""Conditions that are told, the innermost ones: a long `elif` chain says little with its first tests."""
LONGEST = 200
_LOGS = frozenset({"debug", "info", "warning", "warn", "error", "exception", "critical", "warning_once"})
_OPPOSITE: dict[type[ast.cmpop], str] = {
    ast.Eq: "is not",
    ast.NotEq: "is",
    ast.Lt: "is at least",
    ast.LtE: "is greater than",
    ast.Gt: "is at most",
    ast.GtE: "is less than",
    ast.In: "is not in",
    ast.NotIn: "is in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
_PLAIN: dict[type[ast.cmpop], str] = {
    ast.Eq: "is",
    ast.NotEq: "is not",
    ast.Lt: "is less than",
    ast.LtE: "is at most",
    ast.Gt: "is greater than",
    ast.GtE: "is at least",
    ast.In: "is in",
    ast.NotIn: "is not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}
_EXITS = (ast.Return, ast.Continue, ast.Break)
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Guard:
    """`kind` is what the line does; all `conditions` must hold. `names` are the names in them, dotted parts apart."""

    kind: Literal["raise", "assert", "log"]
    conditions: tuple[str, ...]
    names: tuple[str, ...]


def guard_at(text: str, line: int) -> Guard | None:
    """What must hold for the statement at `line` of a source file; None where it neither raises nor logs.

    `line` may be any line of the statement. A text that Python cannot read has no guards.
    """
    try:
        return guard_in(ast.parse(text), line)
    except (SyntaxError, ValueError, RecursionError):
        return None


def guard_in(tree: ast.Module, line: int) -> Guard | None:
    """As `guard_at`, of a text that was parsed."""
    way = _way_to(tree, line)
    kind = _kind(way[-1]) if way else None
    if kind is None:
        return None
    conditions: list[str] = []
    tests: list[ast.expr] = []
    for parent, child in pairwise(way):
        for condition, test in _between(parent, child):
            conditions.append(condition)
            if test is not None:
                tests.append(test)
    last = way[-1]
    if isinstance(last, ast.Assert):
        conditions.append(words(last.test, holds=False))
        tests.append(last.test)
    names = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for test in tests
        for node in ast.walk(test)
        if isinstance(node, ast.Attribute | ast.Name)
    }
    return Guard(kind, tuple(conditions[-MOST:]), tuple(sorted(names)))


def _way_to(tree: ast.AST, line: int) -> list[ast.AST]:
    """The nodes from the innermost function around a line down to its statement."""
    way: list[ast.AST] = []
    node: ast.AST | None = tree
    while node is not None:
        if isinstance(node, _Function | ast.ClassDef):
            way = []
        if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case | ast.Module):
            way.append(node)
        node = next((child for child in _blocks(node) if _holds(child, line)), None)
    return way


def _blocks(node: ast.AST) -> Iterator[ast.AST]:
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        value = getattr(node, name, ())
        yield from value if isinstance(value, list) else ()


def _holds(node: ast.AST, line: int) -> bool:
    if isinstance(node, ast.match_case):
        return any(_holds(child, line) for child in node.body)
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0) or 0
    return bool(first <= line <= last)


def _kind(node: ast.AST) -> Literal["raise", "assert", "log"] | None:
    if isinstance(node, ast.Raise):
        return "raise"
    if isinstance(node, ast.Assert):
        return "assert"
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _LOGS:
        return "log"
    return None


def _between(parent: ast.AST, child: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """The conditions that lead from a statement to one inside it."""
    if isinstance(parent, ast.If):
        yield words(parent.test, holds=child in parent.body), parent.test
    elif isinstance(parent, ast.While) and child in parent.body:
        yield words(parent.test), parent.test
    elif isinstance(parent, ast.ExceptHandler):
        yield f"{_source(parent.type) if parent.type else 'any exception'} was caught", None
    elif isinstance(parent, ast.Match) and isinstance(child, ast.match_case):
        yield f"{_source(parent.subject)} is {_clipped(ast.unparse(child.pattern))}", parent.subject
        if child.guard is not None:
            yield words(child.guard), child.guard
    elif isinstance(parent, _Function):
        yield from _passed(parent.body, child)
    if isinstance(parent, ast.For | ast.AsyncFor | ast.If | ast.With | ast.Try) and child not in _handlers(parent):
        block = next((block for block in _lists(parent) if child in block), [])
        yield from _passed(block, child)


def _handlers(parent: ast.AST) -> Sequence[ast.AST]:
    return getattr(parent, "handlers", ())


def _lists(parent: ast.AST) -> Iterator[list[ast.AST]]:
    for name in ("body", "orelse", "finalbody"):
        value = getattr(parent, name, None)
        if isinstance(value, list):
            yield value


def _passed(block: object, child: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Tests before a statement of the same block that would have left it: they did not hold.

    Only those that leave in peace: each of many checks in a row would repeat that the ones before it passed.
    """
    for one in block if isinstance(block, list) else ():
        if one is child:
            return
        if isinstance(one, ast.If) and not one.orelse and isinstance(one.body[-1], _EXITS):
            yield words(one.test, holds=False), one.test


def words(test: ast.expr, *, holds: bool = True) -> str:
    """A test, or its opposite, as a reader says it: `tp_size % dp_size is not 0`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return words(test.operand, holds=not holds)
    if isinstance(test, ast.BoolOp):
        both = isinstance(test.op, ast.And) == holds
        parts = [words(value, holds=holds) for value in test.values]
        inner = [
            f"({part})" if isinstance(value, ast.BoolOp) else part
            for part, value in zip(parts, test.values, strict=True)
        ]
        return _clipped((" and " if both else " or ").join(inner))
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        said = (_PLAIN if holds else _OPPOSITE)[type(test.ops[0])]
        return _clipped(f"{_source(test.left)} {said} {_source(test.comparators[0])}")
    if isinstance(test, ast.BinOp):
        return _clipped(f"{_source(test)} is {'not 0' if holds else '0'}")
    if isinstance(test, ast.Call):
        return _clipped(f"{_source(test)} is {'true' if holds else 'false'}")
    if isinstance(test, ast.Name | ast.Attribute | ast.Subscript):
        return _clipped(f"{_source(test)} is {'set' if holds else 'not set'}")
    return _clipped(_source(test) if holds else f"not ({_source(test)})")


def _source(node: ast.expr) -> str:
    """An expression as text, without the names through which SGLang reaches its arguments."""
    text = ast.unparse(node)
    for start in ("self.server_args.", "server_args.", "self."):
        text = text.replace(start, "") if not text.startswith(f"{start}(") else text
    return text


def _clipped(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"

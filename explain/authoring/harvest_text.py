"""Source expressions to templates: the text an expression can have, with slots for runtime values.

`Evaluator.texts(node)` gives every text that the expression may have, at most `ALTERNATIVES` of them. A
text is a tuple of literals and `Slot`s. Names are followed to their assignments in the function (several
statements that build one message included), then to the module's constants and to helper functions of
the same module that return text. What cannot be known is a slot, so a template never says too much.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from explain.authoring.harvest_format import Text, braces, percent, trimmed, value_slot
from explain.templates import Slot, joined

ALTERNATIVES = 8
DEPTH = 6

Block = tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Assignment:
    """One statement that gives `name` a value; `block` is the list of statements it stands in."""

    line: int
    block: Block
    value: ast.expr | None
    adds: bool


@dataclass(slots=True)
class Scope:
    """The names of one function (or module), with the scope around it."""

    outer: Scope | None = None
    names: dict[str, list[Assignment]] = field(default_factory=dict)


def product(pieces: Sequence[Sequence[Text]]) -> list[Text]:
    """Every concatenation of one text of each piece, at most `ALTERNATIVES`."""
    combinations = itertools.islice(itertools.product(*pieces), ALTERNATIVES)
    return [joined(itertools.chain.from_iterable(one)) for one in combinations]


class Evaluator:
    """Knows one module: its constants, its helpers that return text, the class around the code."""

    def __init__(
        self,
        constants: Mapping[str, ast.expr],
        helpers: Mapping[str, Sequence[tuple[ast.expr, Scope, Block]]],
    ) -> None:
        self.constants = constants
        self.helpers = helpers

    def texts(self, node: ast.expr, scope: Scope, block: Block, line: int, depth: int = 0) -> list[Text]:
        """Every text the expression may have at this place; `[(Slot,)]` where nothing is known."""
        if depth > DEPTH:
            return [(value_slot(node),)]

        def inner(child: ast.expr) -> list[Text]:
            return self.texts(child, scope, block, line, depth + 1)

        if isinstance(node, ast.Constant):
            return [(node.value if isinstance(node.value, str) else str(node.value),)]
        if isinstance(node, ast.JoinedStr):
            return product([self._formatted(value, inner) for value in node.values])
        if isinstance(node, ast.BinOp):
            return self._operator(node, inner)
        if isinstance(node, ast.IfExp):
            return (inner(node.body) + inner(node.orelse))[:ALTERNATIVES]
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            return list(itertools.chain.from_iterable(inner(value) for value in node.values))[:ALTERNATIVES]
        if isinstance(node, ast.NamedExpr):
            return inner(node.value)
        if isinstance(node, ast.Name):
            return self._name(node, scope, block, line, depth)
        if isinstance(node, ast.Attribute) and node.attr in self.constants and node.attr.isupper():
            return inner(self.constants[node.attr])
        if isinstance(node, ast.Call):
            return self._call(node, inner, depth)
        return [(value_slot(node),)]

    def _formatted(self, node: ast.expr, inner: Callable[[ast.expr], list[Text]]) -> list[Text]:
        if isinstance(node, ast.Constant):
            return [(str(node.value),)]
        assert isinstance(node, ast.FormattedValue)
        conversion = chr(node.conversion) if node.conversion > 0 else ""
        spec = ""
        if isinstance(node.format_spec, ast.JoinedStr):
            spec = "".join(str(v.value) for v in node.format_spec.values if isinstance(v, ast.Constant))
        if isinstance(node.value, ast.Constant) and not conversion and not spec:
            return [(str(node.value.value),)]
        return [(value_slot(node.value, spec, conversion),)]

    def _operator(self, node: ast.BinOp, inner: Callable[[ast.expr], list[Text]]) -> list[Text]:
        if isinstance(node.op, ast.Add):
            return product([inner(node.left), inner(node.right)])
        if isinstance(node.op, ast.Mod):
            values: Sequence[ast.expr] = node.right.elts if isinstance(node.right, ast.Tuple) else (node.right,)
            return [percent(text, values) for text in inner(node.left)]
        if isinstance(node.op, ast.Mult):
            text, count = node.left, node.right
            if isinstance(text, ast.Constant) and isinstance(count, ast.Constant) and isinstance(text.value, str):
                return [(text.value * min(count.value, 500),)] if isinstance(count.value, int) else [(Slot(),)]
        return [(value_slot(node),)]

    def _name(self, node: ast.Name, scope: Scope, block: Block, line: int, depth: int) -> list[Text]:
        here: Scope | None = scope
        while here is not None and node.id not in here.names:
            here = here.outer
        if here is None:
            if node.id in self.constants:
                return self.texts(self.constants[node.id], Scope(), (), 0, depth + 1)
            return [(value_slot(node),)]
        found: list[Text] = []
        for assignment in here.names[node.id]:
            if here is scope and assignment.line >= line:
                break
            if assignment.value is None:
                values: list[Text] = [(value_slot(node),)]
            else:
                values = self.texts(assignment.value, here, assignment.block, assignment.line, depth + 1)
            certain = here is scope and assignment.block == block[: len(assignment.block)]
            if assignment.adds:
                longer = product([found or [(value_slot(node),)], values])
                found = longer if certain else found + longer
            else:
                found = values if certain else found + values
        unique = list(dict.fromkeys(found))
        return unique[-ALTERNATIVES:] or [(value_slot(node),)]

    def _call(self, node: ast.Call, inner: Callable[[ast.expr], list[Text]], depth: int) -> list[Text]:
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if isinstance(function, ast.Attribute):
            if name == "format":
                keywords = {k.arg: k.value for k in node.keywords if k.arg}
                return [braces(text, node.args, keywords) for text in inner(function.value)]
            if name in ("strip", "lstrip", "rstrip") and not node.args:
                return [trimmed(text, name) for text in inner(function.value)]
            if name == "join" and len(node.args) == 1:
                return self._join(inner(function.value), node.args[0], inner)
        if name in ("dedent", "cleandoc") and len(node.args) == 1:
            change = textwrap.dedent if name == "dedent" else inspect.cleandoc
            return [
                (change(text[0]),) if len(text) == 1 and isinstance(text[0], str) else text
                for text in inner(node.args[0])
            ]
        if name == "str" and len(node.args) == 1 and isinstance(node.args[0], ast.JoinedStr | ast.Constant):
            return inner(node.args[0])
        if name in self.helpers and depth < 3:
            texts: list[Text] = []
            for value, scope, block in self.helpers[name]:
                texts += self.texts(value, scope, block, value.lineno, depth + 2)
            return list(dict.fromkeys(texts))[:ALTERNATIVES] or [(value_slot(node),)]
        return [(value_slot(node),)]

    def _join(
        self,
        between: list[Text],
        values: ast.expr,
        inner: Callable[[ast.expr], list[Text]],
    ) -> list[Text]:
        if isinstance(values, ast.List | ast.Tuple) and values.elts and len(between) == 1:
            pieces: list[list[Text]] = []
            for value in values.elts:
                if pieces:
                    pieces.append(between)
                pieces.append([(value_slot(value),)] if isinstance(value, ast.Starred) else inner(value))
            return product(pieces)
        return [(value_slot(values),)]

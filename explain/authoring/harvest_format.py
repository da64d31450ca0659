"""How Python prints values: format specifications, `%` and `{}` fields, tuples, quoted text."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from explain.templates import Part, Slot, joined

PERCENT = re.compile(r"%(?:\((?P<key>\w+)\))?[-#0 +]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?(?P<type>[%diouxXeEfFgGcrsa])")
FIELD = re.compile(r"\{\{|\}\}|\{(?P<field>[^{}!:]*)(?:!(?P<conversion>[rsa]))?(?::(?P<spec>(?:[^{}]|\{[^{}]*\})*))?\}")

Text = tuple[Part, ...]
"""One text that an expression can have: literals and slots."""


def slot_name(node: ast.AST | None) -> str:
    """A short name for the value an expression has: its last attribute, variable or function name."""
    if isinstance(node, ast.Name):
        return node.id[:40]
    if isinstance(node, ast.Attribute):
        return slot_name(node.value) if node.attr in ("__name__", "shape", "value") else node.attr[:40]
    if isinstance(node, ast.Subscript | ast.Await | ast.Starred):
        return slot_name(node.value)
    if isinstance(node, ast.Call):
        name = slot_name(node.func)
        if (
            name
            in (
                "len",
                "type",
                "str",
                "repr",
                "list",
                "sorted",
                "tuple",
                "set",
                "int",
                "float",
            )
            and node.args
        ):
            inner = slot_name(node.args[0])
            return f"{name}_{inner}" if name in ("len", "type") and inner else inner
        if name in ("get", "join", "item", "tolist", "format") and isinstance(node.func, ast.Attribute):
            return slot_name(node.args[0] if name == "join" and node.args else node.func.value)
        return name
    if isinstance(node, ast.BinOp):
        return slot_name(node.left) or slot_name(node.right)
    if isinstance(node, ast.IfExp):
        return slot_name(node.body) or slot_name(node.orelse)
    if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
        return slot_name(node.generators[0].iter)
    return ""


def spec_type(spec: str, conversion: str = "") -> str:
    """The type a format specification promises: `int`, `float`, `repr` or "" (any text)."""
    if conversion == "r":
        return "repr"
    if spec.endswith("d"):
        return "int"
    if re.search(r"\.\d+[fFeEgG]?$|[fFeEgG]$", spec):
        return "float"
    return ""


def value_slot(node: ast.expr | None, spec: str = "", conversion: str = "") -> Slot:
    """The slot for the value of an expression printed with a format specification."""
    kind = spec_type(spec, conversion)
    if not kind and isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        kind = "int"
    return Slot(slot_name(node), kind)


def tuple_text(elements: Sequence[Text]) -> Text:
    """How a tuple of these texts prints."""
    parts: list[Part] = ["("]
    for number, element in enumerate(elements):
        parts += [", "] if number else []
        parts += element if len(element) == 1 and isinstance(element[0], Slot) else quoted(element)
    return joined([*parts, ",)" if len(elements) == 1 else ")"])


def quoted(text: Text) -> Text:
    """The text as `repr` prints it. Where it has slots the quotes may be either, so slots stand for them."""
    inside = [
        part.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t") if isinstance(part, str) else part
        for part in text
    ]
    if any(isinstance(part, Slot) for part in text):
        return joined([Slot("quote"), *inside, Slot("quote")])
    literal = "".join(part for part in text if isinstance(part, str))
    if "'" in literal and '"' not in literal:
        return joined(['"', *inside, '"'])
    return joined(["'", *(part.replace("'", "\\'") for part in inside if isinstance(part, str)), "'"])


def trimmed(text: Text, how: str) -> Text:
    parts = list(text)
    if parts and how != "rstrip" and isinstance(parts[0], str):
        parts[0] = parts[0].lstrip()
    if parts and how != "lstrip" and isinstance(parts[-1], str):
        parts[-1] = parts[-1].rstrip()
    return joined(parts)


def with_slots(text: Text, field: re.Pattern[str], part_for: Callable[[re.Match[str]], Part]) -> Text:
    """The text with what `part_for` makes of each field in its literals."""
    parts: list[Part] = []
    for part in text:
        if isinstance(part, Slot):
            parts.append(part)
            continue
        position = 0
        for found in field.finditer(part):
            parts += (part[position : found.start()], part_for(found))
            position = found.end()
        parts.append(part[position:])
    return joined(parts)


def percent(text: Text, values: Iterable[ast.expr]) -> Text:
    """The text with its `%` fields replaced by slots."""
    remaining = iter(values)

    def part_for(found: re.Match[str]) -> Part:
        kind = found["type"]
        if kind == "%":
            return "%"
        name = found["key"] or slot_name(next(remaining, None))
        return Slot(name, {"d": "int", "i": "int", "r": "repr"}.get(kind, "float" if kind in "eEfFgG" else ""))

    return with_slots(text, PERCENT, part_for)


def braces(text: Text, values: Sequence[ast.expr], keywords: Mapping[str, ast.expr]) -> Text:
    """The text with the fields of `str.format` replaced by slots."""
    count = 0

    def part_for(found: re.Match[str]) -> Part:
        nonlocal count
        name = found["field"]
        if name is None:
            return found.group()[0]
        key = re.split(r"[.\[]", name)[0]
        index = int(key) if key.isdigit() else count
        count += not key
        value = keywords.get(key) or (values[index] if not key.isidentifier() and index < len(values) else None)
        label = name if name.isidentifier() else slot_name(value)
        return Slot(label, spec_type(found["spec"] or "", found["conversion"] or ""))

    return with_slots(text, FIELD, part_for)

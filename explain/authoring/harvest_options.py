"""How one release defines its command-line flags, server arguments and environment variables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

ENVIRONMENT_NAME = re.compile(r"SGL(?:ANG)?_[A-Z][A-Z0-9_]*[A-Z0-9]")


@dataclass(frozen=True, slots=True)
class Flag:
    """One command-line flag as one release defines it. `default` and `choices` are JSON values."""

    name: str
    command: str
    aliases: tuple[str, ...] = ()
    field: str = ""
    default: Any = None
    choices: tuple[Any, ...] = ()
    renamed_to: str = ""
    deprecated: bool = False
    alias_of: str = ""


def constants_of(trees: Iterable[ast.Module]) -> dict[str, Any]:
    """Module-level names with a literal value: choices are often held in one."""
    found: dict[str, Any] = {}
    for tree in trees:
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                value = literal(node.value, found)
                if value is not None:
                    found[node.targets[0].id] = value
    return found


def literal(node: ast.expr | None, names: Mapping[str, Any]) -> Any:
    """The JSON value of an expression, None where it is none or unknown."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str | int | float | bool) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = literal(node.operand, names)
        return -value if isinstance(value, int | float) else None
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        values = [literal(element, names) for element in node.elts]
        return values if all(value is not None for value in values) else None
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = literal(node.left, names), literal(node.right, names)
        return left + right if isinstance(left, list) and isinstance(right, list) else None
    return None


def parse(text: str) -> ast.Module | None:
    """The syntax tree, None where the file does not parse (the harvest names such files)."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return None


def metadata(annotation: ast.expr | None) -> ast.expr | None:
    """The help text or `Arg(...)` of an `A[type, …]` annotation, None for a plain annotation."""
    if not isinstance(annotation, ast.Subscript) or getattr(annotation.value, "id", "") not in (
        "A",
        "Annotated",
    ):
        return None
    elements = annotation.slice.elts[1:] if isinstance(annotation.slice, ast.Tuple) else []
    for element in elements:
        if isinstance(element, ast.Call) and getattr(element.func, "id", "") == "Arg":
            return element
        if isinstance(element, ast.Constant | ast.JoinedStr | ast.BinOp):
            return element
    return None


def server_fields(trees: Iterable[ast.Module]) -> dict[str, ast.expr | None]:
    """The fields of `ServerArgs` in the order they are printed, with their defaults.

    They are the class's own, those of the namespace classes it is put together from (0.5.20 and later), in
    the order that a tuple beside them fixes.
    """
    fields: dict[str, ast.expr | None] = {}
    order: list[str] = []
    for tree in trees:
        for node in tree.body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "POSITIONAL_FIELD_ORDER":
                order = literal(node.value, {}) or []
            if not isinstance(node, ast.ClassDef):
                continue
            namespace = any(
                isinstance(item, ast.Assign) and getattr(item.targets[0], "id", "") == "_NS_PATH" for item in node.body
            )
            if node.name != "ServerArgs" and not namespace:
                continue
            for item in node.body:
                if (
                    isinstance(item, ast.AnnAssign)
                    and isinstance(item.target, ast.Name)
                    and "ClassVar" not in ast.unparse(item.annotation)
                ):
                    fields[item.target.id] = item.value
    place = {name: number for number, name in enumerate(order)}
    return dict(sorted(fields.items(), key=lambda entry: place.get(entry[0], len(place))))


def annotated_flags(tree: ast.Module, names: Mapping[str, Any]) -> Iterator[Flag]:
    """The flags that fields declare in their annotation."""
    for node in tree.body:
        if not isinstance(node, ast.ClassDef):
            continue
        for item in node.body:
            if not isinstance(item, ast.AnnAssign) or not isinstance(item.target, ast.Name):
                continue
            argument = metadata(item.annotation)
            if argument is None:
                continue
            name = item.target.id
            options: dict[str, ast.expr] = {}
            if isinstance(argument, ast.Call):
                options = {keyword.arg: keyword.value for keyword in argument.keywords if keyword.arg}
            if literal(options.get("no_cli"), names):
                continue
            spelled = literal(options.get("cli_name"), names) or "--" + name.replace("_", "-")
            choices = literal(options.get("choices"), names) or literal_type(item.annotation)
            action = options.get("action")
            extra = options.get("action_kwargs")
            renamed = next(
                (
                    str(literal(v, names))
                    for k, v in zip(extra.keys, extra.values, strict=True)
                    if literal(k, names) == "new_flag"
                )
                if isinstance(extra, ast.Dict)
                else iter(()),
                "",
            )
            yield Flag(
                str(spelled),
                "server",
                tuple(literal(options.get("aliases"), names) or ()),
                name,
                literal(item.value, names),
                tuple(choices or ()),
                renamed,
                "Deprecated" in ast.unparse(action) if action is not None else False,
            )


def literal_type(annotation: ast.expr) -> list[Any]:
    """The values of a `Literal[...]` inside an annotation."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "Literal":
            elements = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return [element.value for element in elements if isinstance(element, ast.Constant)]
    return []


def argparse_flags(
    tree: ast.Module, command: str, names: Mapping[str, Any], fields: Mapping[str, ast.expr | None]
) -> Iterator[Flag]:
    """The flags that `add_argument` calls define."""
    for node in ast.walk(tree):
        if not (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"
        ):
            continue
        spelled = [a.value for a in node.args if isinstance(a, ast.Constant) and str(a.value).startswith("--")]
        if not spelled:
            continue
        options = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        name = str(spelled[0])
        field_name = literal(options.get("dest"), names) or name[2:].replace("-", "_")
        default = options.get("default")
        if isinstance(default, ast.Attribute) and default.attr in fields:
            default = fields[default.attr]
            field_name = literal(options.get("dest"), names) or options["default"].attr  # type: ignore[attr-defined]
        elif isinstance(default, ast.Call) and default.args and isinstance(default.args[0], ast.Constant):
            default = fields.get(str(default.args[0].value))
        action = ast.unparse(options["action"]) if "action" in options else ""
        value = literal(default, names)
        if value is None and "store_true" in action:
            value = False
        choices = literal(options.get("choices"), names)
        help_text = literal(options.get("help"), names)
        renamed = str(literal(options.get("new_flag"), names) or "")
        deprecated = "Deprecated" in action or str(help_text or "").lower().startswith(
            ("deprecated", "(deprecated", "[deprecated")
        )
        if deprecated and not renamed and help_text:
            found = re.search(r"[Uu]se [`'\"]?(--[a-z0-9-]+)", str(help_text))
            renamed = found[1] if found else ""
        yield Flag(
            name,
            command,
            tuple(str(other) for other in spelled[1:]),
            str(field_name),
            value,
            tuple(choices if isinstance(choices, list) else ()),
            renamed,
            deprecated,
        )


def environment_defaults(text: str) -> dict[str, Any]:
    """The variables that `environ.py` declares, with their defaults."""
    tree = parse(text)
    found: dict[str, Any] = {}
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call):
            name = node.targets[0].id
            if ENVIRONMENT_NAME.fullmatch(name):
                found[name] = literal(node.value.args[0], {}) if node.value.args else None
    return found

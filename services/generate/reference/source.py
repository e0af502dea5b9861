"""The syntax trees of our own source, for what is declared by being written there."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
PACKAGES = ("events", "services")


@cache
def modules() -> tuple[tuple[str, ast.Module], ...]:
    """Every module that runs in a service, by its dotted name, in order."""
    paths = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    named = ((".".join(path.relative_to(ROOT).with_suffix("").parts), path) for path in paths)
    return tuple((name, ast.parse(path.read_text())) for name, path in named if ".generate" not in name)


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.expr, ast.Call]]:
    """The method's name, what it is called on, and the call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield node.func.attr, node.func.value, node


def constants(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    """Name, value and docstring of each text constant of a module."""
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str(value))):
                yield name, value, _docstring(after)
            case _:
                pass


def _docstring(node: ast.stmt | None) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return text
        case _:
            return ""

"""The house rules that a formatter cannot hold: why a file exists, how long it may be, who runs what."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.compose import SERVICES

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for package in ("schemas", "events", "services") for path in (ROOT / package).rglob("*.py"))
LONGEST_FILE = 300
LONGEST_BODY = 30
Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def lines(node: ast.stmt) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


def body(function: Function) -> int:
    """Lines of its own: without its docstring, and without the functions within it, which are counted themselves."""
    statements = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not statements:
        return 0
    inner = [each for statement in statements for each in functions(statement)]
    outermost = [one for one in inner if not any(one is not other and one in ast.walk(other) for other in inner)]
    return statements[-1].end_lineno - statements[0].lineno + 1 - sum(map(lines, outermost))


def test_every_file_begins_with_one_sentence_that_says_why_it_exists():
    firsts = {path: path.read_text().split("\n")[0] for path in SOURCES}
    wrong = {
        str(path.relative_to(ROOT)): line
        for path, line in firsts.items()
        if not re.match(r'"""\S.*[.]("""$|$)', line) or re.search(r"[.!?] [A-Z]", line)
    }
    assert wrong == {}


def test_no_file_is_too_long_to_be_read_at_once():
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in SOURCES}
    assert {path: length for path, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_function_is_too_long_to_be_understood_at_a_glance():
    bodies = {
        f"{path.relative_to(ROOT)}: {function.name}": body(function)
        for path in SOURCES
        for function in functions(ast.parse(path.read_text()))
    }
    assert {name: length for name, length in bodies.items() if length > LONGEST_BODY} == {}


def test_a_functions_length_is_counted_as_it_is_meant():
    inner = "def outer():\n    '''Why.'''\n    a = 1\n    def inner():\n        return a\n    return inner\n"
    assert body(ast.parse(inner).body[0]) == 2
    assert body(ast.parse("def f():\n    '''Only why.'''\n").body[0]) == 0
    assert body(ast.parse("def f():\n" + "    x = 1\n" * 31).body[0]) == 31


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_its_line_in_the_procfile(name):
    commands = dict(line.split(": ", 1) for line in (ROOT / "Procfile").read_text().splitlines() if ": " in line)
    assert commands.get(name) == f"python -m services {name}"

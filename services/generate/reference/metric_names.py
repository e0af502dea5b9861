"""Every metric with its kind, labels and meaning, from the constants that name them and the calls that count them."""

import ast
import re
from collections.abc import Mapping
from functools import cache

from events.meters import labels_of
from schemas.generate.text import table
from services.generate.reference import markdown
from services.generate.reference.markdown import code, text
from services.generate.reference.source import calls, constants, modules

METRIC = re.compile(r"(?!alate\.dev$)(alate|messaging)(\.[a-z_]+)+")
"""The form of a metric's name; `alate.dev` is the API group."""
INTRO = (
    "Each process serves its metrics for Prometheus on `/metrics` of its health address, and sends them over OTLP "
    "where `ALATE_OTLP_ENDPOINT` is set. The names are those of OpenTelemetry; the name in Prometheus stands beside. "
    "Label values come from the code or from declarations, never from a message; beyond 500 values it is `other`."
)
KINDS: Mapping[str, str] = {"count": "counter", "took": "histogram", "gauge": "gauge"}
"""What a metric is, by the method it is given to."""
NAMES: Mapping[str, str] = {"counter": "{}_total", "histogram": "{}_seconds", "gauge": "{}"}
SAMPLE = "one.two.three"
"""A label value with as many parts as any has."""


def page() -> str:
    """The page."""
    rows = [_row(name, doc) for name, doc in sorted(declared().items())]
    return markdown.page("Metrics", INTRO, table(("Metric", "In Prometheus", "Kind", "Labels", "Meaning"), rows))


def _row(name: str, doc: str) -> tuple[str, ...]:
    kind = kinds().get(name, "gauge")
    labels = "" if kind == "gauge" else ", ".join(map(code, labels_of(name, SAMPLE)))
    return code(name), code(NAMES[kind].format(name.replace(".", "_"))), kind, labels, text(doc)


@cache
def declared() -> dict[str, str]:
    """The meaning of each metric, by name: a constant and its docstring."""
    found = (each for _, tree in modules() for each in constants(tree))
    return {value: doc for _, value, doc in found if METRIC.fullmatch(value)}


@cache
def kinds() -> dict[str, str]:
    """The kind of each metric that is given to a method by its constant."""
    return {
        known[call.args[0].id]: KINDS[method]
        for _, tree in modules()
        for known in (_known(tree),)
        for method, _, call in calls(tree)
        if method in KINDS and call.args and isinstance(call.args[0], ast.Name) and call.args[0].id in known
    }


def _known(tree: ast.Module) -> dict[str, str]:
    """The text constants that a module may name: those it imports, and its own."""
    trees = dict(modules())
    imported = {
        alias.asname or alias.name: value
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module in trees
        for alias in node.names
        for name, value, _ in constants(trees[node.module])
        if name == alias.name
    }
    return imported | {name: value for name, value, _ in constants(tree)}

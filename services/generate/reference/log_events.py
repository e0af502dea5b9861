"""Every log event with its level, fields and place, found in the source where it is logged."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from schemas.generate.text import table
from services.generate.reference import markdown
from services.generate.reference.markdown import code
from services.generate.reference.source import calls, modules

LEVELS = ("debug", "info", "warning", "error", "exception")
LOGGERS = ("log", "_log")
DOTTED = re.compile(r"[a-z_]+|<[a-z]+>")
INTRO = (
    "Logs are one event per line on standard error: as JSON (`ALATE_LOG_FORMAT=json`), or for people on a terminal. "
    "Every line has `event`, `level`, `timestamp` and `service`; where an entity is worked on also `entity`, and "
    "`trace_id` if its trace is sampled. Values of fields named like a secret are shown as `[hidden]`. The level "
    "`exception` is logged as `error` with a stack. Names and fields are stable; messages in `reason` are not."
)


@dataclass
class Logged:
    """One event, wherever it is logged."""

    levels: set[str] = field(default_factory=set)
    fields: dict[str, None] = field(default_factory=dict)
    places: dict[str, None] = field(default_factory=dict)


def page() -> str:
    """The page."""
    rows = [(code(name), *_cells(each)) for name, each in sorted(logged().items())]
    return markdown.page("Log events", INTRO, table(("Event", "Level", "Fields", "Logged in"), rows))


def _cells(each: Logged) -> tuple[str, str, str]:
    levels = ", ".join(sorted(each.levels, key=LEVELS.index))
    return levels, ", ".join(map(code, each.fields)), ", ".join(map(code, each.places))


def logged() -> dict[str, Logged]:
    """Every event by its name."""
    found: dict[str, Logged] = {}
    for module, tree in modules():
        for name, level, call in _events(tree):
            each = found.setdefault(name, Logged())
            each.levels.add(level)
            each.fields |= dict.fromkeys(kw.arg for kw in call.keywords if kw.arg and kw.arg != "exc_info")
            each.places[".".join(module.split(".")[:2])] = None
    return found


def _events(tree: ast.Module) -> Iterator[tuple[str, str, ast.Call]]:
    for level, logger, call in calls(tree):
        if level in LEVELS and call.args and _called(logger) in LOGGERS:
            name = _name(call.args[0])
            if "." in name and all(map(DOTTED.fullmatch, name.split("."))):
                yield name, level, call


def _called(logger: ast.expr) -> str:
    match logger:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _name(argument: ast.expr) -> str:
    """An event's name; what is put into it when it is logged stands in angle brackets."""
    match argument:
        case ast.Constant(value=str(name)):
            return name
        case ast.JoinedStr(values=parts):
            return "".join(map(_part, parts))
        case _:
            return ""


def _part(part: ast.expr) -> str:
    match part:
        case ast.FormattedValue(value=ast.Name(id=name) | ast.Attribute(attr=name)):
            return f"<{name.strip('_')}>"
        case ast.FormattedValue():
            return "<event>"
        case _:
            return _name(part)

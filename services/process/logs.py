"""Structured logs: one event with fields per line, secrets redacted."""

import logging
import re
import sys
from collections.abc import MutableMapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Literal, TextIO

import msgspec
import structlog
from structlog.typing import EventDict, Processor

from events.telemetry import working

HIDDEN = "[hidden]"
SECRET = re.compile(
    r"token|password|passwd|secret|kubeconfig|authorization|credential|private.?key|cookie", re.IGNORECASE
)
"""Names of fields whose value is never shown, even if it only names a Secret."""
_BEARER = re.compile(r"\b(Bearer|Basic)\s+[\w.~+/=-]{8,}")
_PLAIN = frozenset({str, bool, int, float, type(None)})

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def redact(_: object, __: str, event: EventDict) -> EventDict:
    """Hide the values of fields named like a secret, at any depth, and Authorization headers inside texts."""
    if _harmless(event):
        return event
    return {key: _shown(key, value) for key, value in event.items()}


def _harmless(event: EventDict) -> bool:
    """Whether one look at all fields together shows that there is nothing to hide: nearly always."""
    if _secretive(tuple(event)) or not _PLAIN.issuperset(map(type, event.values())):
        return False
    text = "".join(map(str, event.values()))
    return "Bearer" not in text and "Basic" not in text


@lru_cache(maxsize=1024)
def _secretive(names: tuple[str, ...]) -> bool:
    return any(map(SECRET.search, names))


def _shown(key: object, value: object) -> object:
    if isinstance(key, str) and SECRET.search(key) and not isinstance(value, bool | int | float | None):
        return HIDDEN
    if isinstance(value, str):
        return _BEARER.sub(rf"\1 {HIDDEN}", value)
    if isinstance(value, dict):
        return {k: _shown(k, v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_shown("", v) for v in value]
    return value


def whereabouts(_: object, __: str, event: EventDict) -> EventDict:
    """Which entity this task works on, and in which trace."""
    work = working()
    if work is not None:
        event.setdefault("entity", "/".join(work.key))
        if work.trace.sampled:
            event.setdefault("trace_id", work.trace.parent[3:35])
    return event


def stamp(_: object, __: str, event: EventDict) -> EventDict:
    """When it was, as structlog's own stamp for a tenth of its cost."""
    event["timestamp"] = msgspec.to_builtins(datetime.now(UTC))
    return event


def _named(service: str) -> Processor:
    def add(_: object, __: str, event: MutableMapping[str, object]) -> EventDict:
        event.setdefault("service", service)
        return event

    return add


def _json(event: EventDict, **_: object) -> str:
    return msgspec.json.encode(event, enc_hook=str).decode()


def set_up(
    service: str, *, form: Literal["console", "json"], level: str = "info", stream: TextIO | None = None
) -> None:
    """Log to `stream` (standard error), once per process; what libraries log comes along from warning on."""
    out = stream or sys.stderr
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        whereabouts,
        _named(service),
        structlog.processors.add_log_level,
        stamp,
        structlog.processors.format_exc_info,
        redact,
    ]
    renderer: Processor = (
        structlog.processors.JSONRenderer(serializer=_json)
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=out.isatty(), exception_formatter=structlog.dev.plain_traceback)
    )
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(out),
        cache_logger_on_first_use=True,
    )
    _route_libraries(shared, renderer, out)


def _route_libraries(shared: list[Processor], renderer: Processor, out: TextIO) -> None:
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)

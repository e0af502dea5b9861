"""Trace context that travels with every message, cheap while nobody records it."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from random import Random
from types import TracebackType
from typing import Literal, NamedTuple, Protocol

from events.bus import Stored
from events.meters import OTHER, Meters
from events.streams import HOOK, NOTIFICATION
from schemas.registry import declarations
from schemas.subjects import Key

__all__ = [
    "Meters",
    "Span",
    "Spans",
    "Trace",
    "TracedWork",
    "extract",
    "hearing",
    "inject",
    "sending",
    "working",
    "working_on",
]

TRACEPARENT = "traceparent"
TRACESTATE = "tracestate"
ID = "ce-id"
LOGS = {"hook": HOOK, "outbound": NOTIFICATION}
"""Templates of what no service declares, by first token: it is kept as it came."""

# W3C Trace Context: version ff and ids of zeros only are invalid; a version above 00 may say more behind a dash.
_VALID = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?")
_SAMPLED = frozenset("13579bdf")
_NOT_ZERO = 1 << 64 | 1

SpanKind = Literal["producer", "consumer"]


class Trace(NamedTuple):
    """The trace context of a message as W3C headers; empty: no trace yet."""

    parent: str = ""
    state: str = ""

    @property
    def id(self) -> str:
        """The trace's, of 32 hexadecimal digits."""
        return self.parent[3:35]

    @property
    def sampled(self) -> bool:
        """Whether the trace is sampled."""
        return self.parent[54:55] in _SAMPLED

    @property
    def example(self) -> str:
        """What a figure names as its example: the id of one that is sampled, else nothing."""
        return self.id if self.sampled else ""


NOWHERE = Trace()


class Span(Protocol):
    """One operation of a sampled trace, begun."""

    @property
    def trace(self) -> Trace:
        """The trace context of messages that are sent within it."""
        ...

    def end(self, error: BaseException | None) -> None:
        """End the span, with an error if there was one."""
        ...


class Spans(Protocol):
    """Makes spans; `services.process.telemetry` has the one that exports them."""

    def start(self, what: "What", parent: Trace) -> Span:
        """Begin ``<operation> <template>``; an empty `parent` begins a trace."""
        ...


class What(NamedTuple):
    """The attributes of a span."""

    operation: str
    kind: SpanKind
    template: str
    message: str = ""
    """The id of the message; empty: of none, or not known."""
    link: Trace = NOWHERE
    """Where else it was decided: in another trace than its own."""


class TracedWork(NamedTuple):
    """The work of this task, for its logs and for the messages that it sends."""

    key: Key
    trace: Trace


_work: ContextVar[TracedWork | None] = ContextVar("work", default=None)


@dataclass
class Tracing:
    """Decides once per trace, at its root, whether it is sampled; everybody after keeps to that."""

    ratio: float = 0.0
    """How many of the traces that begin here are sampled, 0 to 1."""
    spans: Spans | None = None
    random: Random = field(default_factory=Random)

    def enter(self, what: What, trace: Trace) -> tuple[Trace, Span | None]:
        """The trace to continue, and a span if it is sampled and exported."""
        wanted = trace.sampled if trace.parent else self.random.random() < self.ratio
        if wanted and self.spans is not None:
            span = self.spans.start(what, trace)
            return span.trace, span
        return (trace, None) if trace.parent else (self.unsampled(), None)

    def unsampled(self) -> Trace:
        """A new trace that says: decided, not sampled."""
        ids = (self.random.getrandbits(192) | _NOT_ZERO).to_bytes(24, "big").hex()
        return Trace(f"00-{ids[:32]}-{ids[32:]}-00")


tracing = Tracing()
"""This process's; set up once, before the first message."""


def extract(headers: Mapping[str, str]) -> Trace:
    """The trace context of a message; `NOWHERE` if it is missing or malformed."""
    parent = headers.get(TRACEPARENT)
    if parent is None or not _VALID.fullmatch(parent):
        return NOWHERE
    return Trace(parent, headers.get(TRACESTATE, ""))


def inject(headers: dict[str, str]) -> dict[str, str]:
    """Put the current trace into a message's headers; gives the same headers."""
    work = _work.get()
    return _carry(headers, work.trace if work is not None else tracing.unsampled())


def _carry(headers: dict[str, str], trace: Trace) -> dict[str, str]:
    headers[TRACEPARENT] = trace.parent
    if trace.state:
        headers[TRACESTATE] = trace.state
    return headers


def working() -> TracedWork | None:
    """The work of this task, as `working_on` set it."""
    return _work.get()


class _Working:
    __slots__ = ("_key", "_span", "_template", "_token", "_trace")

    def __init__(self, key: Key, trace: Trace, template: str) -> None:
        self._key, self._trace, self._template = key, trace, template
        self._span: Span | None = None

    def __enter__(self) -> None:
        trace = self._trace
        if trace.sampled or not trace.parent:
            trace, self._span = tracing.enter(What("process", "consumer", self._template), trace)
        self._token: Token[TracedWork | None] = _work.set(TracedWork(self._key, trace))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        _work.reset(self._token)
        if self._span is not None:
            self._span.end(error)


def working_on(key: Key, trace: Trace = NOWHERE, template: str = OTHER) -> _Working:
    """While this lasts, logs name the entity and messages carry its trace.

    `trace` is what the message that caused the work came with, `template` its subject's template.
    """
    return _Working(key, trace, template)


@contextmanager
def hearing(key: Key, stored: Stored, meters: Meters, clock: Callable[[], datetime]) -> Iterator[None]:
    """Wraps the work on one message: it is counted and timed, and continues the message's trace."""
    template, trace, started = template_of(stored.subject), extract(stored.headers), meters.timer()
    meters.consumed(template, (clock() - stored.time).total_seconds(), trace.example)
    with working_on(key, trace, template):
        yield
    lag = (clock() - stored.time).total_seconds()
    meters.processed(template, meters.timer() - started, lag, trace.example)


class _Sending:
    __slots__ = ("_headers", "_meters", "_own", "_span", "_started", "_template")

    def __init__(self, subject: str, headers: dict[str, str], meters: Meters, own: Trace) -> None:
        self._template, self._headers, self._meters, self._own = template_of(subject), headers, meters, own
        self._span: Span | None = None

    def __enter__(self) -> None:
        work = _work.get()
        trace, link = _joined(self._own, work.trace if work is not None else NOWHERE)
        if trace.sampled or not trace.parent:
            what = What("send", "producer", self._template, self._headers.get(ID, ""), link)
            trace, self._span = tracing.enter(what, trace)
        _carry(self._headers, trace)
        self._started = self._meters.timer()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if error is None:
            example = self._span.trace.id if self._span is not None else ""
            self._meters.sent(self._template, self._meters.timer() - self._started, example)
        if self._span is not None:
            self._span.end(error)


def _joined(own: Trace, work: Trace) -> tuple[Trace, Trace]:
    """The trace that a message continues, and the one it links to: an entity stays in its own trace."""
    if not own.parent or own.id == work.id:
        return work, NOWHERE
    return own, work if work.sampled else NOWHERE


def sending(subject: str, headers: dict[str, str], meters: Meters, own: Trace = NOWHERE) -> _Sending:
    """Wraps one publish: its headers get the trace context, it is timed, and if sampled it is a PRODUCER span.

    `own` is the trace of its entity's life: any other trace becomes a link.
    """
    return _Sending(subject, headers, meters, own)


def template_of(subject: str) -> str:
    """The declared template of a subject, e.g. ``cluster.ready.{tenant}.{name}``; ``other`` if it is not ours."""
    end = subject.find(".", subject.find(".") + 1)
    return _template(subject if end < 0 else subject[:end], subject.count("."))


@lru_cache(maxsize=1024)
def _template(prefix: str, dots: int) -> str:
    """By the first two tokens and the length: intake and the entity it asks for differ in nothing else."""
    first, _, second = prefix.partition(".")
    if first in {"due", "timer"} and any(d.domain == second for d in declarations()):
        return f"{prefix}.{{tenant}}.{{name}}"
    if first in LOGS:
        return LOGS[first]
    for declaration in declarations():
        for template in declaration.subjects:
            if template.count(".") == dots and f"{template}.".startswith(f"{prefix}."):
                return template
    return OTHER

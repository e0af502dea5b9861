"""The annotations of a Colony that name the event it was made of, and the one that released it, with their traces."""

from collections.abc import Callable, Mapping

from events.kube.port import Object
from events.telemetry import TRACEPARENT, TRACESTATE, Trace, extract
from services.gateway.wishes import EVENT_ANNOTATION, RELEASE_ANNOTATION
from services.kubernetes.labels import GROUP

MANAGER = "alate-gateway"
"""The field manager of the gateway."""


def event_annotations(event: str, trace: Trace) -> Mapping[str, str]:
    """The annotations of a Colony made of this event, which came in this trace; deterministic."""
    return _without_empty(
        {EVENT_ANNOTATION: event, _event_header(TRACEPARENT): trace.parent, _event_header(TRACESTATE): trace.state}
    )


def release_annotations(event: str, trace: Trace) -> Mapping[str, str]:
    """The annotations of a Colony that this event releases; deterministic."""
    return _without_empty(
        {
            RELEASE_ANNOTATION: event,
            _release_header(TRACEPARENT): trace.parent,
            _release_header(TRACESTATE): trace.state,
        }
    )


def trace_of(meta: Object) -> Trace:
    """The trace of the event that a Colony was made of, by its metadata; `NOWHERE` if it was made by hand."""
    return _trace(meta, _event_header)


def release_trace_of(meta: Object) -> Trace:
    """The trace of the event that released a Colony; `NOWHERE` if it was deleted by hand."""
    return _trace(meta, _release_header)


def _without_empty(said: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in said.items() if value}


def _trace(meta: Object, name: Callable[[str], str]) -> Trace:
    written = meta.get("annotations", {})
    return extract({header: written.get(name(header), "") for header in (TRACEPARENT, TRACESTATE)})


def _event_header(header: str) -> str:
    return f"{GROUP}/{header}"


def _release_header(header: str) -> str:
    return f"{GROUP}/release-{header}"

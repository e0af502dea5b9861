"""What a Colony was made of, and let go by, stands on it as annotations, so that it can be followed back."""

from collections.abc import Callable, Mapping

from events.kube.port import Object
from events.telemetry import TRACEPARENT, TRACESTATE, Trace, extract
from services.clouds.labels import GROUP
from services.gateway.wishes import EVENT, RELEASE

MANAGER = "alate-gateway"
"""Whose fields those are that the gateway writes."""


def marks(event: str, trace: Trace) -> Mapping[str, str]:
    """The annotations of a Colony made of this event, which came in this trace. Made again, they are the same."""
    return _written({EVENT: event, _made(TRACEPARENT): trace.parent, _made(TRACESTATE): trace.state})


def release_marks(event: str, trace: Trace) -> Mapping[str, str]:
    """The annotations of a Colony let go by this event. Written again, they are the same."""
    return _written({RELEASE: event, _released(TRACEPARENT): trace.parent, _released(TRACESTATE): trace.state})


def trace_of(meta: Object) -> Trace:
    """The trace of the event that a Colony was made of, by its metadata; `NOWHERE` if it was made by hand."""
    return _read(meta, _made)


def release_of(meta: Object) -> Trace:
    """The trace of the event that a Colony was let go by; `NOWHERE` if it was deleted by hand."""
    return _read(meta, _released)


def _written(said: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in said.items() if value}


def _read(meta: Object, name: Callable[[str], str]) -> Trace:
    written = meta.get("annotations", {})
    return extract({header: written.get(name(header), "") for header in (TRACEPARENT, TRACESTATE)})


def _made(header: str) -> str:
    return f"{GROUP}/{header}"


def _released(header: str) -> str:
    return f"{GROUP}/release-{header}"

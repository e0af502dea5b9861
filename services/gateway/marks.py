"""What a Colony was made of stands on it as annotations, so that what comes of it can be followed back."""

from collections.abc import Mapping

from events.kube_port import Object
from events.telemetry import TRACEPARENT, TRACESTATE, Trace, extract
from services.clouds.marks import GROUP
from services.gateway.wishes import EVENT


def marks(event: str, trace: Trace) -> Mapping[str, str]:
    """The annotations of a Colony made of this event, which came in this trace. Made again, they are the same."""
    said = {EVENT: event, _of(TRACEPARENT): trace.parent, _of(TRACESTATE): trace.state}
    return {name: value for name, value in said.items() if value}


def trace_of(meta: Object) -> Trace:
    """The trace of the event that a Colony was made of, by its metadata; `NOWHERE` if it was made by hand."""
    written = meta.get("annotations", {})
    return extract({name: written.get(_of(name), "") for name in (TRACEPARENT, TRACESTATE)})


def _of(header: str) -> str:
    return f"{GROUP}/{header}"

"""Exports sampled messages as OpenTelemetry spans, by the conventions for messaging."""

from collections.abc import Callable

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    TraceState,
    set_span_in_context,
)
from opentelemetry.trace import Span as OtelSpan

from events.telemetry import Span, Trace, What

KINDS = {"producer": SpanKind.PRODUCER, "consumer": SpanKind.CONSUMER}


class _Span:
    """One span of the SDK, as `events.telemetry` wants it."""

    def __init__(self, span: OtelSpan) -> None:
        self._span = span
        context = span.get_span_context()
        parent = f"00-{context.trace_id:032x}-{context.span_id:016x}-01"
        self.trace = Trace(parent, context.trace_state.to_header())

    def end(self, error: BaseException | None) -> None:
        if error is not None:
            self._span.set_attribute("error.type", type(error).__qualname__)
            self._span.set_status(Status(StatusCode.ERROR, str(error)))
        self._span.end()


class OtelSpans:
    """Makes spans of a provider; whether a trace is sampled was decided before (`events.telemetry.Tracing`)."""

    def __init__(self, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer("alate")

    def start(self, what: What, parent: Trace) -> Span:
        attributes = {
            "messaging.system": "nats",
            "messaging.operation.name": what.operation,
            "messaging.operation.type": what.operation,
            "messaging.destination.template": what.template,
        }
        if what.message:
            attributes["messaging.message.id"] = what.message
        context = set_span_in_context(NonRecordingSpan(_context(parent))) if parent.parent else None
        links = [Link(_context(what.link))] if what.link.parent else []
        name = f"{what.operation} {what.template}"
        return _Span(self._tracer.start_span(name, context, KINDS[what.kind], attributes, links))


def _context(trace: Trace) -> SpanContext:
    _, trace_id, span_id, *_ = trace.parent.split("-")
    state = TraceState.from_header([trace.state]) if trace.state else TraceState()
    return SpanContext(int(trace_id, 16), int(span_id, 16), True, TraceFlags(TraceFlags.SAMPLED), state)  # noqa: FBT003 - the API's own order


def spans_into(processor: SpanProcessor, service: str) -> tuple[OtelSpans, Callable[[], None]]:
    """Spans that go to a processor, and what to call at the end."""
    provider = TracerProvider(ALWAYS_ON, Resource({SERVICE_NAME: service}), shutdown_on_exit=False)
    provider.add_span_processor(processor)
    return OtelSpans(provider), provider.shutdown


def exported(endpoint: str, service: str) -> tuple[OtelSpans, Callable[[], None]]:
    """Spans sent to an OTLP endpoint over HTTP, e.g. ``http://127.0.0.1:4318``."""
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
    return spans_into(BatchSpanProcessor(exporter), service)

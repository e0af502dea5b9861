"""Sets OpenTelemetry up when it is configured; its SDK takes 20 MB."""

from collections.abc import Callable
from importlib import import_module

from events.meters import Meters
from events.telemetry import tracing
from services.process.health import Exposition
from services.process.settings import Settings


def set_up(settings: Settings, service: str, meters: Meters) -> Callable[[], None]:
    """Export traces and metrics of one process if `settings` name an endpoint; gives what to call at its end.

    Call it once, before the first message.
    """
    if not settings.otlp_endpoint:
        return lambda: None
    spans, close_spans = import_module("services.process.otel_spans").exported(settings.otlp_endpoint, service)
    tracing.spans, tracing.ratio = spans, settings.trace_sample_ratio
    close_metrics = import_module("services.process.otel_metrics").exported(settings.otlp_endpoint, service, meters)

    def close() -> None:
        tracing.spans = None
        close_spans()
        close_metrics()

    return close


def exposition(service: str, meters: Meters) -> Exposition:
    """What ``/metrics`` answers; made at the first question."""
    made: list[Exposition] = []

    def text(accept: str) -> tuple[bytes, str]:
        if not made:
            made.append(import_module("services.process.otel_metrics").exposed(service, meters))
        return made[0](accept)

    return text

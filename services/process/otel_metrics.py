"""Exports the counters and gauges of `events.meters` through OpenTelemetry."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import accumulate, groupby
from operator import itemgetter
from time import time_ns

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricReader,
    MetricsData,
    PeriodicExportingMetricReader,
    ScopeMetrics,
)
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import HistogramMetricFamily
from prometheus_client.metrics_core import Metric as PrometheusMetric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar
from prometheus_client.utils import floatToGoString

from events.meters import Histogram as Times
from events.meters import Meters, MetricLabels, labels_of

SCOPE = "alate"
UP = "alate.up"
"""Always 1, with the service's name."""
EVERY_MS = 15_000
"""Milliseconds between two exports."""


def with_times(data: MetricsData, meters: Meters, since: int, now: int) -> MetricsData:
    """The same figures and our histograms, which no instrument of the SDK can be given ready-made."""
    by_name = groupby(sorted(meters.times(), key=itemgetter(0)), key=itemgetter(0))
    metrics = [_metric(name, [_point(name, label, t, since, now) for _, label, t in group]) for name, group in by_name]
    ours = ScopeMetrics(InstrumentationScope(SCOPE), metrics, "")
    return MetricsData([replace(r, scope_metrics=[*r.scope_metrics, ours]) for r in data.resource_metrics])


def _metric(name: str, points: list[HistogramDataPoint]) -> Metric:
    return Metric(name, "Seconds it took.", "s", Histogram(points, AggregationTemporality.CUMULATIVE))


def _point(name: str, label: str, times: Times, since: int, now: int) -> HistogramDataPoint:
    buckets = tuple(times.buckets)
    return HistogramDataPoint(
        attributes=dict(labels_of(name, label)),
        start_time_unix_nano=since,
        time_unix_nano=now,
        count=sum(buckets),
        sum=times.sum,
        bucket_counts=buckets,
        explicit_bounds=times.bounds,
        min=0.0,
        max=0.0,
    )


class _Durations(Collector):
    """Our histograms as Prometheus wants them, with the traces that show them: the SDK's exporter leaves those out."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters

    def collect(self) -> Iterable[PrometheusMetric]:
        """A family for each name."""
        for name, group in groupby(sorted(self._meters.times(), key=itemgetter(0)), key=itemgetter(0)):
            yield _family(name, [(labels_of(name, label), times) for _, label, times in group])


def _family(name: str, series: list[tuple[MetricLabels, Times]]) -> HistogramMetricFamily:
    names = [_plain(label) for label in series[0][0]]
    family = HistogramMetricFamily(_plain(name), "Seconds it took.", labels=names, unit="seconds")
    for labels, times in series:
        family.add_metric(list(labels.values()), _buckets(times), times.sum)
    return family


def _buckets(times: Times) -> list[tuple[str, float] | tuple[str, float, Exemplar]]:
    bounds = (*map(floatToGoString, times.bounds), "+Inf")
    counts = zip(bounds, accumulate(times.buckets), strict=True)
    return [
        (bound, count, Exemplar({"trace_id": times.examples[place][1]}, times.examples[place][0]))
        if place in times.examples
        else (bound, count)
        for place, (bound, count) in enumerate(counts)
    ]


def _plain(name: str) -> str:
    return name.replace(".", "_")


class _Push(PeriodicExportingMetricReader):
    """The exporting reader, which is given our histograms as well."""

    def __init__(self, meters: Meters, exporter: OTLPMetricExporter) -> None:
        self._meters, self._since = meters, time_ns()
        super().__init__(exporter, export_interval_millis=EVERY_MS)

    def _receive_metrics(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: object) -> None:
        data = with_times(metrics_data, self._meters, self._since, time_ns())
        super()._receive_metrics(data, timeout_millis, **kwargs)


def provide(reader: MetricReader, service: str, meters: Meters) -> MeterProvider:
    """Every counter as an observable instrument, made when it is first counted."""
    provider = MeterProvider([reader], Resource({SERVICE_NAME: service}), shutdown_on_exit=False)
    meter = provider.get_meter(SCOPE)

    def observe(name: str) -> None:
        def counts(_: CallbackOptions) -> Iterable[Observation]:
            return [Observation(count, dict(labels_of(name, label))) for label, count in meters.counts(name)]

        meter.create_observable_counter(name, [counts])

    def show(name: str) -> None:
        def values(_: CallbackOptions) -> Iterable[Observation]:
            return [Observation(value, dict(labels)) for labels, value in meters.gauges(name)]

        meter.create_observable_gauge(name, [values])

    # The SDK calls no reader as long as there is no instrument.
    meter.create_observable_gauge(UP, [lambda _: [Observation(1, {"service": service})]])
    meters.on_counter(observe)
    meters.on_gauge(show)
    return provider


def exposed(service: str, meters: Meters) -> Callable[[str], tuple[bytes, str]]:
    """All figures of this process and its memory, in the form a scraper accepts by its header, and that form's name."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(_Durations(meters))
    reader = PrometheusMetricReader(disable_target_info=True, scope_info_enabled=False, registry=registry)
    provide(reader, service, meters)

    def answer(accept: str) -> tuple[bytes, str]:
        encode, media = choose_encoder(accept)
        return encode(registry), media

    return answer


def exported(endpoint: str, service: str, meters: Meters) -> Callable[[], None]:
    """Metrics sent to an OTLP endpoint over HTTP; gives what to call at the end."""
    exporter = OTLPMetricExporter(endpoint=f"{endpoint.rstrip('/')}/v1/metrics")
    return provide(_Push(meters, exporter), service, meters).shutdown

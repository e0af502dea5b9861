"""A collector of traces on the loopback, which keeps the spans that real processes export."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

FAILED = 2
"""The status of a span whose operation failed."""


@dataclass(frozen=True)
class Seen:
    """One span."""

    service: str
    name: str
    trace: str
    id: str
    parent: str
    message: str
    """The id of the message; empty: none."""
    links: tuple[str, ...]
    """Ids of spans."""
    failed: bool


@dataclass
class Collector:
    """Every span that came, by its id."""

    url: str = ""
    spans: dict[str, Seen] = field(default_factory=dict)

    def take(self, body: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = _texts(resource.resource)["service.name"]
            for scope in resource.scope_spans:
                self.spans |= {span.span_id.hex(): _seen(service, span) for span in scope.spans}

    def of(self, trace: str) -> list[Seen]:
        return [span for span in tuple(self.spans.values()) if span.trace == trace]

    def above(self, span: Seen) -> Iterator[Seen]:
        """All that led to it, as far as it is known."""
        parent = self.spans.get(span.parent)
        while parent is not None:
            yield parent
            parent = self.spans.get(parent.parent)


def _seen(service: str, span) -> Seen:
    return Seen(
        service=service,
        name=span.name,
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        message=_texts(span).get("messaging.message.id", ""),
        links=tuple(link.span_id.hex() for link in span.links),
        failed=span.status.code == FAILED,
    )


def _texts(holder) -> dict[str, str]:
    return {each.key: each.value.string_value for each in holder.attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    """In a thread of its own: it takes what processes export while the test waits for their end."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":
                collector.take(body)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()

"""Telemetry is shown to cost nothing until somebody asks, and to say what the conventions say when somebody does."""

import subprocess
import sys
import textwrap
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from events import telemetry
from events.meters import Meters
from events.telemetry import Trace, Tracing, extract, sending, working_on
from schemas.subjects import Key
from services.process.otel_spans import spans_into
from services.process.settings import Settings
from services.process.telemetry import exposition, set_up

KEY = Key("cluster", "acme", "train")
PARENT = Trace("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "vendor=1")


@pytest.fixture
def tracing(monkeypatch):
    mine = Tracing()
    monkeypatch.setattr(telemetry, "tracing", mine)
    monkeypatch.setattr("services.process.telemetry.tracing", mine)
    return mine


def test_the_sdk_is_not_loaded_until_it_is_needed():
    code = """
        import sys
        from events.meters import Meters
        from services.process.settings import Settings
        from services.process.telemetry import set_up, exposition
        meters = Meters()
        set_up(Settings(), "x", meters)()
        text = exposition("x", meters)
        print("opentelemetry" in sys.modules, "prometheus_client" in sys.modules)
        print(b"alate_up" in text("")[0])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True"]


def test_prometheus_is_told_counts_and_durations():
    meters = Meters()
    text = exposition("gateway", meters)
    assert (
        'alate_up_ratio{service="gateway"} 1.0' in text("")[0].decode()
        or 'alate_up{service="gateway"} 1.0' in text("")[0].decode()
    )
    meters.transition("cluster", "provisioned", "ready", 90.0)
    meters.sent("cluster.ready.{tenant}.{name}", 0.003)
    meters.sent("cluster.ready.{tenant}.{name}", 20.0)
    said = text("")[0].decode()
    assert 'alate_transitions_total{domain="cluster",state="ready",was="provisioned"} 1.0' in said
    labels = (
        'messaging_destination_template="cluster.ready.{tenant}.{name}",messaging_operation_name="send",'
        'messaging_system="nats"'
    )
    typed = f'cloudevents_event_type="dev.alate.cluster.ready",{labels}'
    assert f"messaging_client_sent_messages_total{{{typed}}} 2.0" in said
    assert f'messaging_client_operation_duration_seconds_bucket{{le="0.005",{labels}}} 1.0' in said.replace(
        f'{{{labels},le="0.005"}}', f'{{le="0.005",{labels}}}'
    )
    assert f"messaging_client_operation_duration_seconds_sum{{{labels}}} 20.003" in said
    assert f"messaging_client_operation_duration_seconds_count{{{labels}}} 2.0" in said
    assert "process_resident_memory_bytes" in said
    assert text("")[0].decode().count("alate_transitions_total{") == 1


def test_whoever_can_read_examples_is_given_the_trace_of_the_last_that_took_so_long():
    meters = Meters()
    for trace in ("a" * 32, "b" * 32, ""):
        meters.sent("cluster.ready.{tenant}.{name}", 0.003, trace)
    body, media = exposition("gateway", meters)("application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert media.startswith("application/openmetrics-text; version=1.0.0")
    (example,) = [line.partition(" # ")[2] for line in body.decode().splitlines() if " # " in line]
    assert example == f'{{trace_id="{"b" * 32}"}} 0.003'
    assert " # " not in exposition("gateway", meters)("")[0].decode()


def test_spans_are_named_and_typed_by_the_conventions(tracing):
    kept = InMemorySpanExporter()
    tracing.spans, close = spans_into(SimpleSpanProcessor(kept), "gateway")
    headers: dict[Any, Any] = {}
    with working_on(KEY, PARENT, "cluster.requested"), sending("x.y.z", headers, Meters()):
        pass
    sent, processed = kept.get_finished_spans()
    assert (processed.name, processed.kind) == ("process cluster.requested", SpanKind.CONSUMER)
    assert (sent.name, sent.kind) == ("send other", SpanKind.PRODUCER)
    assert f"{processed.parent.span_id:016x}" == "b7ad6b7169203331"
    assert sent.parent.span_id == processed.context.span_id
    assert dict(sent.attributes) == {
        "messaging.system": "nats",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.destination.template": "other",
    }
    assert extract(headers) == Trace(f"00-{PARENT.parent[3:35]}-{sent.context.span_id:016x}-01", "vendor=1")
    assert processed.resource.attributes["service.name"] == "gateway"
    close()


def test_a_failed_operation_is_an_error_with_its_type(tracing):
    kept = InMemorySpanExporter()
    tracing.spans, close = spans_into(SimpleSpanProcessor(kept), "gateway")
    with pytest.raises(KeyError), working_on(KEY, PARENT):
        raise KeyError("x")
    (span,) = kept.get_finished_spans()
    assert (span.status.status_code, span.attributes["error.type"]) == (StatusCode.ERROR, "KeyError")
    close()


class Receiver(BaseHTTPRequestHandler):
    """Takes whatever is exported."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server: Any = self.server
        server.got[self.path] = body
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def receiver():
    server: Any = HTTPServer(("127.0.0.1", 0), Receiver)
    server.got = {}
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_configured_receiver_gets_spans_and_metrics_at_the_latest_when_we_leave(receiver, tracing):
    endpoint = f"http://127.0.0.1:{receiver.server_port}"
    meters = Meters()
    close = set_up(Settings(otlp_endpoint=endpoint, trace_sample_ratio=1.0), "gateway", meters)
    with working_on(KEY, template="cluster.requested"):
        pass
    meters.processed("cluster.requested", 0.01, 0.02)
    close()
    assert b"process cluster.requested" in receiver.got["/v1/traces"]
    assert b"messaging.process.duration" in receiver.got["/v1/metrics"]
    assert tracing.spans is None

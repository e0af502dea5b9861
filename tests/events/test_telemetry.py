"""Traces are shown to go with every message, and to be seen only by those who asked."""

import asyncio
from datetime import UTC, datetime
from random import Random

import pytest

import schemas.cluster  # noqa: F401 - declares its messages
from events import telemetry
from events.bus import Stored
from events.meters import CONSUMED, LAG, OPERATION, PROCESS, SENT, SETTLED, Meters
from events.streams import HOOK, NOTIFICATION
from events.telemetry import (
    NOWHERE,
    Trace,
    Tracing,
    What,
    extract,
    hearing,
    inject,
    sending,
    template_of,
    working,
    working_on,
)
from schemas.registry import declarations
from schemas.subjects import Key

KEY = Key("cluster", "acme", "train")
ID, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = {"traceparent": f"00-{ID}-{SPAN}-01", "tracestate": "vendor=1"}
UNSAMPLED = {"traceparent": f"00-{ID}-{SPAN}-00"}


class Notebook:
    """Spans that are only written down."""

    def __init__(self) -> None:
        self.begun, self.ended = [], []

    def start(self, what, parent):
        self.begun.append((what, parent))
        return Note(self, Trace(f"00-{ID}-{len(self.begun):016x}-01", parent.state))


class Note:
    def __init__(self, book, trace) -> None:
        self.book, self.trace = book, trace

    def end(self, error):
        self.book.ended.append(error)


@pytest.fixture
def tracing(monkeypatch):
    mine = Tracing(random=Random(7))  # noqa: S311 - repeatable on purpose
    monkeypatch.setattr(telemetry, "tracing", mine)
    return mine


@pytest.mark.parametrize(
    "parent",
    [
        "",
        "garbage",
        f"ff-{ID}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{ID}-{'0' * 16}-01",
        f"00-{ID.upper()}-{SPAN}-01",
        f"00-{ID}-{SPAN}",
        f"00-{ID}-{SPAN}-01\r\nce-id: 1",
    ],
)
def test_a_malformed_traceparent_is_none(parent):
    assert extract({"traceparent": parent}) == NOWHERE


def test_a_later_version_of_the_header_is_understood():
    assert extract({"traceparent": f"01-{ID}-{SPAN}-03-more"}).sampled


def test_a_message_carries_the_trace_of_the_one_that_caused_it(tracing):
    with working_on(KEY, extract(UNSAMPLED)):
        assert inject({"a": "b"}) == {"a": "b", **UNSAMPLED}


def test_an_unsampled_message_makes_no_span(tracing):
    tracing.spans, tracing.ratio = (book := Notebook()), 1.0
    with working_on(KEY, extract(UNSAMPLED), "t"), sending("a.b.c.d", {}, Meters()):
        pass
    assert book.begun == []


def test_a_sampled_message_is_a_consumer_span_and_what_it_sends_a_producer_span(tracing):
    tracing.spans = book = Notebook()
    headers = {"ce-id": "e-1"}
    with working_on(KEY, extract(SAMPLED), "t"), sending("due.nobody.c.d", headers, Meters()):
        pass
    assert book.begun == [
        (What("process", "consumer", "t"), Trace(*SAMPLED.values())),
        (What("send", "producer", "other", "e-1"), Trace(f"00-{ID}-{1:016x}-01", "vendor=1")),
    ]
    assert headers == {"ce-id": "e-1", "traceparent": f"00-{ID}-{2:016x}-01", "tracestate": "vendor=1"}
    assert book.ended == [None, None]


OWN = Trace(f"00-{'1' * 32}-{SPAN}-01")


def test_what_has_a_trace_of_its_own_stays_in_it_and_is_linked_to_what_it_heard(tracing):
    tracing.spans = book = Notebook()
    with working_on(KEY, extract(SAMPLED), "t"), sending("a.b", {}, Meters(), OWN):
        pass
    heard = Trace(f"00-{ID}-{1:016x}-01", "vendor=1")
    assert book.begun[1] == (What("send", "producer", "other", link=heard), OWN)


def test_what_is_heard_of_its_own_trace_is_where_it_goes_on(tracing):
    tracing.spans = book = Notebook()
    with working_on(KEY, extract(SAMPLED), "t"), sending("a.b", {}, Meters(), Trace(f"00-{ID}-{'2' * 16}-01")):
        pass
    assert book.begun[1] == (What("send", "producer", "other"), Trace(f"00-{ID}-{1:016x}-01", "vendor=1"))


def test_nothing_links_to_what_nobody_will_see(tracing):
    tracing.spans = book = Notebook()
    with working_on(KEY, extract(UNSAMPLED), "t"), sending("a.b", {}, Meters(), OWN):
        pass
    assert book.begun == [(What("send", "producer", "other"), OWN)]


def test_a_failure_ends_its_spans_with_the_error(tracing):
    tracing.spans = book = Notebook()
    meters, lost = Meters(), ValueError("lost")
    with pytest.raises(ValueError, match="lost"), working_on(KEY, extract(SAMPLED)), sending("a.b", {}, meters):
        raise lost
    assert book.ended == [lost, lost]
    assert meters.counts(SENT) == ()


def test_a_sampled_trace_goes_on_unchanged_where_nobody_exports(tracing):
    with working_on(KEY, extract(SAMPLED)):
        assert inject({}) == SAMPLED


def test_the_root_decides_once_for_all_that_follow(tracing):
    tracing.spans, tracing.ratio = (book := Notebook()), 0.25
    for _ in range(400):
        with working_on(KEY):
            first = inject({})
        with working_on(KEY, extract(first)):
            second = inject({})
        assert first["traceparent"][-2:] == second["traceparent"][-2:]
    roots = [parent for _, parent in book.begun if parent == NOWHERE]
    assert 70 <= len(roots) <= 130
    assert len(book.begun) == 2 * len(roots)


def test_traces_that_begin_here_differ(tracing):
    assert len({inject({})["traceparent"] for _ in range(100)}) == 100
    assert all(extract(inject({})) != NOWHERE for _ in range(100))


async def test_tasks_at_the_same_time_do_not_mix(tracing):
    async def one(name):
        with working_on(key := Key("cluster", "acme", name), extract(UNSAMPLED)):
            await asyncio.sleep(0)
            assert working().key == key

    await asyncio.gather(*(one(str(i)) for i in range(20)))
    assert working() is None


def test_sending_counts_and_times_by_template(tracing):
    ticks = iter([1.0, 1.25])
    meters = Meters(timer=lambda: next(ticks))
    with sending("cluster.nobody.knows.this", {}, meters):
        pass
    assert meters.counts(SENT) == (("other", 1),)
    ((name, _, histogram),) = meters.times()
    assert (name, histogram.sum) == (OPERATION, 0.25)


def test_what_is_heard_one_after_another_is_counted_timed_and_in_its_trace(tracing):
    stored = Stored("cluster.requested", b"", UNSAMPLED, 1, datetime(2026, 1, 1, tzinfo=UTC))
    times = iter([datetime(2026, 1, 1, 0, 0, 3, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 5, tzinfo=UTC)])
    ticks, meters = iter([1.0, 2.5]), Meters(timer=lambda: next(ticks))
    with hearing(KEY, stored, meters, lambda: next(times)):
        assert inject({}) == UNSAMPLED
    assert meters.counts(CONSUMED) == (("cluster.requested", 1),)
    assert {name: took.sum for name, _, took in meters.times()} == {LAG: 3.0, PROCESS: 1.5, SETTLED: 5.0}


def test_templates_are_those_of_the_registry():
    assert any(declaration.domain == "cluster" for declaration in declarations())
    for declaration in declarations():
        subject = ".".join("x" if part.startswith("{") else part for part in declaration.subject.split("."))
        assert template_of(subject) == declaration.subject
    assert template_of("cluster.requested") == "cluster.requested"
    assert template_of("cluster.requested.acme") == "cluster.requested.{tenant}"
    assert template_of("due.cluster.acme.train") == "due.cluster.{tenant}.{name}"
    assert template_of("hook.github.acme.ci.d-1") == HOOK
    assert template_of("outbound.ci.cluster.ready.acme.train") == NOTIFICATION
    assert template_of("somebody.elses") == "other"

"""Counting is shown to be exact, bounded and readable while it goes on."""

import threading
from typing import Any

import schemas.wish  # noqa: F401 - declares its messages
from events.meters import (
    BOUNDS,
    CONSUMED,
    DWELT,
    LAG,
    LONG,
    OPERATION,
    OTHER,
    PROCESS,
    SENT,
    SERIES,
    SETTLED,
    TRANSITIONS,
    Meters,
    labels_of,
)
from events.streams import HOOK


def test_every_event_is_counted_once():
    meters = Meters()
    for _ in range(3):
        meters.count("alate.ignored", "cluster")
    meters.transition("cluster", "provisioned", "ready", 90.0)
    assert meters.counts("alate.ignored") == (("cluster", 3),)
    assert meters.counts(TRANSITIONS) == (("cluster.provisioned.ready", 1),)
    assert meters.counts("never.counted") == ()


def test_a_duration_falls_into_the_first_bucket_that_holds_it():
    meters = Meters()
    for seconds in (0.0, BOUNDS[0], BOUNDS[0] + 1e-9, 99.0):
        meters.took(PROCESS, "t", seconds)
    ((name, label, histogram),) = meters.times()
    assert (name, label) == (PROCESS, "t")
    assert (histogram.buckets[0], histogram.buckets[1], histogram.buckets[-1]) == (2, 1, 1)
    assert sum(histogram.buckets) == 4
    assert histogram.sum == sum((0.0, BOUNDS[0], BOUNDS[0] + 1e-9, 99.0))


def test_how_long_a_state_lasts_is_told_from_a_moment_to_a_week():
    meters = Meters()
    for seconds in (0.5, 3000.0, 10 * 86_400.0):
        meters.transition("cluster", "placing", "launching", seconds)
    meters.transition("cluster", "", "pending")
    ((name, label, histogram),) = meters.times()
    assert (name, label, histogram.bounds) == (DWELT, "cluster.placing", LONG)
    assert [place for place, number in enumerate(histogram.buckets) if number] == [0, LONG.index(3600.0), len(LONG)]


def test_a_clock_that_is_behind_makes_no_lag_less_than_none():
    meters = Meters()
    meters.consumed("t", -1.0)
    meters.processed("t", 0.25, -1.0)
    assert {name: histogram.sum for name, _, histogram in meters.times()} == {LAG: 0.0, PROCESS: 0.25, SETTLED: 0.0}


def test_labels_are_bounded_and_nothing_is_lost_by_it():
    meters = Meters()
    for i in range(SERIES + 50):
        meters.sent(f"t{i}", 0.1)
    counts = dict(meters.counts(SENT))
    assert (len(counts), counts[OTHER], sum(counts.values())) == (SERIES + 1, 50, SERIES + 50)
    assert sum(sum(h.buckets) for name, _, h in meters.times() if name == OPERATION) == SERIES + 50


def test_a_counter_is_told_once_whoever_listens_when():
    meters = Meters()
    meters.consumed("t", 0.1)
    told: list[Any] = []
    meters.on_counter(told.append)
    for _ in range(3):
        meters.consumed("t", 0.1)
        meters.count("alate.failures", "addon")
    assert told == [CONSUMED, "alate.failures"]


def test_labels_follow_the_conventions():
    assert labels_of(SENT, "t")["messaging.system"] == "nats"
    assert labels_of(SENT, "cluster.requested.{tenant}")["cloudevents.event_type"] == "dev.alate.cluster.request"
    assert labels_of(SENT, HOOK)["cloudevents.event_type"] == ""
    assert labels_of(PROCESS, "t")["messaging.operation.name"] == "process"
    assert labels_of(CONSUMED, "t")["messaging.destination.template"] == "t"
    assert labels_of(TRANSITIONS, "cluster..pending") == {"domain": "cluster", "was": "", "state": "pending"}
    assert labels_of(DWELT, "cluster.placing") == {"domain": "cluster", "state": "placing"}
    assert labels_of("alate.failures", "addon") == {"domain": "addon"}


def test_an_exporter_on_another_thread_disturbs_nothing():
    meters, over, wrong = Meters(), threading.Event(), []

    def read():
        try:
            while not over.is_set():
                meters.times()
                meters.counts("n")
        except RuntimeError as error:  # what a dictionary raises that changes under its reader
            wrong.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(20_000):
        meters.count("n", f"d{i % 400}")
        meters.took(f"h{i % 40}", f"l{i % 400}", 0.1)
    over.set()
    reader.join()
    assert not wrong
    assert sum(count for _, count in meters.counts("n")) == 20_000

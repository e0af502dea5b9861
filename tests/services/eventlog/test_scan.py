from datetime import UTC, datetime, timedelta

import pytest

from events.bus import Message
from events.memory.bus import MemoryBus
from services.errors import BadInput, Failed
from services.eventlog import scan
from services.eventlog.scan import find, kept, moment

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


async def test_an_event_is_found_by_its_id_in_whatever_stream(bus):
    assert (await find(bus, "run-4711")).stream == "INTAKE"
    history = [said async for said in kept(bus, "EVENTS")]
    assert await find(bus, history[3].id) == history[3]


async def test_an_event_is_found_by_its_place(bus):
    assert (await find(bus, "EVENTS/1")).stored.subject == "cluster.pending.default.train-gpu"


@pytest.mark.parametrize("name", ["EVENTS/4711", "nobody", "nowhere/1", "EVENTS/x"])
async def test_what_is_not_kept_is_told_in_one_sentence(bus, name):
    with pytest.raises(Failed, match="is kept"):
        await find(bus, name)


async def test_a_long_scan_says_now_and_then_how_far_it_is(monkeypatch):
    monkeypatch.setattr(scan, "EVERY", 2)
    bus, told = MemoryBus(), []
    for number in range(5):
        await bus.publish(Message(f"cluster.a.t.n{number}", b""))
    assert len([said async for said in kept(bus, "EVENTS", tell=told.append)]) == 5
    assert [line.split(",")[0] for line in told] == ["2 messages of EVENTS read", "4 messages of EVENTS read"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2h", NOW - timedelta(hours=2)),
        ("2025-12-31T12:00:00Z", NOW - timedelta(days=1)),
        ("2025-12-31T13:00:00+01:00", NOW - timedelta(days=1)),
        ("2025-12-31 12:00", NOW - timedelta(days=1)),
    ],
)
def test_a_moment_is_a_time_or_how_long_ago(text, expected):
    assert moment(text, NOW) == expected


@pytest.mark.parametrize("text", ["yesterday", "-1h", "", "2x"])
def test_what_is_no_moment_is_refused(text):
    with pytest.raises(BadInput, match="--since"):
        moment(text, NOW)

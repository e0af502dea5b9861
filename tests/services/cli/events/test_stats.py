import json
from datetime import UTC, datetime, timedelta

import pytest

from events.bus import EPOCH, Stored
from services.cli.events.stats import lag_of, show, stats
from services.eventlog.record import EventRecord
from services.gateway.intake import CONSUMER

LATER = datetime(2100, 1, 1, tzinfo=UTC)


async def test_everything_that_was_said_is_counted_once_by_subject_and_type(bus):
    found = await stats(bus, EPOCH, LATER)
    assert sum(each["count"] for each in found["published"] if each["stream"] == "INTAKE") == await bus.count(
        "INTAKE", ">"
    )
    ready = next(each for each in found["published"] if each["subject"] == "cluster.ready.{tenant}.{name}")
    assert (ready["type"], ready["count"]) == ("dev.alate.cluster.ready", 1)
    assert 0 <= ready["publishLagSeconds"]["p50"] < 1
    assert found["deadLetters"] == 1


async def test_a_rate_is_over_the_time_that_was_asked_for(bus):
    begun = (await bus.at("EVENTS", 1)).time
    found = await stats(bus, begun, begun + timedelta(seconds=100))
    for each in found["published"]:
        assert each["perSecond"] == pytest.approx(each["count"] / 100)


async def test_nothing_from_before_is_counted(bus):
    assert (await stats(bus, LATER, LATER + timedelta(hours=1)))["published"] == []


async def test_it_is_told_how_far_everybody_is_in_hearing(bus):
    await bus.unanswered(CONSUMER)
    (place,) = (await stats(bus, EPOCH, LATER))["consumers"]
    assert (place["consumer"], place["pending"], place["unanswered"]) == ("gateway-intake", 3, 0)


@pytest.mark.parametrize("time", [None, "yesterday", "2026-01-01T00:00:00"])
def test_who_does_not_tell_the_time_has_no_lag(time):
    headers = {"ce-time": time} if time else {}
    assert lag_of(EventRecord("INTAKE", Stored("cluster.requested", b"", headers, 1, LATER))) is None


async def test_it_is_shown_for_people_and_for_programs(bus):
    out: list[str] = []
    await show(bus, EPOCH, LATER, form="table", write=out.append)
    assert "".join(out).endswith("dead letters: 1\n")
    out.clear()
    await show(bus, EPOCH, LATER, form="json", write=out.append)
    assert json.loads("".join(out))["deadLetters"] == 1

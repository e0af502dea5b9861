from datetime import UTC, datetime, timedelta

from events.bus import Message, Stored
from events.memory.bus import MemoryBus
from events.streams import KEPT_FOR, REASON, SEQUENCE, SUBJECT, Redrive, original, publish_once, redriven

LETTER = Stored(
    "dlq.INTAKE.gateway-intake", b"x", {"ce-id": "1", REASON: "no", SUBJECT: "cluster.requested", SEQUENCE: "4"}, 17
)
TO = Redrive("INTAKE", "gateway-intake", "dlq-17")


def test_the_event_is_the_same_without_what_was_said_of_its_failure():
    message = redriven(LETTER, TO, "cluster.requested")
    assert message.subject == "redrive.INTAKE.gateway-intake.dlq-17.cluster.requested"
    assert (message.data, message.headers) == (b"x", {"ce-id": "1", "Nats-TTL": str(KEPT_FOR)})


def test_what_is_heard_is_on_the_first_subject():
    assert (
        original(Stored("redrive.INTAKE.gateway-intake.dlq-17.cluster.requested", b"")).subject == "cluster.requested"
    )
    assert original(Stored("cluster.ready.a.b", b"")).subject == "cluster.ready.a.b"


async def test_it_is_forgotten_after_a_week():
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    bus = MemoryBus(clock=lambda: now[0])
    await publish_once(bus, redriven(LETTER, TO, "cluster.requested"))
    now[0] += timedelta(seconds=KEPT_FOR - 1)
    assert await bus.count("INTAKE", ">") == 1
    now[0] += timedelta(seconds=1)
    assert await bus.count("INTAKE", ">") == 0


async def test_other_messages_are_not_forgotten_with_it():
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    bus = MemoryBus(clock=lambda: now[0])
    await bus.publish(Message("cluster.ready.a.b", b"", {"ce-id": "1"}))
    now[0] += timedelta(days=400)
    assert await bus.count("EVENTS", ">") == 1

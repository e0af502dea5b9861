"""Publishing with compare-and-swap."""

import asyncio

import pytest

from events.bus import Conflict, Expect, Message, Unavailable
from events.errors import Denied

HISTORY = "cluster.*.acme.train"
READY = Message("cluster.ready.acme.train", b'{"rev": 1}', {"ce-id": "u.1", "traceparent": "00-1-1-01"})
GONE = Message("cluster.gone.acme.train", b'{"rev": 2}')


async def test_what_is_published_is_kept_as_it_was_said(bus):
    sequence = await bus.publish(READY)
    kept = await bus.last("EVENTS", HISTORY)
    assert (kept.subject, kept.data, kept.headers) == (READY.subject, READY.data, READY.headers)
    assert kept.sequence == sequence
    assert kept.time.tzinfo is not None


async def test_the_swap_wins_when_the_history_stands_where_it_should(bus):
    first = await bus.publish(READY, expect=Expect(HISTORY, 0))
    second = await bus.publish(GONE, expect=Expect(HISTORY, first))
    assert second > first
    assert (await bus.last("EVENTS", HISTORY)).subject == GONE.subject


@pytest.mark.parametrize("stale", [0, 7])
async def test_the_swap_loses_when_the_history_moved_on(bus, stale):
    first = await bus.publish(READY)
    with pytest.raises(Conflict) as lost:
        await bus.publish(GONE, expect=Expect(HISTORY, stale))
    assert lost.value.expected == stale
    assert (await bus.last("EVENTS", HISTORY)).sequence == first


async def test_other_histories_do_not_disturb_the_swap(bus):
    first = await bus.publish(READY, expect=Expect(HISTORY, 0))
    await bus.publish(Message("cluster.ready.acme.other", b""))
    assert await bus.publish(GONE, expect=Expect(HISTORY, first)) > first


async def test_a_wrong_history_matches_nothing(bus):
    first = await bus.publish(READY)
    with pytest.raises(Conflict):
        await bus.publish(GONE, expect=Expect("cluster.*.acme.trian", first))
    assert await bus.publish(GONE, expect=Expect("cluster.*.acme.trian", 0)) > first


async def test_of_writers_that_race_one_wins_every_step(bus, another):
    writers = [bus, await another(), await another()]
    wins = dict.fromkeys(range(20), 0)

    async def climb(writer: int) -> None:
        for step in range(20):
            while (kept := await bus.last("EVENTS", HISTORY)) is None or int(kept.data) < step:
                expected = Expect(HISTORY, kept.sequence if kept else 0)
                following = int(kept.data) + 1 if kept else 0
                message = Message(READY.subject, b"%d" % following)
                try:
                    await writers[writer].publish(message, expect=expected, msg_id=f"{writer}.{following}")
                except Conflict:
                    continue
                wins[following] += 1

    async with asyncio.timeout(20):
        await asyncio.gather(*map(climb, range(3)))
    assert set(wins.values()) == {1}
    assert [int(stored.data) for stored in await bus.read("EVENTS", HISTORY)] == list(range(20))


async def test_a_lost_ack_is_no_conflict(bus):
    said = await bus.publish(READY, expect=Expect(HISTORY, 0), msg_id="a")
    again = await bus.publish(READY, expect=Expect(HISTORY, 0), msg_id="a")
    assert again == said
    assert await bus.count("EVENTS", HISTORY) == 1


async def test_a_lost_ack_is_no_conflict_after_others_went_on(bus):
    said = await bus.publish(READY, expect=Expect(HISTORY, 0), msg_id="a")
    await bus.publish(GONE, expect=Expect(HISTORY, said), msg_id="b")
    assert await bus.publish(READY, expect=Expect(HISTORY, 0), msg_id="a") == said


async def test_another_decision_under_the_same_id_is_a_conflict(bus):
    await bus.publish(READY, expect=Expect(HISTORY, 0), msg_id="uid.1")
    other = Message(GONE.subject, READY.data)
    for different in (other, Message(READY.subject, b"else")):
        with pytest.raises(Conflict):
            await bus.publish(different, expect=Expect(HISTORY, 0), msg_id="uid.1")


async def test_a_purged_history_begins_anew(bus):
    last = await bus.publish(READY)
    await bus.purge("EVENTS", HISTORY)
    with pytest.raises(Conflict):
        await bus.publish(GONE, expect=Expect(HISTORY, last))
    assert await bus.publish(GONE, expect=Expect(HISTORY, 0)) > last


async def test_what_was_purged_is_not_taken_for_what_is_said_again_under_its_id(bus):
    await bus.publish(READY, expect=Expect(HISTORY, 0), msg_id="ready")
    await bus.purge("EVENTS", HISTORY)
    with pytest.raises(Conflict):
        await bus.publish(READY, expect=Expect(HISTORY, 0), msg_id="ready")
    assert await bus.count("EVENTS", HISTORY) == 0


async def test_a_repeated_id_is_stored_once(bus):
    first = await bus.publish(Message("cluster.requested", b"a"), msg_id="x")
    assert await bus.publish(Message("cluster.requested", b"a"), msg_id="x") == first
    assert await bus.publish(Message("cluster.requested", b"b"), msg_id="y") == first + 1
    assert await bus.count("INTAKE", "cluster.requested") == 2


async def test_without_an_id_every_publish_is_stored(bus):
    for _ in range(3):
        await bus.publish(Message("cluster.requested", b"a"))
    assert await bus.count("INTAKE", "cluster.requested") == 3


async def test_a_message_too_large_is_denied_in_one_sentence_and_disturbs_nobody(bus):
    with pytest.raises(Denied, match=r"1048576 bytes on cluster\.requested") as denied:
        await bus.publish(Message("cluster.requested", b"x" * 1_048_576))
    assert denied.value.reason == "TooLarge"
    assert await bus.publish(Message("cluster.requested", b"x" * 1_000_000)) == 1


async def test_after_leaving_nothing_can_be_said(bus):
    await bus.close()
    with pytest.raises(Unavailable):
        await bus.publish(READY)


async def test_a_subject_that_takes_one_message_takes_it_once_from_everybody(bus, another):
    subject = "hook.github.acme.ci.4711"
    once = Expect(subject, 0)
    first = await bus.publish(Message(subject, b"body", {"ce-time": "1"}), expect=once, msg_id=subject)
    repeated = Message(subject, b"body", {"ce-time": "2"})
    assert await (await another()).publish(repeated, expect=once, msg_id=subject) == first
    with pytest.raises(Conflict):
        await bus.publish(Message(subject, b"other"), expect=once, msg_id=subject)
    assert [stored.data for stored in await bus.read("HOOKS", "hook.>")] == [b"body"]

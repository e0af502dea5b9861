"""What streams keep: last, count, read, purge."""

from events.bus import Message


async def fill(bus) -> list[int]:
    subjects = ["cluster.a.t.one", "cluster.b.t.one", "cluster.a.t.two", "cluster.c.t.one", "addon.a.t.one"]
    return [await bus.publish(Message(subject, b"%d" % at)) for at, subject in enumerate(subjects)]


async def test_the_last_of_a_history_is_its_newest_message_on_any_of_its_subjects(bus):
    sequences = await fill(bus)
    assert (await bus.last("EVENTS", "cluster.*.t.one")).sequence == sequences[3]
    assert (await bus.last("EVENTS", "cluster.a.t.one")).sequence == sequences[0]
    assert (await bus.last("EVENTS", "cluster.>")).sequence == sequences[3]


async def test_nothing_is_last_where_nothing_was_said(bus):
    assert await bus.last("EVENTS", "cluster.*.t.one") is None


async def test_a_history_is_read_oldest_first(bus):
    sequences = await fill(bus)
    history = await bus.read("EVENTS", "cluster.*.t.one")
    assert [(stored.sequence, stored.data) for stored in history] == [
        (sequences[0], b"0"),
        (sequences[1], b"1"),
        (sequences[3], b"3"),
    ]
    assert await bus.read("EVENTS", "cluster.*.t.none") == ()


async def test_messages_are_counted_by_filter(bus):
    await fill(bus)
    filters = ("cluster.>", "cluster.*.t.one", "*.*.*.one", "teardown.>", ">")
    assert [await bus.count("EVENTS", f) for f in filters] == [4, 3, 4, 0, 5]


async def test_purging_forgets_what_matches_and_says_how_much(bus):
    await fill(bus)
    assert await bus.purge("EVENTS", "cluster.*.t.one") == 3
    assert await bus.purge("EVENTS", "cluster.*.t.one") == 0
    assert [stored.data for stored in await bus.read("EVENTS", ">")] == [b"2", b"4"]


async def test_of_a_level_only_the_newest_is_kept(bus):
    for seen in (b"1", b"2", b"3"):
        await bus.publish(Message("observed.cluster.t.one", seen))
    assert [stored.data for stored in await bus.read("LEVELS", "observed.>")] == [b"3"]


async def test_intake_does_not_touch_histories(bus):
    await bus.publish(Message("cluster.requested.t", b""))
    assert await bus.count("EVENTS", ">") == 0
    assert await bus.count("INTAKE", ">") == 1

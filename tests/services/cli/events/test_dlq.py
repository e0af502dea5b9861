import asyncio
import json
from contextlib import aclosing

import pytest

from events.bus import Consumer, Message, Unavailable
from events.memory.bus import MemoryBus
from services.cli.events import dlq
from services.errors import Failed
from services.eventlog.redrive import letters
from services.gateway.intake import CONSUMER


async def heard(bus, consumer: Consumer = CONSUMER) -> list[str]:
    """The ids a consumer has before it, all of them taken."""
    found = []
    async with aclosing(bus.consume(consumer)) as deliveries, asyncio.timeout(10):
        while await bus.unanswered(consumer):
            delivery = await anext(deliveries)
            found.append(delivery.stored.headers["ce-id"])
            await delivery.ack()
    return found


async def run(work, *args, **options) -> str:
    out: list[str] = []
    await work(*args, **options, write=out.append)
    return "".join(out)


async def test_letters_are_listed_by_cause(bus):
    out: list[str] = []
    await dlq.ls(bus, "table", out.append)
    text = "".join(out)
    assert "gateway-intake" in text
    assert "cluster.requested.{tenant}" in text
    assert 'metadata.name is "Bad Name"' in text


async def handled(command, bus, which, **options):
    out: list[str] = []
    await command(bus, which, dlq.LettersOutput(**options, write=out.append))
    return "".join(out)


async def test_where_there_are_none_that_is_said():
    out: list[str] = []
    await dlq.ls(MemoryBus(), "table", out.append)
    await dlq.ls(MemoryBus(), "json", out.append)
    assert out[0] == "no dead letters\n"
    assert json.loads(out[1]) == {"items": []}


async def test_a_letter_is_shown_in_full(bus):
    assert '"name": "Bad Name"' in await run(dlq.show, bus, "1", form="table")
    (item,) = json.loads(await run(dlq.show, bus, "1", form="json"))["items"]
    assert item["message"]["event"]["id"] == "run-4712"
    assert item["failed"] == {"stream": "INTAKE", "consumer": "gateway-intake"}


async def test_a_redriven_letter_is_told_to_who_failed_and_is_a_letter_no_longer(bus):
    await heard(bus)
    assert "run-4712" in await handled(dlq.redrive, bus, "1")
    assert await heard(bus) == ["run-4712"]
    assert await letters(bus) == []


async def test_a_dry_run_changes_nothing(bus):
    await heard(bus)
    assert (await handled(dlq.redrive, bus, "all", dry=True)).startswith("would redrive: 1")
    assert (await handled(dlq.drop, bus, "all", dry=True)).startswith("would drop: 1")
    assert await heard(bus) == []
    assert len(await letters(bus)) == 1


async def test_a_redrive_that_broke_off_is_gone_on_with_and_nothing_is_told_twice(bus, monkeypatch):
    await heard(bus)

    async def broken(*_) -> bool:
        raise Unavailable("gone")

    with monkeypatch.context() as patch:
        patch.setattr(bus, "drop", broken)
        with pytest.raises(Unavailable):
            await handled(dlq.redrive, bus, "1")
    await handled(dlq.redrive, bus, "1")
    assert await heard(bus) == ["run-4712"]
    assert await letters(bus) == []


async def test_nobody_there_to_hear_it_is_one_clear_sentence_and_nothing_is_told(bus):
    await bus.publish(Message("dlq.EVENTS.gone-events", b"", {"Alate-Dlq-Subject": "cluster.ready.t.a"}))
    await heard(bus)
    with pytest.raises(Failed, match="dead letter 2 cannot be redriven: there is no consumer EVENTS/gone-events"):
        await handled(dlq.redrive, bus, "all")
    assert await heard(bus) == []
    assert len(await letters(bus)) == 2


async def test_a_dropped_letter_is_gone_for_good(bus):
    await heard(bus)
    assert (await handled(dlq.drop, bus, "1")).startswith("dropped: 1 run-4712")
    assert await letters(bus) == []
    assert await heard(bus) == []


async def test_a_program_reads_which_letters_were_dropped(bus):
    done = json.loads(await handled(dlq.drop, bus, "all", form="json"))
    assert (done["dropped"], [each["number"] for each in done["items"]]) == (True, [1])
    assert await letters(bus) == []

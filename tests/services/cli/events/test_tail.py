import asyncio
import json
from contextlib import asynccontextmanager, suppress

import pytest

from events.bus import EPOCH, Message
from events.memory.bus import MemoryBus
from services.cli.events.tail import BufferedOutput, tail
from services.eventlog.filters import Which

pytestmark = pytest.mark.looptime


@asynccontextmanager
async def tailing(bus, which, since=None, *, form="json"):
    lines: list[str] = []
    task = asyncio.create_task(tail(bus, which, since, form=form, out=BufferedOutput(lines.append, lambda: None)))
    await asyncio.sleep(0.1)
    yield lines
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def test_only_what_is_said_from_now_on_is_shown(bus):
    async with tailing(bus, Which()) as lines:
        assert lines == []
        await bus.publish(Message("cluster.requested", b"{}", {"ce-id": "new"}))
        await asyncio.sleep(0.1)
        assert [json.loads(line)["event"]["id"] for line in lines] == ["new"]


async def test_with_a_time_everything_since_is_shown_first(bus):
    async with tailing(bus, Which(("EVENTS",), cluster="cheap-gpu"), EPOCH) as lines:
        subjects = [json.loads(line)["subject"] for line in lines]
    assert subjects[0] == "cluster.pending.default.cheap-gpu"
    assert {subject.rpartition(".")[2] for subject in subjects} == {"cheap-gpu"}
    assert len(subjects) == len(await bus.read("EVENTS", "*.*.default.cheap-gpu"))


async def test_what_was_said_before_is_shown_by_time_whichever_stream_keeps_it():
    bus, ids = MemoryBus(), [str(number) for number in range(6)]
    for place, subject in enumerate(("cluster.requested", "cluster.ready.a.b", "cluster.requested") * 2):
        await bus.publish(Message(subject, b"{}", {"ce-id": ids[place]}))
    async with tailing(bus, Which(("EVENTS", "INTAKE")), EPOCH) as lines:
        assert [json.loads(line)["event"]["id"] for line in lines] == ids
        await bus.publish(Message("cluster.requested", b"{}", {"ce-id": "new"}))
        await asyncio.sleep(0.1)
        assert json.loads(lines[-1])["event"]["id"] == "new"


async def test_a_line_for_people_names_place_subject_id_and_cause(bus):
    async with tailing(bus, Which(type="teardown.gone", cluster="train-gpu"), EPOCH, form="table") as lines:
        (line,) = lines
    assert "teardown.gone.default.train-gpu" in line
    assert "EVENTS/" in line
    assert "<- cluster.train-gpu." in line


async def test_many_lines_are_flushed_at_once_and_soon():
    flushed = []
    out = BufferedOutput(lambda _: None, lambda: flushed.append(1))
    for _ in range(100):
        out.line("x")
    await asyncio.sleep(0.05)
    assert flushed == [1]
    out.line("y")
    await asyncio.sleep(0.05)
    assert flushed == [1, 1]

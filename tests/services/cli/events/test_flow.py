import pytest

from events.bus import Message
from services.cli.events.flow import gather
from services.errors import Failed
from services.eventlog.scan import find
from tests.corpus import corpus

WHOLE = {"INTAKE", "EVENTS"}


async def test_from_the_request_the_whole_flow_is_found(bus):
    messages, asked = await gather(bus, "run-4711")
    assert asked.id == "run-4711"
    assert {said.stream for said in messages} == WHOLE
    assert {said.names.get("name", "").partition(".")[0] for said in messages} == {"", "train-gpu"}


async def test_from_any_state_and_from_the_flows_own_id_the_same_is_found(bus):
    whole = {said.place for said in (await gather(bus, "run-4711"))[0]}
    state = await find(bus, "EVENTS/1")
    assert {said.place for said in (await gather(bus, state.id))[0]} == whole
    flow, asked = await gather(bus, state.flow)
    assert ({said.place for said in flow}, asked) == (whole, None)


async def test_a_request_that_was_refused_has_its_dead_letter(bus):
    messages, _ = await gather(bus, "run-4712")
    assert [said.stored.subject for said in messages] == ["cluster.requested.default", "dlq.INTAKE.gateway-intake"]


async def test_from_a_level_its_effects_are_found_while_it_is_kept(bus):
    (requested, *_), _ = await gather(bus, "EVENTS/1")
    wish = next(each for each in corpus("0.1.0") if each.stream == "LEVELS" and each.cause == requested.id)
    await bus.publish(Message(wish.stored.subject, b"{}"))
    with pytest.raises(Failed):  # another one has replaced it
        await gather(bus, wish.id)
    await bus.publish(wish.stored)
    messages, asked = await gather(bus, wish.id)
    assert asked.id == wish.id
    assert {said.stream for said in messages} == WHOLE | {"LEVELS"}


async def test_what_nobody_said_is_one_clear_sentence(bus):
    with pytest.raises(Failed, match="no event nobody is kept"):
        await gather(bus, "nobody")

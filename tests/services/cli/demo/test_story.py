import msgspec
import pytest

from events.bus import Stored
from services.cli.demo.story import event_of, read, spans


async def test_what_comes_again_after_a_reconnect_is_heard_once(told):
    story = told(20)
    before = story.transitions
    (key,) = (key for key in story.states if key.domain == "cluster")
    last = story.states[key][-1]

    story.receive(Stored(key.state("released"), msgspec.json.encode(last), {}, sequence=1))

    assert story.transitions == before


async def test_the_time_in_each_state_is_the_time_until_the_next(told):
    story = told(20)
    (states,) = (states for key, states in story.states.items() if key.domain == "cluster")

    assert spans(states, event_of) == {
        "pending": 1.0, "launching": 2.0, "provisioned": 1.0, "ready": 10.0, "releasing": 2.0,
    }  # fmt: skip


@pytest.mark.parametrize("subject", ["inventory.unreachable.of.us", "x"])
def test_what_is_not_declared_is_not_shown(subject):
    assert read(Stored(subject, b"{}")) is None

"""What is said while the bus is away is said once it is back, and asked for less and less often until then."""

import asyncio

import pytest

from events.bus import Conflict, Expect, Message, Unavailable
from events.memory.bus import MemoryBus
from services.runtime.level_publisher import RetryingBus

pytestmark = pytest.mark.looptime

LEVEL = Message("observed.press.acme.hall", b"{}")


class Away(MemoryBus):
    """A bus that answers nothing for ten minutes."""

    asked = 0

    def _answer(self):
        self.asked += 1
        if asyncio.get_running_loop().time() < 600:
            raise Unavailable("no answer")

    async def publish(self, message, **how):
        self._answer()
        return await super().publish(message, **how)

    async def last(self, stream, subject_filter):
        self._answer()
        return await super().last(stream, subject_filter)


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (lambda bus: bus.publish(LEVEL, expect=Expect(LEVEL.subject, 0), msg_id="a"), 1),
        (lambda bus: bus.last("LEVELS", LEVEL.subject), None),
    ],
    ids=["publish", "last"],
)
async def test_a_call_is_repeated_until_it_is_answered(call, answer):
    bus = Away()
    assert await call(RetryingBus(bus, lambda: 0.5)) == answer
    assert asyncio.get_running_loop().time() < 630
    assert 20 < bus.asked < 40


async def test_a_conflict_is_an_answer():
    bus = MemoryBus()
    await bus.publish(LEVEL)
    with pytest.raises(Conflict):
        await RetryingBus(bus, lambda: 0.5).publish(LEVEL, expect=Expect(LEVEL.subject, 0), msg_id="b")

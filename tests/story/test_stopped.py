"""Each process is stopped for a while, as by a debugger or a machine that stands still; then all goes on.

Every day `tests/services/local/test_supervisor.py` shows the same of one process.
"""

import asyncio
import os
import signal

import pytest

from services.local.child import BETWEEN, LOOK, MISSES
from services.local.probe import PATIENCE
from services.local.programs import NATS, SANDBOX
from tests.story.house import House, agreed, at_work, colony, ended, until_ready

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(1800)]

SECONDS = float(os.environ.get("ALATE_TEST_STOPPED_SECONDS", "5"))
HANGS = LOOK + MISSES * (PATIENCE + BETWEEN)
"""Seconds after which the supervisor has certainly killed what is stopped, and started it again."""
TOGETHER = (
    (NATS,),
    (SANDBOX,),
    ("gateway", "inventory", "edge"),
    ("provisioning", "addons", "teardown", "outbound"),
)
"""Who is stopped at the same time."""


async def stop(house: House, names: tuple[str, ...]) -> None:
    """Stop these for so long; whoever was killed meanwhile has begun anew, and does not have to be continued."""
    stopped = {name: house.stack.child(name).pid for name in names}
    for pid in stopped.values():
        os.kill(pid, signal.SIGSTOP)
    await asyncio.sleep(SECONDS)
    for name, pid in stopped.items():
        if house.stack.child(name).pid == pid:
            os.kill(pid, signal.SIGCONT)
    await house.stack.until_ready()


async def test_whoever_is_stopped_for_a_while_all_goes_on_and_in_the_end_agrees(tmp_path):
    """What is stopped for longer than `HANGS` is killed and started again by the supervisor; for less, never."""
    async with at_work(tmp_path) as house:
        await house.ask(colony(0))
        await until_ready(house, 0)
        for number, names in enumerate(TOGETHER, start=1):
            await house.ask(colony(number))
            await asyncio.sleep(number * 0.5)  # each time it is elsewhere on its way
            await stop(house, names)
        assert len(await agreed(house)) == 1 + len(TOGETHER)
        await ended(house, range(1 + len(TOGETHER)))
        assert {child.program.name: child.deaths for child in house.stack.children} == dict.fromkeys(
            [name for names in TOGETHER for name in names], 1 if SECONDS > HANGS else 0
        )

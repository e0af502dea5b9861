"""Money is lost where a machine is forgotten: whatever was ever made is current, being released, or gone."""

import logging
import os

import pytest
import structlog

from tests.services.leaks.history import History, drawn, shortest
from tests.services.leaks.play import play

HISTORIES = int(os.environ.get("ALATE_TEST_HISTORIES", "200"))
"""How many are lived through; `make test-long` asks for 10,000."""
FIRST = int(os.environ.get("ALATE_TEST_SEED", "0"))

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(3600)]


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.CRITICAL, "asyncio")  # tells of every task that died with its process
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()


async def test_nothing_that_was_ever_made_is_forgotten():
    made = 0
    for seed in range(FIRST, FIRST + HISTORIES):
        history = drawn(seed)
        leaked, number = await play(seed, history)
        made += number
        if leaked:
            await _tell(seed, history)
    assert made > HISTORIES


async def _tell(seed: int, history: History) -> None:
    async def fails(less: History) -> bool:
        return bool((await play(seed, less))[0])

    least = await shortest(history, fails)
    leaked, _ = await play(seed, least)
    steps = "\n".join(f"  {step}" for step in least)
    pytest.fail(f"seed {seed} leaks: {'; '.join(leaked)}\nthe shortest history that does:\n{steps}", pytrace=False)

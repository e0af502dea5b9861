"""A queue of pods lets a pool grow on every back end, and a pause without any lets it shrink."""

import asyncio
from itertools import groupby

import pytest

from events.kube.resources import JOBS
from schemas.cluster import Ready
from tests.contracts.clouds.house import FIRST

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

POOL = {"name": "md", "accelerator": "H100", "acceleratorsPerNode": 8, "spot": "never"}


def job(number, seconds):
    """So many pods with all accelerators of a node each, which run so long."""
    main = {"name": "main", "image": "demo", "resources": {"limits": {"nvidia.com/gpu": 8}}}
    pod = {
        "metadata": {"annotations": {"sandbox.alate.dev/run-seconds": str(seconds)}},
        "spec": {"restartPolicy": "Never", "containers": [main]},
    }
    spec = {"parallelism": number, "completions": number, "template": pod}
    return {"metadata": {"name": "queue", "namespace": "default"}, "spec": spec}


async def test_a_queue_lets_a_pool_grow_to_its_bound_and_an_empty_one_lets_it_shrink(house):
    async with house.at_work(house.sandbox.inside()):
        await house.ask(pools=[POOL | {"nodes": 2, "minNodes": 1, "maxNodes": 4}])
        await house.until(Ready)
        inside = house.sandbox.world.kube(FIRST.replace("/", "."))
        await inside.create(JOBS, job(6, 1800))
        grown = await house.until(Ready, lambda state: state.attempt.placement.nodes == 4 and not state.resizing)
        assert (await house.shown())["nodesWanted"] == 4
        assert len(await house.paid()) == 5
        shrunk = await house.until(Ready, lambda state: state.attempt.placement.nodes == 1 and not state.resizing)
        assert (shrunk.attempt.number, len(await house.paid())) == (1, 2)
        assert (await inside.get(JOBS, "queue", "default"))["status"]["succeeded"] == 6
        assert shrunk.since > grown.since
        ready = [state for state in await house.states() if isinstance(state, Ready)]
        sizes = [nodes for nodes, _ in groupby(state.attempt.placement.nodes for state in ready)]
        assert sizes == [*sorted(sizes[:-1]), 1]
        said = await house.said()
        await asyncio.sleep(3600)
        assert await house.said() == said


async def test_a_queue_that_may_not_be_paid_for_is_told_with_the_price_and_nothing_grows(house):
    async with house.at_work(house.sandbox.inside()):
        await house.ask(pools=[POOL | {"nodes": 1, "maxNodes": 4}], maxPricePerHour=15)
        await house.until(Ready)
        await house.sandbox.world.kube(FIRST.replace("/", ".")).create(JOBS, job(3, 1800))
        held = await house.until(Ready, lambda state: state.unmet_demand)
        await asyncio.sleep(5)
        (told,) = (each for each in (await house.shown())["conditions"] if each["type"] == "Resizing")
        assert (told["status"], told["reason"], held.attempt.placement.nodes) == ("False", "PriceCap", 1)
        assert told["message"].endswith("would make it 20 USD per hour, more than maxPricePerHour 15")

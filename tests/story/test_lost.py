"""What a stack keeps is lost in parts: it goes on with what stands, or says in one sentence what is wrong.

Every day `tests/services/crash/test_taken_in.py` shows that what stands without a history is taken over.
"""

import asyncio
import shutil

import pytest

from events.kube.auth import transport
from events.kube.client import Kube
from events.kube.resources import CLUSTERS

pytestmark = [pytest.mark.stack, pytest.mark.slow, pytest.mark.timeout(300)]


async def clusters(stack):
    """The uid of each Cluster there is, by its name."""
    kube = Kube(await transport(str(stack.kubeconfig)), random=lambda: 0.5)
    try:
        return {one["metadata"]["name"]: one["metadata"]["uid"] for one in (await kube.list(CLUSTERS)).items}
    finally:
        await kube.close()


async def phases(stack):
    """Of each Colony its phase and whether its cluster's API is heard."""
    listed = (await stack.alate("get", "colonies", "-o", "json")).json["items"]
    return {one["metadata"]["name"]: (one["status"]["phase"], *_reached(one)) for one in listed}


def _reached(colony):
    (cluster,) = colony["status"]["clusters"]
    return (one["status"] for one in cluster["conditions"] if one["type"] == "Reachable")


async def soon(true, seconds=60.0):
    async with asyncio.timeout(seconds):
        while not await true():  # noqa: ASYNC110 - another process has no event to wait for
            await asyncio.sleep(0.5)


def lose(stack, stream):
    """Its folder is gone when NATS starts again."""
    (found,) = (stack.folder / "nats" / "jetstream").glob(f"**/streams/{stream}")
    shutil.rmtree(found)


async def test_without_its_history_and_its_ports_a_stack_goes_on_with_what_stands(up):
    flags = ("--gpus", "8", "--accelerator", "L4", "--per-node", "1", "--ttl", "1h")
    with up() as stack:
        for name in ("stays", "goes"):
            assert (await stack.alate("request", name, *flags, "--wait")).code == 0
        before = await clusters(stack)
    lose(stack, "EVENTS")
    (stack.folder / "ports.json").unlink()
    with up() as stack:
        heard = {"stays": ("Ready", "True"), "goes": ("Ready", "True")}
        await soon(lambda: _is(phases(stack), heard))
        assert await clusters(stack) == before
        gone = await stack.alate("delete", "goes", "--wait")
        assert gone.code == 0, gone
        left = {name: uid for name, uid in before.items() if name.startswith("stays")}
        assert await clusters(stack) == left
        await soon(lambda: _is(phases(stack), {"stays": ("Ready", "True")}))


async def _is(asked, wanted):
    return await asked == wanted

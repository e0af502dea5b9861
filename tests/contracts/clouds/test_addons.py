"""An add-on that is taken out of a Colony is taken off its cluster, which stays as it is with the others."""

import asyncio
from contextlib import suppress

import pytest

from events.errors import NotFound
from events.kube.discovery import find
from events.kube.resources import COLONIES, CONFIGMAPS, CRDS
from schemas.cluster import Ready
from tests.services.addons.house import KIND
from tests.services.addons.house import UNKNOWN as GADGET

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
"""
BOTH = {"kinds": KIND, "gadgets": f"{GADGET}---{SETTINGS}"}
"""The second needs the first."""


def listed(addons):
    return [{"name": name, "manifests": text} for name, text in addons.items()]


async def edit(house, **addons):
    """Somebody edits the Colony: these are its add-ons now."""
    colony = await house.kube.get(COLONIES, "train", "default")
    (cluster,) = colony["spec"]["clusters"]
    spec = {"spec": {"clusters": [cluster | {"addons": listed(addons)}]}}
    await house.kube.patch(COLONIES, "train", "default", spec, manager="person")


async def told(house, **wanted):
    """Wait until the Colony's status tells these phases, and no others; gives its add-ons."""
    async with asyncio.timeout(600):
        while True:
            addons = (await house.shown()).get("addons", ())
            if {one["name"]: one["phase"] for one in addons} == wanted:
                return {one["name"]: one.get("message") for one in addons}
            await asyncio.sleep(1)


async def there(kube):
    """What is on the cluster of all that the add-ons bring."""
    found = [each["metadata"]["name"] for kind in (CRDS, CONFIGMAPS) for each in (await kube.list(kind)).items]
    with suppress(NotFound):
        found += [each["metadata"]["name"] for each in (await kube.list(await gadgets(kube))).items]
    return {"gadgets.example.org", "settings", "one"} & {*found}


async def gadgets(kube):
    return await find(kube, "example.org/v1", "Gadget")


async def founded(house):
    await house.ask(addons=listed(BOTH))
    await house.until(Ready)
    await told(house, kinds="Applied", gadgets="Applied")
    inside = house.sandbox.world.kube("default.train-gpu-1")
    assert await there(inside) == {"gadgets.example.org", "settings", "one"}
    return inside


async def test_whoever_opened_a_cluster_for_them_closes_it_when_he_is_stopped(house):
    async with house.at_work():
        await founded(house)
    assert house.ways
    assert all(way.closed for way in house.ways)


async def test_one_that_is_taken_out_is_gone_and_the_others_stand(house):
    async with house.at_work():
        inside = await founded(house)
        await edit(house, kinds=KIND)
        await told(house, kinds="Applied")
        assert await there(inside) == {"gadgets.example.org"}
        assert isinstance(await house.state(), Ready)
        await edit(house)
        await told(house)
        assert await there(inside) == set()
        await edit(house, **BOTH)
        await told(house, kinds="Applied", gadgets="Applied")
        assert await house.life() == ["Pending", "Launching", "Provisioned", "Ready"]
        await house.let_go()
        await house.gone()


async def test_a_kind_that_another_one_needs_is_left_and_the_status_tells_why(house):
    async with house.at_work():
        inside = await founded(house)
        await edit(house, gadgets=BOTH["gadgets"])
        messages = await told(house, kinds="Withdrawn", gadgets="Applied")
        assert (
            messages["kinds"]
            == "CustomResourceDefinition gadgets.example.org is left: 1 objects of that kind are others'"
        )
        assert await there(inside) == {"gadgets.example.org", "settings", "one"}
        before = await house.said()
        await asyncio.sleep(3600)
        assert await house.said() == before


async def test_both_are_taken_out_at_once_whoever_needs_whom(house):
    async with house.at_work():
        inside = await founded(house)
        await edit(house)
        await told(house)
        assert await there(inside) == set()

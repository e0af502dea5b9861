"""Add-ons come and go on a real API server, whose own controllers end what is in a namespace and of a kind."""

import asyncio

import pytest

from events.kube.client import Kube
from events.kube.resources import CONFIGMAPS
from tests.contracts.api.sides import closing
from tests.kube.fixtures import plane
from tests.services.addons.conftest import house
from tests.services.addons.house import CONFIG, INSIDE, KIND, SPACE, UNKNOWN

__all__ = ["house", "plane"]
pytestmark = [pytest.mark.kube, pytest.mark.timeout(600)]

ALL = {"space", "inside", "theirs", "settings", "gadgets.example.org", "one", "alate-addon-driver", "alate-addon-jobs"}


@pytest.fixture
async def real(plane, house):
    """The house, whose cluster is a real one."""
    road = plane.transport(plane.token)
    house.workload, house.tries, house.pause = Kube(road, random=lambda: 0.5), 1000, 0.2
    async with closing({"admin": road}):
        yield house


async def there(house):
    return await house.there() & ALL


async def test_what_an_addon_brought_goes_with_it_and_nothing_else(real):
    await real.put_on(driver=f"{SPACE}---{INSIDE}---{KIND}---{UNKNOWN}", jobs=CONFIG)
    assert await there(real) == ALL - {"theirs"}

    await real.put_on(driver=f"{SPACE}---{INSIDE}", jobs=CONFIG)
    assert await there(real) == {"space", "inside", "settings", "alate-addon-driver", "alate-addon-jobs"}

    await real.has("ConfigMap", "theirs")
    await real.colony(jobs=CONFIG)
    assert await real.off() == "Namespace space is left: 1 objects in it are others'"
    assert await there(real) == {"space", "theirs", "settings", "alate-addon-jobs"}

    await real.workload.delete(CONFIGMAPS, "theirs", "space")
    await real.put_on(driver=f"{SPACE}---{INSIDE}---{CONFIG}", jobs=CONFIG)
    await real.colony()
    assert await asyncio.gather(real.off("driver"), real.off("jobs")) == ["", ""]
    assert await there(real) == set()

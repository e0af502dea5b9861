"""However often a cluster is launched, and wherever that dies, its objects are made once and are the same."""

from typing import Any

import msgspec
import pytest

from events.kube.client import Kube, Request, Response
from events.kube.resources import COLONIES
from schemas.crds import read_colony
from schemas.placement import Attempt, Placement
from services.clouds.port import backend_types
from services.gateway.wishes import wishes
from services.sandbox.seeds.kinds import KINDS
from tests.contracts.clouds.house import House
from tests.samples import LOT

pytestmark = pytest.mark.timeout(60)


class Died(BaseException):
    """The process is not there any more."""


class Mortal:
    """A way in that ends with its process: before one of its requests, or after it."""

    def __init__(self, beyond: Any, at: int = 0, *, after: bool = False) -> None:
        self._beyond, self._at, self._after = beyond, at, after
        self.calls = 0

    async def send(self, request: Request) -> Response:
        self.calls += 1
        if self.calls == self._at and not self._after:
            raise Died
        answer = await self._beyond.send(request)
        if self.calls == self._at:
            raise Died
        return answer


class Launch:
    """One cluster that is to be launched."""

    def __init__(self, house: House, wish: Any, attempt: Attempt) -> None:
        self.house, self.wish, self.attempt = house, wish, attempt

    async def by(self, transport: Any) -> None:
        backend = backend_types()[self.house.backend](Kube(transport, random=lambda: 0.5))
        await backend.launch(self.wish, self.attempt, self.wish.uid)

    async def made(self) -> dict[str, str]:
        """The version of every object there is of it, by kind and name."""
        found = [each for kind in KINDS for each in await self.house.sandbox.all(kind)]
        own = [each["metadata"] | each for each in found if each["metadata"]["name"].startswith("train-gpu")]
        return {f"{each['kind']} {each['name']}": each["resourceVersion"] for each in own}

    async def unmade(self) -> None:
        """Whatever there is of it, away."""
        for kind in KINDS:
            for each in await self.house.sandbox.all(kind):
                if each["metadata"]["name"].startswith("train-gpu"):
                    await self.house.kube.delete(kind, each["metadata"]["name"], "default")


@pytest.fixture
async def launch(house):
    await house.ask(nodes=2)
    (wish,) = wishes(read_colony(await house.kube.get(COLONIES, "train", "default")), house.backend)
    lots = (msgspec.structs.replace(LOT, pool=wish.need.pools[0].name),)
    return Launch(house, wish, Attempt(number=1, placement=Placement(cloud="aws", region="r1", lots=lots)))


async def test_launched_twice_is_launched_once(launch):
    await launch.by(launch.house.kube.transport)
    once = await launch.made()
    await launch.by(launch.house.kube.transport)
    assert await launch.made() == once != {}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_a_launch_that_died_at_any_request_is_finished_by_the_next(launch, after):
    beyond = launch.house.kube.transport
    calm = Mortal(beyond)
    await launch.by(calm)
    whole = set(await launch.made())
    for number in range(1, calm.calls + 1):
        await launch.unmade()
        with pytest.raises(Died):
            await launch.by(Mortal(beyond, number, after=after))
        await launch.by(beyond)
        assert set(await launch.made()) == whole, f"died at request {number}"

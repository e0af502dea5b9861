"""What other back ends reach is told as far as they can tell, and none of them holds up the answer."""

import msgspec
import pytest

from events.errors import Denied, TryLater
from services.clouds.port import reachable_elsewhere


class Backend:
    """Founds on these clouds, or says why it cannot tell."""

    def __init__(self, *clouds: str, fault: Denied | TryLater | None = None) -> None:
        self._clouds, self._fault = clouds, fault

    async def reach(self, _wish) -> dict[str, bool]:
        if self._fault:
            raise self._fault
        return dict.fromkeys(self._clouds, False)


@pytest.fixture
def asked(wish):
    return msgspec.structs.replace(wish, need=msgspec.structs.replace(wish.need, backend="own"))


async def test_each_cloud_is_told_with_the_first_back_end_by_name_that_reaches_it(asked):
    clouds = {"own": Backend("aws"), "b": Backend("gcp", "rack"), "a": Backend("gcp")}
    assert await reachable_elsewhere(asked, clouds) == {"gcp": "a", "rack": "b"}


@pytest.mark.parametrize("fault", [Denied("there is no template"), TryLater("it is away")], ids=["denied", "away"])
async def test_one_that_cannot_tell_is_passed_over(asked, fault):
    assert await reachable_elsewhere(asked, {"a": Backend(fault=fault), "b": Backend("gcp")}) == {"gcp": "b"}

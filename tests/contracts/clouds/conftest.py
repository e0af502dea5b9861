"""Every back end there is, each in a house of its own, under virtual time."""

import pytest

from services.clouds import kinds
from tests.contracts.clouds.house import House
from tests.services.sandbox.clouds.conftest import sandbox

__all__ = ["sandbox"]


@pytest.fixture(params=sorted(kinds()))
async def house(request, sandbox):
    """A house at work over one back end."""
    async with House(sandbox, request.param).at_work() as found:
        yield found

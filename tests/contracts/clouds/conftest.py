"""Every back end there is, each in a house of its own, under virtual time."""

import pytest

from services.clouds import kinds
from tests.contracts.clouds.house import House
from tests.services.sandbox.clouds.conftest import sandbox

__all__ = ["sandbox"]


@pytest.fixture(params=sorted(kinds()))
def house(request, sandbox):
    """A house over one back end; it goes to work within the test, for a fixture has no virtual time."""
    return House(sandbox, request.param)

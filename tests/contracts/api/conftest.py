"""The servers a conversation can be held with."""

import asyncio

import pytest

from tests.contracts.api import sides
from tests.kube.fixtures import plane, planes

__all__ = ["plane", "planes"]


@pytest.fixture(params=["in process", "over https"])
async def sandbox(request, tmp_path):
    """A sandbox that knows the kinds."""
    folder = tmp_path if request.param == "over https" else None
    async with sides.sandbox(sides.api_of_its_own(), folder=folder) as side:
        yield side


@pytest.fixture
async def local():
    """A sandbox in this process."""
    async with sides.sandbox(sides.api_of_its_own()) as side:
        yield side


@pytest.fixture(scope="session")
def known(plane):
    """The real control plane, with the kinds."""
    asyncio.run(sides.define(plane))
    return plane


@pytest.fixture
async def real(known):
    async with sides.real(known) as side:
        yield side

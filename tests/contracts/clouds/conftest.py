"""Every back end there is, each in a house of its own, under virtual time."""

import pytest

from services.clouds.port import backend_types
from tests.contracts.clouds.house import House
from tests.services.sandbox.clouds.conftest import sandbox

__all__ = ["sandbox"]
OF_A_CLASS = "capi of a class"
"""The same back end, where a ClusterClass is there beside the templates."""
CLASSES_MATTER = (
    "adopting",
    "autoscaled",
    "failing",
    "founding",
    "launching",
    "pools",
    "sleeping",
    "spot",
    "upgrading",
)
"""Contracts in which a Cluster of a class is written or read in another way: by its topology, not by its templates."""


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave a class to `make test-slow` where the back end does with it what it does without."""
    for item in items:
        if f"[{OF_A_CLASS}" in item.name and item.path.stem.removeprefix("test_") not in CLASSES_MATTER:
            item.add_marker("slow")


@pytest.fixture(params=[*sorted(backend_types()), OF_A_CLASS])
def house(request, sandbox):
    """A house over one back end; it goes to work within the test, for a fixture has no virtual time."""
    of_a_class = request.param == OF_A_CLASS
    return House(sandbox, "capi" if of_a_class else request.param, of_a_class=of_a_class)

"""A control plane is started once for all tests of a process that ask for one, and they skip where it is not built."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kube.places import REQUIRED, home, missing
from tests.kube.plane import ControlPlane

ENDING = "garbage-collector-controller,namespace-controller"
PLANE = ("etcd", "kube-apiserver", "kube-controller-manager")


def needs(*programs: str) -> None:
    """Skip the test, saying what is missing and how to get it, unless all the programs are there.

    Where they are required it fails instead.
    """
    if absent := missing(*programs):
        stop = pytest.fail if os.environ.get(REQUIRED) == "required" else pytest.skip
        stop(f"{', '.join(absent)} not in {home()}: `make kube` builds what is missing")


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """etcd, the API server, and of the controllers those alone that end things: nobody else writes."""
    needs(*PLANE)
    folder = tmp_path_factory.mktemp("plane")
    with ControlPlane(folder, "kube-controller-manager", controllers=ENDING) as running:
        yield running


@pytest.fixture
def planes(tmp_path: Path) -> Iterator[Callable[..., ControlPlane]]:
    """Starts a control plane of the test's own, with the parts it names."""
    running: list[ControlPlane] = []

    def start(*parts: str) -> ControlPlane:
        needs("etcd", "kube-apiserver", *parts)
        running.append(ControlPlane(tmp_path / f"plane-{len(running)}", *parts).__enter__())
        return running[-1]

    yield start
    for each in running:
        each.__exit__()

"""The stage of tests/story/kube, on containers: NATS is one, and so is every Kubernetes."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.kube.fixtures import needs
from tests.story.containers.engine import absent
from tests.story.containers.k3s import K3s, K3sWorld
from tests.story.kube.conftest import stage, train

__all__ = ["stage", "train"]
NATS = "nats:2.15"


@pytest.fixture(scope="session")
def engine() -> None:
    """Skip, with the reason, where no container can be started."""
    if why := absent():
        pytest.skip(why)


@pytest.fixture
def nats_server(engine: None) -> Iterator[SimpleNamespace]:
    """NATS with JetStream: its url."""
    from testcontainers.community.nats import NatsContainer  # noqa: PLC0415 - asks for the engine

    with NatsContainer(NATS, jetstream=True) as server:
        yield SimpleNamespace(url=server.nats_uri())


@pytest.fixture
def management(engine: None, tmp_path: Path) -> Iterator[K3s]:
    with K3s(tmp_path / "management", nodes=False) as cluster:
        yield cluster


@pytest.fixture
def world(engine: None, tmp_path: Path) -> K3sWorld:
    needs("kwok")
    return K3sWorld(tmp_path / "world")

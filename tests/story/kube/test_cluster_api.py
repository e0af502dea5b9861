"""Clusters are founded through the real Cluster API controllers here, and the simulated ones are held against them."""

import asyncio
import json
import random
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import structlog

from events.faults import NotFound
from events.kinds import CLUSTERS, COLONIES, MACHINEDEPLOYMENTS, NODES, SECRETS
from events.kube import Changed, Kube
from schemas.subjects import Key
from services.cli.demo.play import Play
from services.cli.demo.story import Story, event_of
from services.sources import Files
from tests.kube.fixtures import needs
from tests.kube.managers import NAMES, Managers
from tests.milestones import missing
from tests.services.sandbox.clouds.conftest import milestones, sandbox
from tests.story.kube.count import counted, settled
from tests.story.kube.ready import prepared
from tests.story.kube.services import Services, ended

__all__ = ["sandbox"]

FACTS = json.loads((Path(__file__).parents[2] / "data" / "capi_life.json").read_text())
CATALOG = """\
InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,SpotPrice,Region,AvailabilityZone
in-memory,H100,8.0,4.0,16.0,1.0,,here,
"""


def colony(nodes):
    pool = {"name": "md", "accelerator": "H100", "acceleratorsPerNode": 8, "nodes": nodes}
    return {
        "metadata": {"name": "train", "namespace": "default"},
        "spec": {"clusters": [{"name": "gpu", "clouds": ["dev"], "pools": [pool]}]},
    }


KEY = Key("cluster", "default", "train-gpu")
NAME, POOL = "train-gpu-1", "train-gpu-1-md"

# A life of one worker, then three, then one, then none: what a decision could hang on, in its order.
# Left out: what a busy controller passes over (phase Provisioning), and what two controllers race for.
LIFE = """
WorkersAvailable: Unknown AvailableUnknown
phase: Provisioned
WorkerMachinesReady: False NotReady
RemoteConnectionProbe: True ProbeSucceeded
ControlPlaneInitialized: True Initialized
controlPlaneInitialized: true
Available: True Available
Available: False NotAvailable
ScalingUp: True ScalingUp
Available: True Available
ScalingDown: True ScalingDown
ScalingDown: False NotScalingDown
Available: False NotAvailable
Deleting: True WaitingForWorkersDeletion
phase: Deleting
WorkerMachinesReady: True NoReplicas
Deleting: True WaitingForControlPlaneDeletion
ControlPlaneAvailable: False ObjectDeleted
Deleting: True WaitingForInfrastructureDeletion
InfrastructureReady: False ObjectDeleted
Deleting: True DeletionCompleted
""".strip().splitlines()
# Whether the workers' own condition turns before, with or after the summary of all is such a race.
WORKERS = [
    "WorkersAvailable: Unknown AvailableUnknown",
    "WorkersAvailable: True Available",
    "WorkersAvailable: False NotAvailable",
]
LIVES = (LIFE, WORKERS)


@pytest.mark.looptime
async def test_a_simulated_cluster_passes_the_same_milestones(sandbox):
    async with sandbox.watched(), sandbox.running():
        await sandbox.apply("burst-1", REPLICAS="1")
        await asyncio.sleep(20)
        for workers in (3, 1):
            await sandbox.scale("burst-1-md", workers)
            await asyncio.sleep(20)
        await sandbox.kube.delete(CLUSTERS, "burst-1", "default")
        await sandbox.gone(CLUSTERS)
        await asyncio.sleep(1)
    reached = milestones([each for each in sandbox.seen if each["kind"] == "Cluster"])
    assert [missing(life, reached) for life in LIVES] == [None, None]
    assert set(reached) <= set(FACTS["cluster"])


class Factory:
    """The services over real Cluster API, and what a watch saw of its Clusters."""

    def __init__(self, services, play, before):
        self.services, self.play, self.before = services, play, before
        self.kube, self.seen, self.phases = services.kube, [], []

    async def watch(self):
        async for sight in self.kube.watch(CLUSTERS):
            if isinstance(sight, Changed) and not sight.gone:
                self.seen.append(sight.object)

    async def watch_colony(self):
        async for sight in self.kube.watch(COLONIES):
            if isinstance(sight, Changed) and not sight.gone:
                self.phases.append(sight.object.get("status", {}).get("phase"))

    async def workers(self, number):
        """Wait until the inventory says that so many workers are there, and all are ready."""

        async def look():
            nodes = [each for each in self.play.story.nodes.values() if each.present and not each.control_plane]
            return len(nodes) == number and all(each.ready and each.freshness == "known" for each in nodes)

        await self.services.until(look, 120)

    async def condition(self, type_, status):
        async def look():
            told = (await self.kube.get(CLUSTERS, NAME, "default")).get("status", {}).get("conditions", ())
            return any(one["type"] == type_ and one["status"] == status for one in told)

        await self.services.until(look, 120)


@pytest.fixture
async def factory(management, tmp_path, nats_server):
    needs(*NAMES)
    (tmp_path / "dev.csv").write_text(CATALOG)
    async with AsyncExitStack() as at_end:
        kube = Kube(management.transport(), random=random.random)
        at_end.push_async_callback(kube.close)
        await prepared(kube)
        at_end.enter_context(Managers(management))
        before = await settled(kube)
        services = Services(nats_server.url, management.transport, (Files(tmp_path / "dev.csv"),), "capi", kube)
        await at_end.enter_async_context(services)
        found = Factory(services, Play(services.bus, kube, Story()), before)
        tasks = [asyncio.ensure_future(one) for one in (found.play.follow(), found.watch(), found.watch_colony())]
        at_end.push_async_callback(ended, *tasks)
        yield found


async def nodes_behind(factory):
    """The names of the nodes, asked of the cluster's own API through the kubeconfig in its Secret."""
    secret = (await factory.kube.get(COLONIES, "train", "default"))["status"]["clusters"][0]["kubeconfigSecret"]
    assert await factory.kube.get(SECRETS, secret, "default")
    running = factory.services.running["inventory"]
    (opened,) = running.opened
    return {each["metadata"]["name"] for each in (await opened.list(NODES)).items}


@pytest.mark.kube
@pytest.mark.timeout(600)
async def test_real_cluster_api_founds_scales_and_ends_a_cluster(factory):
    """Its nodes have no GPUs (the provider keeps them in memory alone), so the Colony is Provisioned, never Ready."""
    await factory.kube.apply(COLONIES, colony(1), manager="somebody")
    await factory.workers(1)
    await factory.condition("Available", "True")
    seen = {node for (_, node), each in factory.play.story.nodes.items() if each.present}
    assert await nodes_behind(factory) == seen
    assert len(seen) == 2

    for workers in (3, 1):
        await factory.kube.apply(COLONIES, colony(workers), manager="somebody")
        await factory.workers(workers)
        assert (await factory.kube.get(MACHINEDEPLOYMENTS, POOL, "default"))["spec"]["replicas"] == workers
        await factory.condition("Available", "True")
        await factory.condition("ScalingDown", "False")
    assert len(await nodes_behind(factory)) == 2

    await factory.kube.delete(COLONIES, "train", "default")

    async def gone():
        try:
            await factory.kube.get(COLONIES, "train", "default")
        except NotFound:
            return True

    await factory.services.until(gone, 120)
    await clean(factory)
    way = [event_of(each) for each in factory.play.story.states[KEY]]
    assert list(dict.fromkeys(way)) == ["requested", "launching", "provisioned", "releasing", "released"]
    assert way == sorted(way, key=list(dict.fromkeys(way)).index)  # never back to what it was before
    phases = [each for each in factory.phases if each]
    assert set(phases[phases.index("Provisioned") :]) == {"Provisioned", "Deleting"}
    assert_as_simulated(milestones(factory.seen))


async def clean(factory):
    expected = frozenset({KEY, Key("teardown", *KEY[1:])})
    last = []

    async def look():
        last.append(await counted(factory.services.bus, factory.kube, factory.before, expected))
        return last[-1].clean

    try:
        await factory.services.until(look, 60)
    except TimeoutError as late:
        raise AssertionError(last[-1]) from late


def assert_as_simulated(reached):
    structlog.get_logger().info("cluster.lived", reached=reached)
    assert [missing(life, reached) for life in LIVES] == [None, None]
    assert set(reached) <= set(FACTS["cluster"])

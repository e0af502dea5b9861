"""The teardown service: the messages it receives, its decisions, and its calls."""

from collections.abc import Mapping

from events.bus import Bus
from schemas import cluster
from schemas.addon import Withdrawn
from schemas.inventory import ClusterSeen
from schemas.subjects import Key
from services.clients.workload_clusters import WorkloadClusters
from services.clouds.port import Cloud
from services.runtime.consumer import subscribe, subscribe_all
from services.runtime.loop import Service
from services.teardown.act import act
from services.teardown.decide import decide
from services.teardown.todo import todo

SUBSCRIPTIONS = (
    subscribe_all(cluster.LIFECYCLE, lambda names, state: ((Key("teardown", names[2], names[3]), state),)),
    subscribe(ClusterSeen, lambda names, seen: ((Key("teardown", names[2], seen.cluster), seen),)),
    subscribe(Withdrawn, lambda _, addon: ((Key("teardown", addon.tenant, addon.cluster), addon),)),
)


def service(bus: Bus, workloads: WorkloadClusters, clouds: Mapping[str, Cloud]) -> Service:
    """The service."""
    return Service("teardown", decide, todo, SUBSCRIPTIONS, act(bus, workloads, clouds))

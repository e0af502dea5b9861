"""Writes ClusterClassifiers for a fleet, and reads what is said of them."""

from events.kube.resources import CLUSTERCLASSIFIERS
from schemas.registry import Stream
from tests.services.addons.fleet import config_map

DRIVER = {"name": "driver", "manifests": config_map("driver")}


async def classify(clusters, name, *rules, **more):
    document = {"metadata": {"name": name}, "spec": {"rules": list(rules), **more}}
    await clusters.management.apply(CLUSTERCLASSIFIERS, document, manager="user")


async def conditions(clusters, name):
    status = (await clusters.management.get(CLUSTERCLASSIFIERS, name)).get("status", {})
    return {each["type"]: each for each in status.get("conditions", ())}


async def told(clusters, name, condition, status):
    """The reason and message of a condition, once it has this status."""

    async def look():
        found = (await conditions(clusters, name)).get(condition, {})
        return found if found.get("status") == status else None

    found = await clusters.until(look)
    return found["reason"], found["message"]


async def levels(clusters):
    """What is published, with its place in the stream."""
    return [(each.subject, each.sequence) for each in await clusters.bus.read(Stream.LEVELS, "observed.>")]

"""Add-ons that are applied once, that are left behind, and that stay while what they look after exists."""

import asyncio

import pytest

from events.kube.client import Resource
from tests.services.addons.fleet import config_map, fleet

pytestmark = pytest.mark.looptime
GOLD = {"matchLabels": {"tier": "gold"}}
NOWHERE = {"matchLabels": {"tier": "nowhere"}}
RAYS = Resource("example.dev", "v1", "rays", "Ray", namespaced=True)
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rays.example.dev}
spec:
  group: example.dev
  scope: Namespaced
  names: {plural: rays, singular: ray, kind: Ray, listKind: RayList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


@pytest.fixture
async def clusters():
    async with fleet() as made:
        await made.found("train-a", tier="gold")
        yield made


def once(size, mode="Once"):
    return {"name": "nfd", "manifests": config_map("nfd", size=size), "mode": mode}


async def size(clusters):
    return (await clusters.get("train-a", "nfd"))["data"]["size"]


async def becomes(clusters, state, addon="base.nfd"):
    async def look():
        return (await clusters.states("train-a", addon))[-1:] == [state]

    await clusters.until(look)


async def test_what_is_applied_once_ignores_later_edits_and_restarts_and_goes_when_it_is_selected_no_longer(clusters):
    await clusters.profile("base", once("1"), clusters=GOLD)
    await becomes(clusters, "applied")
    await clusters.profile("base", once("2"), clusters=GOLD)
    await asyncio.sleep(90)
    await clusters.stop()
    await clusters.start()
    await asyncio.sleep(90)
    assert await size(clusters) == "1"
    assert (await clusters.status("base"))["ready"] == 1
    await clusters.profile("base", once("2"), clusters=NOWHERE)
    await clusters.has("train-a")


async def test_what_was_applied_once_follows_its_description_as_soon_as_its_mode_says_so(clusters):
    await clusters.profile("base", once("1"), clusters=GOLD)
    await becomes(clusters, "applied")
    await clusters.profile("base", once("2"), clusters=GOLD)
    await asyncio.sleep(30)
    await clusters.profile("base", once("2", mode="Correct"), clusters=GOLD)

    async def follows():
        return await size(clusters) == "2"

    await clusters.until(follows)


async def test_of_what_is_left_no_label_and_no_annotation_of_an_owner_stays(clusters):
    await clusters.profile("base", once("1", mode="Correct"), clusters=GOLD, onUnmatch="Leave")
    await becomes(clusters, "applied")
    await clusters.profile("base", once("1", mode="Correct"), clusters=NOWHERE, onUnmatch="Leave")
    await becomes(clusters, "withdrawn")
    meta = (await clusters.get("train-a", "nfd"))["metadata"]
    assert [*meta.get("labels", ()), *meta.get("annotations", ())] == []


async def test_an_add_on_stays_while_an_object_exists_that_it_looks_after_and_says_which(clusters):
    kept = [{"apiVersion": "example.dev/v1", "kind": "Ray"}]
    operator = {"name": "operator", "manifests": config_map("operator"), "keepWhile": kept}
    kube = clusters.clusters["train-a"]
    await clusters.profile("base", {"name": "kinds", "manifests": DEFINITION}, clusters=GOLD)
    await becomes(clusters, "applied", "base.kinds")
    await clusters.profile("tools", operator, clusters=GOLD)
    await becomes(clusters, "applied", "tools.operator")
    await kube.create(RAYS, {"metadata": {"name": "work", "namespace": "default"}})
    await clusters.drop("tools")

    async def waits():
        return await clusters.message("train-a", "tools.operator") == "waits until Ray default/work is gone"

    await clusters.until(waits)
    await asyncio.sleep(300)
    assert await clusters.get("train-a", "operator") is not None
    await kube.delete(RAYS, "work", "default")
    await becomes(clusters, "withdrawn", "tools.operator")
    assert await clusters.get("train-a", "operator") is None


async def test_an_add_on_of_a_cluster_that_ends_waits_for_nothing_that_it_looks_after(clusters):
    kept = [{"apiVersion": "v1", "kind": "Namespace"}]
    operator = {"name": "operator", "manifests": config_map("operator"), "keepWhile": kept}
    await clusters.profile("tools", operator, clusters=GOLD)
    await becomes(clusters, "applied", "tools.operator")
    await clusters.clean("train-a", "tools.operator")
    await becomes(clusters, "withdrawn", "tools.operator")


async def test_of_a_cluster_that_is_gone_nothing_is_waited_for(clusters):
    await clusters.profile("base", once("1"), clusters=GOLD)
    await becomes(clusters, "applied")
    del clusters.clusters["train-a"]
    await clusters.release("train-a")
    await becomes(clusters, "withdrawn")

"""A change of what add-ons refer to reaches at once the add-ons that it concerns, and no others."""

import asyncio

import pytest

from events.kube.discovery import find
from events.kube.resources import CONFIGMAPS, CRDS
from schemas.crds import AddonSpec
from services.addons.descriptions import Description
from services.addons.reference_watches import ReferenceWatches
from services.addons.references import ReferencedKind, ReferencedObject, references
from tests.services.addons.fleet import TENANT, config_map, fleet

SOON = 20.0
"""Seconds within which a change must show, as templates are filled by a real process; the next check by the clock comes
after 54 to 60."""
A_WHILE = 0.4
GIT = ("source.toolkit.fluxcd.io/v1", "GitRepository")


def refers_to(settings, name="driver"):
    text = config_map(name, value="{{ objects.settings.data.size }}")
    named = {"variable": "settings", "apiVersion": "v1", "kind": "ConfigMap", "name": settings}
    return {"name": name, "templated": True, "manifests": text, "objects": [named]}


async def write(clusters, name, **data):
    document = {"metadata": {"name": name, "namespace": TENANT}, "data": data}
    await clusters.management.apply(CONFIGMAPS, document, manager="user")


async def version(clusters, cluster):
    return (await clusters.get(cluster, "driver"))["metadata"]["resourceVersion"]


async def value(clusters, cluster):
    found = await clusters.get(cluster, "driver")
    return found and found["data"]["value"]


@pytest.fixture
async def clusters():
    async with fleet() as made:
        for tier in ("gold", "iron"):
            await made.found(f"train-{tier}", tier=tier)
            await write(made, tier, size="small")
            await made.profile(tier, refers_to(tier), clusters={"matchLabels": {"tier": tier}})
        for tier in ("gold", "iron"):
            await made.has(f"train-{tier}", "driver")
        await asyncio.sleep(A_WHILE)
        yield made


async def test_a_changed_source_is_rendered_again_at_once_where_it_is_referred_to_and_nowhere_else(clusters):
    before = await version(clusters, "train-iron")
    await write(clusters, "gold", size="large")
    await clusters.until(lambda: is_("large", clusters), SOON)
    assert (await value(clusters, "train-iron"), await version(clusters, "train-iron")) == ("small", before)
    assert await clusters.states("train-iron", "iron.driver") == ["applying", "applied"]


async def is_(wanted, clusters):
    return await value(clusters, "train-gold") == wanted


async def test_a_field_that_no_addon_reads_causes_no_write(clusters):
    before = await version(clusters, "train-gold")
    await write(clusters, "gold", size="small", colour="red")
    await asyncio.sleep(A_WHILE)
    assert await version(clusters, "train-gold") == before
    assert await clusters.states("train-gold", "gold.driver") == ["applying", "applied"]


async def test_a_restarted_service_follows_what_applied_addons_refer_to(clusters):
    await clusters.stop()
    await clusters.start()
    await asyncio.sleep(A_WHILE)
    await write(clusters, "gold", size="large")
    await clusters.until(lambda: is_("large", clusters), SOON)


async def test_a_degraded_addon_is_tried_again_at_once_when_what_it_refers_to_is_mended(clusters):
    await write(clusters, "gold", other="x")
    await clusters.until(lambda: degraded(clusters), SOON)
    await write(clusters, "gold", size="large")
    await clusters.until(lambda: is_("large", clusters), SOON)


async def degraded(clusters):
    return (await clusters.states("train-gold", "gold.driver"))[-1] == "degraded"


async def test_an_addon_that_waits_for_what_it_refers_to_is_applied_once_that_is_there(clusters):
    await clusters.profile("base", refers_to("later", "late"), clusters={"names": ["train-gold"]})
    await clusters.until(lambda: waits(clusters))
    await write(clusters, "later", size="large")
    await clusters.until(lambda: is_applied(clusters), SOON)


async def waits(clusters):
    return "which is not there" in await clusters.message("train-gold", "base.late")


async def is_applied(clusters):
    return (await clusters.states("train-gold", "base.late"))[-1] == "applied"


def described(**fields):
    return references(Description(AddonSpec.model_validate({"name": "driver", **fields}), "d1", TENANT))


def test_all_that_a_description_names_in_the_management_cluster_is_known():
    source = {"flux": {"kind": "Bucket", "name": "b", "namespace": "flux"}, "credentials": {"name": "key"}}
    values = [{"kind": "Secret", "name": "values"}]
    found = {(each.of.kind, each.of.namespace, each.name) for each in described(source=source, valuesFrom=values)}
    assert found == {("Bucket", "flux", "b"), ("Secret", TENANT, "key"), ("Secret", TENANT, "values")}
    there = {"variable": "a", "apiVersion": "v1", "kind": "Node", "name": "n", "place": "Cluster"}
    assert not described(manifests="x", templated=True, objects=[there])


def to(name, kind=("v1", "ConfigMap"), namespace=TENANT):
    return frozenset({ReferencedObject(ReferencedKind((kind[0],), kind[1], namespace), name)})


@pytest.fixture
async def alone():
    async with fleet() as made:
        yield made


@pytest.fixture
async def watches(alone):
    made = ReferenceWatches(alone.management, most=2)
    yield made
    await made.close()


async def test_addons_share_one_watch_per_kind_and_namespace_which_ends_with_the_last_of_them(watches):
    for number in range(100):
        watches.follow((TENANT, f"c-{number}", "driver"), to(f"settings-{number}"))
    assert watches.number == 1
    for number in range(100):
        watches.drop((TENANT, f"c-{number}", "driver"))
    await asyncio.sleep(0.1)
    assert watches.number == 0


async def test_there_are_never_more_watches_than_allowed(watches):
    for number in range(5):
        watches.follow((TENANT, "c", f"driver-{number}"), to("settings", namespace=f"n-{number}"))
    assert watches.number == 2


async def test_a_new_artifact_of_flux_wakes_the_addons_of_that_source_alone(alone, watches):
    names = {"plural": "gitrepositories", "kind": "GitRepository"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    served = {"name": "v1", "served": True, "storage": True, "schema": schema}
    crd = {"metadata": {"name": "gitrepositories.source.toolkit.fluxcd.io"}}
    crd |= {"spec": {"group": GIT[0].partition("/")[0], "scope": "Namespaced", "names": names, "versions": [served]}}
    await alone.management.create(CRDS, crd)
    told = []
    watches.listen(lambda *addon: told.append(addon))
    kind = await find(alone.management, *GIT)
    for name in ("apps", "tools"):
        await alone.management.apply(kind, repository(name, "1"), manager="flux")
        watches.follow((TENANT, "c", name), to(name, GIT))
    await asyncio.sleep(A_WHILE)
    await alone.management.apply(kind, repository("apps", "2"), manager="flux")
    await asyncio.sleep(A_WHILE)
    assert told == [(TENANT, "c", "apps")]


def repository(name, revision):
    status = {"artifact": {"revision": revision}}
    return {"metadata": {"name": name, "namespace": TENANT}, "status": status}

"""Holds the cases of an immutable change and of objects in a List."""

import json

import pytest

from tests.services.addons.fleet import config_map, fleet, of_maps

pytestmark = pytest.mark.looptime


@pytest.fixture
async def clusters():
    async with fleet() as made:
        await made.found("train-a")
        yield made


def fixed(size, **more):
    document = json.loads(config_map("web", size=size)) | {"immutable": True}
    return {"name": "web", "manifests": json.dumps(document), **more}


async def test_an_immutable_change_is_refused_and_made_with_recreate(clusters):
    await clusters.profile("base", fixed("1"))
    await clusters.is_now("train-a", "base.web", "applied")
    before = await clusters.get("train-a", "web")
    await clusters.profile("base", fixed("2"))
    await clusters.is_now("train-a", "base.web", "degraded")
    assert "only with recreate: true" in await clusters.message("train-a", "base.web")
    assert await clusters.get("train-a", "web") == before
    await clusters.profile("base", fixed("2", recreate=True))
    await clusters.is_now("train-a", "base.web", "applied")
    after = await clusters.get("train-a", "web")
    assert after["data"] == {"size": "2"}
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


async def test_the_objects_of_a_list_are_applied_one_by_one(clusters):
    items = [json.loads(config_map(name)) for name in ("one", "two")]
    written = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    await clusters.profile("base", {"name": "web", "manifests": written})
    await clusters.has("train-a", "one", "two")
    await clusters.profile("base", of_maps("web", {"one": "1"}))
    await clusters.has("train-a", "one")

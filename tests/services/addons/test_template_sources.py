"""Holds the case of a template that fails: it is reported with its place, and applied once it is mended."""

from events.kube.resources import CONFIGMAPS
from tests.services.addons.fleet import TENANT, config_map, fleet

SIZE = {"variable": "settings", "apiVersion": "v1", "kind": "ConfigMap", "name": "settings"}


async def test_a_template_error_is_reported_with_its_place_and_clears_when_its_source_is_mended():
    async with fleet() as made:
        await made.found("train-a")
        await settings(made, colour="red")
        text = config_map("web", size="{{ objects.settings.data.size }}")
        await made.profile("base", {"name": "web", "templated": True, "manifests": text, "objects": [SIZE]})
        await made.says("train-a", "base.web", "line 1, column")
        assert await made.get("train-a", "web") is None
        await settings(made, size="large")
        await made.has("train-a", "web")
        await made.is_now("train-a", "base.web", "applied")
        assert await made.message("train-a", "base.web") == ""


async def settings(made, **data):
    document = {"metadata": {"name": "settings", "namespace": TENANT}, "data": data}
    await made.management.apply(CONFIGMAPS, document, manager="user")

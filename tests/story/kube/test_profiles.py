"""A profile with charts on a real cluster: in order, corrected when others change it, and gone without a rest."""

import asyncio
import json
import re
import subprocess
import tarfile
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from events.errors import NotFound
from events.kube.client import Kube
from events.kube.discovery import find
from events.kube.resources import CONFIGMAPS
from tests.kube.places import home
from tests.services.addons.classifiers.stage import classify
from tests.services.addons.fleet import TENANT, config_map, fleet
from tests.services.addons.trigger_stage import LARGE, TriggerStage
from tests.story.kube.helm_stage import CM, chart, running, with_node

pytestmark = [pytest.mark.kube, pytest.mark.alone, pytest.mark.timeout(600)]
CLUSTER = "train-a"


@pytest.fixture(scope="module")
def cluster_plane(tmp_path_factory):
    with running(tmp_path_factory.mktemp("profiles")) as plane:
        yield plane


class Stage:
    """One real cluster of a fleet, and charts that are served to it."""

    def __init__(self, made, plane, kube, folder, address):
        self.fleet, self.plane, self.kube, self.folder, self.address = made, plane, kube, folder, address

    def serve(self, source: Path) -> dict:
        """A chart as an add-on's source."""
        packed = self.folder / f"{source.name}.tgz"
        with tarfile.open(packed, "w:gz") as archive:
            archive.add(source, source.name)
        return {"url": f"{self.address}/{packed.name}"}

    async def get(self, kind: str, name: str, namespace: str = "default", api_version: str = "v1"):
        try:
            return await self.kube.get(await find(self.kube, api_version, kind), name, namespace)
        except NotFound:
            return None

    def releases(self) -> dict[str, tuple[str, str]]:
        """What the `helm` program lists: revision and state by name."""
        config = self.folder / "kubeconfig"
        config.write_text(self.plane.kubeconfig_for(self.plane.token))
        asked = [home() / "helm", "list", "-A", "-o", "json", "--kubeconfig", config]
        told = subprocess.run([*map(str, asked)], capture_output=True, text=True, check=True).stdout
        return {each["name"]: (each["revision"], each["status"]) for each in json.loads(told)}

    async def state(self, addon: str) -> str:
        states = await self.fleet.states(CLUSTER, addon)
        return states[-1] if states else ""

    async def until(self, addon: str, state: str, within: float = 240.0) -> None:
        async def there():
            return await self.state(addon) == state

        try:
            await self.fleet.until(there, within)
        except TimeoutError:
            said = await self.fleet.message(CLUSTER, addon)
            raise AssertionError(f"{addon} is {await self.state(addon)}: {said}") from None


@asynccontextmanager
async def served(folder: Path):
    app = web.Application()
    app.router.add_static("/", folder)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.fixture
async def stage(cluster_plane, tmp_path):
    kube, shown = Kube(cluster_plane.transport(), random=lambda: 0.5), tmp_path / "served"
    shown.mkdir()
    await with_node(kube)
    async with fleet(tmp_path / "cache") as made, served(shown) as address:
        config = cluster_plane.kubeconfig_for(cluster_plane.token)
        made.real[config], made.clusters[CLUSTER] = kube, kube
        await made.adopt(CLUSTER, config, tier="gold")
        yield Stage(made, cluster_plane, kube, shown, address)
        await made.stop()
    await kube.close()


@pytest.fixture
def small(tmp_path):
    return chart(tmp_path / "small", one=CM % "one")


async def test_a_chart_comes_after_what_it_needs_is_corrected_upgraded_and_gone(stage, small):
    source = stage.serve(small)
    first = {"name": "first", "manifests": config_map("first")}
    second = {"name": "second", "source": source, "dependsOn": [{"name": "first"}]}
    await stage.fleet.profile("base", first, second)
    await stage.until("base.second", "applied")
    assert stage.releases() == {"second": ("1", "deployed")}

    await stage.kube.patch(CONFIGMAPS, "one", "default", {"data": {"size": "9"}}, manager="somebody")
    await stage.fleet.until(lambda: size_is(stage, "1"), 60)
    assert stage.releases() == {"second": ("1", "deployed")}

    await stage.kube.delete(CONFIGMAPS, "one", "default")
    await stage.fleet.until(lambda: size_is(stage, "1"), 60)

    await stage.fleet.profile("base", first, {**second, "values": {"size": "{{ cluster.colony }}"}, "templated": True})
    await stage.fleet.until(lambda: size_is(stage, "train"), 60)
    assert stage.releases() == {"second": ("2", "deployed")}

    await stage.fleet.drop("base")
    await stage.until("base.second", "withdrawn")
    await stage.until("base.first", "withdrawn")
    assert stage.releases() == {}
    assert await stage.get("ConfigMap", "one") is None
    assert await stage.get("ConfigMap", "first") is None


async def size_is(stage, size):
    seen = await stage.get("ConfigMap", "one")
    return seen is not None and seen["data"]["size"] == size


async def test_a_release_that_two_profiles_want_is_said_to_be_the_others(stage, small):
    """The source is no chart by what it is called: that it holds one shows once it is fetched."""
    addon = {"name": "c", "source": stage.serve(small)}
    await stage.fleet.profile("one", addon)
    await stage.until("one.c", "applied")
    await stage.fleet.profile("two", addon)

    async def said():
        return await stage.fleet.message(CLUSTER, "two.c") == "the release default/c is that of one.c"

    await stage.fleet.until(said)
    await stage.fleet.drop("one")
    await stage.until("two.c", "applied")
    await stage.fleet.drop("two")
    await stage.until("two.c", "withdrawn")
    assert stage.releases() == {}


GADGET = "apiVersion: example.org/v1\nkind: Gadget\nmetadata: {name: one}\n"


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{{ fail `it is wrong` }}", "broken/templates/one.yaml.*it is wrong"),
        ("kind: [ConfigMap", "YAML parse error on broken/templates/one.yaml.*"),
        (GADGET, 'no matches for kind "Gadget" in version "example.org/v1".*'),
    ],
)
async def test_what_is_wrong_with_a_chart_is_one_sentence_and_the_rest_goes_on(stage, tmp_path, template, why):
    bad = {"name": "bad", "source": stage.serve(chart(tmp_path / "broken", name="broken", one=template))}
    needing = {"name": "needing", "manifests": config_map("needing"), "dependsOn": [{"name": "bad"}]}
    await stage.fleet.profile("base", needing, bad, {"name": "good", "manifests": config_map("good")})
    await stage.until("base.good", "applied")

    async def told():
        return re.search(why, await stage.fleet.message(CLUSTER, "base.bad"))

    try:
        await stage.fleet.until(told, 60)
    except TimeoutError:
        raise AssertionError(await stage.fleet.message(CLUSTER, "base.bad")) from None
    assert "\n" not in await stage.fleet.message(CLUSTER, "base.bad")
    await stage.fleet.says(CLUSTER, "base.needing", "waits for base.bad (")
    assert await stage.get("ConfigMap", "needing") is None
    await stage.fleet.drop("base")
    for name in ("bad", "good", "needing"):
        await stage.until(f"base.{name}", "withdrawn")


async def test_a_profile_writes_with_the_rights_of_its_account_alone(stage):
    await stage.fleet.profile("base", {"name": "a", "manifests": config_map("a")}, serviceAccountName="deployer")
    await stage.until("base.a", "degraded")
    said = await stage.fleet.message(CLUSTER, "base.a")
    assert f"system:serviceaccount:{TENANT}:deployer" in said
    await stage.fleet.drop("base")
    await stage.until("base.a", "withdrawn")


async def test_checks_before_deployment_a_pause_and_an_immutable_field_hold_an_addon_back(stage):
    go = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "go"}
    await stage.fleet.profile("base", fixed("1") | {"preDeployChecks": [go]})
    await stage.fleet.says(CLUSTER, "base.web", "there is no ConfigMap go in default")
    assert await stage.get("ConfigMap", "web") is None
    await stage.kube.apply(CONFIGMAPS, {"metadata": {"name": "go", "namespace": "default"}}, manager="somebody")
    await stage.until("base.web", "applied")
    await stage.fleet.profile("base", fixed("2"))
    await stage.until("base.web", "degraded")
    assert "only with recreate: true" in await stage.fleet.message(CLUSTER, "base.web")
    await stage.fleet.profile("base", fixed("2") | {"recreate": True})
    await stage.until("base.web", "applied")
    assert (await stage.get("ConfigMap", "web"))["data"] == {"size": "2"}
    await stage.fleet.say(stage.fleet.ready(CLUSTER, **{"alate.dev/paused": "true"}))
    await stage.fleet.profile("base", {"name": "other", "manifests": config_map("other")})
    await asyncio.sleep(3)
    assert await stage.get("ConfigMap", "web") is not None
    assert await stage.get("ConfigMap", "other") is None
    await stage.fleet.say(stage.fleet.ready(CLUSTER))
    await stage.until("base.other", "applied")
    await stage.until("base.web", "withdrawn")
    await stage.fleet.drop("base")
    await stage.until("base.other", "withdrawn")
    await stage.kube.delete(CONFIGMAPS, "go", "default")


def fixed(size: str) -> dict:
    document = json.loads(config_map("web", size=size)) | {"immutable": True}
    return {"name": "web", "manifests": json.dumps(document)}


async def test_a_trigger_acts_on_an_object_of_a_real_cluster_once_and_withdraws_with_it(stage):
    triggers = TriggerStage(stage.fleet)
    triggers.follow()
    await triggers.put(CLUSTER, "one", size="L")
    await triggers.trigger(LARGE, LARGE | {"name": "widgets", "apiVersion": "example.com/v1", "kind": "Widget"})
    assert "does not serve example.com/v1" in await triggers.is_not_ready("UnknownKind")
    await triggers.until_profiles(f"{CLUSTER}-one")
    await stage.fleet.until(lambda: of(triggers, "one"), 60)
    await triggers.trigger(LARGE)
    await triggers.is_ready()
    await triggers.put(CLUSTER, "one", size="L", more="x")
    await triggers.drop(CLUSTER, "one")
    await triggers.until_profiles()
    await stage.fleet.until(lambda: of(triggers, ""), 60)
    assert await triggers.requests() == [f"profile.requested.{TENANT}", f"profile.withdraw.{TENANT}.{CLUSTER}-one"]
    await triggers.leave()


async def test_an_object_of_a_real_cluster_labels_it_as_long_as_it_is_there(stage):
    flag = {"variable": "flag", "apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "flag"}
    rule = {"when": "has(objects.flag)", "labels": {"size": "{{ objects.flag.data.size }}"}}
    await classify(stage.fleet, "flags", rule, objects=[flag])
    await stage.fleet.profile(
        "base", {"name": "a", "manifests": config_map("a")}, clusters={"matchLabels": {"size": "L"}}
    )
    meta = {"name": "flag", "namespace": "default"}
    await stage.kube.create(CONFIGMAPS, {"metadata": meta, "data": {"size": "L"}})
    await stage.until("base.a", "applied")
    await stage.kube.delete(CONFIGMAPS, "flag", "default")
    await stage.until("base.a", "withdrawn")


async def of(triggers: TriggerStage, name: str) -> bool:
    return await triggers.probe(CLUSTER) == name

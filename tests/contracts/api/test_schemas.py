"""Every object our adapters write, and every example we ship, is accepted by the real server under the real schemas."""

import re
from base64 import b64decode
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from events.errors import NotFound
from events.kube.client import Kube, Object, Request, Response, Transport
from events.kube.resources import (
    CLUSTERCLASSES,
    CLUSTERDEPLOYMENTS,
    CLUSTERS,
    COLONIES,
    CRDS,
    MACHINEDEPLOYMENTS,
    MACHINEHEALTHCHECKS,
    SECRETS,
)
from schemas.crds import manifest
from schemas.placement import Attempt, Lot, Placement
from schemas.wish import Limits, Need, Pool, PoolTaint, Wish
from services.clouds.capi import Capi
from services.clouds.cluster_templates import HEALTH_CHECK_SPECS, health_check
from services.clouds.k0rdent import K0rdent
from services.clouds.port import Cloud
from services.clouds.topology import topology
from services.gateway.kubeconfig import Kubeconfigs, KubeconfigSource, secret_name
from services.sandbox.api.server.kubeconfig import kubeconfig
from services.sandbox.seeds.plant import plant
from services.sandbox.seeds.templates import tenant
from tests.contracts.api import sides
from tests.contracts.api.asking import ask, until
from tests.contracts.api.talk import NAMESPACES
from tests.kube.places import home
from tests.samples import LOT, POOL, cluster_class

ROOT = Path(__file__).parents[3]
BUSY = 429
SHARED = ROOT.parent / "shared" / "data" / "crds"
LOTS = (LOT, msgspec.structs.replace(LOT, pool="more", spot=False))
LABELS, TAINTS = (
    (("example.com/team", "blue"),),
    (PoolTaint(key="gpu"), PoolTaint(key="batch", value="only", effect="NoExecute")),
)
POOLS = (
    msgspec.structs.replace(POOL, labels=LABELS, taints=TAINTS, disk_gib=500),
    msgspec.structs.replace(POOL, name="more"),
)

pytestmark = [pytest.mark.kube, pytest.mark.timeout(180)]


class Strict:
    """A way in on which every write is held strictly against its schema, and every answer's warnings are kept.

    A definition that has just changed is served by its old storage for a moment; then every request is answered 429
    until the new one is filled, and is to be sent again: nothing was done.
    """

    def __init__(self, way: Transport) -> None:
        self._way = way
        self.warnings: list[str] = []

    async def send(self, request: Request) -> Response:
        writes = {"fieldValidation": "Strict"} if request.method in ("POST", "PUT", "PATCH") else {}
        strict = replace(request, query={**request.query, **writes})
        answer = await until(lambda: self._way.send(strict), lambda answer: answer.status != BUSY)
        self.warnings += [value for name, value in answer.headers.items() if name.lower() == "warning"]
        return answer

    def stream(self, request: Request) -> AsyncIterator[bytes | Response]:
        return self._way.stream(request)

    async def close(self) -> None:
        """The real way in is closed by its side."""


class Filling:
    """A server whose storage is being filled at first."""

    def __init__(self) -> None:
        self.asked = 0

    async def send(self, request: Request) -> Response:
        self.asked += 1
        return Response(200 if self.asked > 1 else BUSY, {}, b"{}")


async def test_what_is_refused_while_the_storage_is_filled_is_sent_again():
    server = Filling()
    answer = await Strict(server).send(Request("POST", "/apis"))
    assert (answer.status, server.asked) == (200, 2)


@pytest.fixture
async def strict(real):
    """A client whose every write is strict, in a namespace of its own: (client, namespace)."""
    kube, namespace = Kube(Strict(real.ways["admin"]), random=lambda: 0.5), sides.fresh()
    await ask(real.ways["admin"], "POST", NAMESPACES, {"metadata": {"name": namespace}})
    return kube, namespace


async def _define(real: sides.Side, kube: Kube, definitions: list[Object]) -> None:
    for definition in definitions:
        definition["spec"].pop("conversion", None)  # its webhook has no server here
        definition.pop("status", None)
        await kube.apply(CRDS, definition, manager="tests")
        spec = definition["spec"]
        for version in spec["versions"]:
            if version["served"]:
                await sides.served(
                    real.ways["admin"], f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}"
                )


def _read(folder: Path) -> list[Object]:
    if not folder.is_dir():
        pytest.skip(f"the real definitions are not in {folder.name}: they lie beside the checkout")
    return [yaml.load(file.read_text(), yaml.CSafeLoader) for file in sorted(folder.glob("*.yaml"))]


async def _colony(real: sides.Side, kube: Kube, namespace: str) -> str:
    """The UID of a Colony that is there: what is owned by one that is not, the garbage collector takes away."""
    await _define(real, kube, [manifest()])
    cluster = {"name": "gpu", "pools": [{"accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 2}]}
    colony = {"metadata": {"name": "train", "namespace": namespace}, "spec": {"clusters": [cluster]}}
    uid: str = (await kube.create(COLONIES, colony))["metadata"]["uid"]
    return uid


def _wish(namespace: str, pools: tuple[Pool, ...], backend: str, uid: str) -> Wish:
    return Wish(
        tenant=namespace,
        cluster="gpu",
        uid=uid,
        generation=1,
        colony="train",
        need=Need(pools=pools, backend=backend),
        limits=Limits(),
    )


def _attempt(cloud: str, lots: tuple[Lot, ...]) -> Attempt:
    return Attempt(number=1, placement=Placement(cloud=cloud, region="us-east-1", lots=lots))


@pytest.mark.parametrize("cloud", ["aws", "azure", "gcp"])
async def test_k0rdents_real_schema_takes_what_we_write(cloud, strict, real):
    kube, namespace = strict
    await _define(real, kube, _read(SHARED / "k0rdent"))
    await plant(kube, tenant(namespace))
    uid = await _colony(real, kube, namespace)
    wish, attempt = _wish(namespace, POOLS[:1], "k0rdent", uid), _attempt(cloud, LOTS[:1])
    backend: Cloud = K0rdent(kube)
    assert cloud in await backend.reach(wish)
    await backend.launch(wish, attempt, wish.uid)
    await backend.launch(wish, attempt, wish.uid)
    found = await kube.get(CLUSTERDEPLOYMENTS, "train-gpu-1", namespace)
    assert found["spec"]["config"]["workersNumber"] == 2
    assert kube.transport.warnings == []
    await backend.release(wish, attempt)


@pytest.mark.parametrize("folder", [SHARED / "cluster-api", home() / "crds"], ids=["newest", "built"])
async def test_cluster_apis_real_schema_takes_what_we_write(folder, strict, real):
    kube, namespace = strict
    await _define(real, kube, _read(home() / "crds"))
    await _define(real, kube, _read(folder))
    await plant(kube, [seed for seed in tenant(namespace) if seed[0].plural == "configmaps"])
    uid = await _colony(real, kube, namespace)
    wish, attempt = _wish(namespace, POOLS, "capi", uid), _attempt("dev", LOTS)
    backend: Cloud = Capi(kube)
    assert "dev" in await backend.reach(wish)
    await backend.launch(wish, attempt, wish.uid)
    await backend.launch(wish, attempt, wish.uid)
    assert await kube.get(CLUSTERS, "train-gpu-1", namespace)
    pools = await kube.list(MACHINEDEPLOYMENTS, namespace)
    assert {each["spec"]["replicas"] for each in pools.items} == {2}
    assert len(pools.items) == len(LOTS)
    for number in (1, 2):  # a pool goes, and comes
        await backend.resize(_wish(namespace, POOLS[:number], "capi", uid), _attempt("dev", LOTS[:number]), wish.uid)
        assert len((await kube.list(MACHINEDEPLOYMENTS, namespace)).items) == number
    assert len((await kube.list(MACHINEHEALTHCHECKS, namespace)).items) == 1
    assert kube.transport.warnings == []
    await backend.release(wish, attempt)


@pytest.mark.parametrize("folder", [SHARED / "cluster-api", home() / "crds"], ids=["newest", "built"])
async def test_cluster_apis_real_schemas_take_a_topology_in_each_version_that_is_served(folder, strict, real):
    kube, namespace = strict
    await _define(real, kube, _read(home() / "crds"))
    await _define(real, kube, _read(folder))
    made = cluster_class()
    made["metadata"] |= {"namespace": namespace, "labels": {"alate.dev/cloud": "dev"}}
    await kube.create(CLUSTERCLASSES, made)
    uid = await _colony(real, kube, namespace)
    wish, attempt = _wish(namespace, POOLS, "capi", uid), _attempt("dev", LOTS)
    await Capi(kube).launch(wish, attempt, wish.uid)
    found = await kube.get(CLUSTERS, "train-gpu-1", namespace)
    assert [each["replicas"] for each in found["spec"]["topology"]["workers"]["machineDeployments"]] == [2, 2]
    for number in (1, 2):
        await Capi(kube).resize(_wish(namespace, POOLS[:number], "capi", uid), _attempt("dev", LOTS[:number]), wish.uid)
    assert (await kube.get(CLUSTERS, "train-gpu-1", namespace))["spec"] == found["spec"]
    (check,) = (await kube.list(MACHINEHEALTHCHECKS, namespace)).items
    for version in HEALTH_CHECK_SPECS:
        one = health_check("train-gpu-1", replace(MACHINEHEALTHCHECKS, version=version))
        one["metadata"] = {"name": f"written-in-{version}", "namespace": namespace}
        await kube.create(replace(MACHINEHEALTHCHECKS, version=version), one)
    assert check["spec"]["clusterName"] == "train-gpu-1"
    older = topology(made, wish, attempt, "v1beta1")
    older["metadata"] = {"name": "older", "namespace": namespace}
    await kube.create(replace(CLUSTERS, version="v1beta1"), older)
    assert [warning for warning in kube.transport.warnings if "deprecated" not in warning] == []


def _examples() -> list[tuple[str, Any]]:
    pages = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    texts = [
        (page.name, text)
        for page in pages
        for text in re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    ]
    shipped = (file for file in sorted((ROOT / "deploy").rglob("*.yaml")) if "chart" not in file.parts)
    texts += [(file.name, file.read_text()) for file in shipped]  # the chart is no YAML before it is rendered
    found = [(name, each) for name, text in texts for each in yaml.safe_load_all(text)]
    ours = (COLONIES.api_version, COLONIES.kind)
    return [(name, each) for name, each in found if (each.get("apiVersion"), each.get("kind")) == ours]


@pytest.mark.parametrize(("name", "example"), _examples(), ids=lambda value: value if isinstance(value, str) else "")
async def test_our_definition_serves_and_every_example_applies(name, example, strict, real):
    kube, namespace = strict
    await _define(real, kube, [manifest()])
    example["metadata"]["namespace"] = namespace
    made = await kube.apply(COLONIES, example, manager="person")
    assert made["metadata"]["generation"] == 1
    assert kube.transport.warnings == []


async def test_the_kubeconfig_of_a_whole_colony_is_taken_changed_and_deleted(strict, real):
    kube, namespace = strict
    await _define(real, kube, [manifest()])
    example = next(each for name, each in _examples() if name == "colony.yaml")
    example["metadata"]["namespace"] = namespace
    meta = (await kube.apply(COLONIES, example, manager="person"))["metadata"]
    kept, name = Kubeconfigs(kube), secret_name(meta)
    shapes: list[Any] = []
    for token in ("first", "rotated"):
        text = kubeconfig("https://gpu", "gpu", "ca", token)
        wanted = {"metadata": {"name": "gpu", "namespace": namespace}, "stringData": {"value": text}}
        await kube.apply(SECRETS, wanted, manager="back end")
        await kept.ensure(meta, {"train/gpu": KubeconfigSource("gpu", unreachable=bool(shapes))}, never_created=False)
        shapes.append(await kube.get(SECRETS, name, namespace))
        assert token in b64decode(shapes[-1]["data"]["value"]).decode()
    assert {each["metadata"]["ownerReferences"][0]["uid"] for each in shapes} == {meta["uid"]}
    assert {each["type"] for each in shapes} == {"alate.dev/kubeconfig"}
    await Kubeconfigs(kube).ensure(meta, {"train/gpu": KubeconfigSource("gpu")}, never_created=False)
    assert await kube.get(SECRETS, name, namespace) == shapes[-1]
    await kept.ensure(meta, {}, never_created=False)
    with pytest.raises(NotFound):
        await kube.get(SECRETS, name, namespace)
    assert kube.transport.warnings == []


def test_there_are_examples():
    assert {name for name, _ in _examples()} >= {"README.md", "tutorial.md", "colony.yaml"}

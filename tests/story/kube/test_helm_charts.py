"""Charts that AI clusters really need: installed, upgraded, without drift, and taken away, on a real API server."""

import shutil
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
import yaml

from events.errors import Fault
from events.kube.client import Kube
from events.kube.resources import CRDS
from tests.story.kube.helm_stage import HelmStage, running, with_node

CHARTS = Path(__file__).parents[4] / "shared" / "data" / "charts"
pytestmark = [
    pytest.mark.kube,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not CHARTS.is_dir(), reason="no folder of real charts beside the checkout"),
]
_numbers = count(1)
MARKED = "helm.sh/resource-policy"

VALUES = {
    "cert-manager": ({"crds": {"enabled": True}}, {"replicaCount": 2}),
    "cluster-autoscaler": ({"autoDiscovery": {"clusterName": "one"}, "awsRegion": "eu-west-1"}, {"replicaCount": 2}),
    "gpu-operator": ({}, {"driver": {"enabled": False}}),
    "grafana": ({}, {"replicas": 2}),
    "jobset": ({}, {"controller": {"replicas": 2}}),
    "kube-prometheus-stack": ({}, {"alertmanager": {"enabled": False}}),
    "kube-state-metrics": ({}, {"replicas": 2}),
    "kubeflow-trainer": ({"jobset": {"install": False}}, {"manager": {"replicas": 2}}),
    "kuberay-operator": ({}, {"replicas": 2}),
    "kueue": ({}, {"controllerManager": {"replicas": 2}}),
    "lws": ({}, {"replicaCount": 3}),
    "metallb": ({}, {"controller": {"logLevel": "debug"}}),
    "nats": ({}, {"config": {"cluster": {"enabled": True, "replicas": 3}}}),
    "node-feature-discovery": ({}, {"master": {"replicaCount": 2}}),
    "prometheus-node-exporter": ({}, {"service": {"port": 9200}}),
    "ray-cluster": ({}, {"worker": {"replicas": 2}}),
    "rocm-gpu-operator": ({}, {"controllerManager": {"replicas": 2}}),
    "spark-operator": ({}, {"controller": {"replicas": 2}}),
    "volcano": ({}, {"basic": {"scheduler_kube_api_qps": 1000}}),
}
"""For each chart the values to install it with, and what an upgrade changes."""
FIRST = {"ray-cluster": ("kuberay-operator",), "rocm-gpu-operator": ("cert-manager",)}
"""Charts whose kinds must be there first."""


@pytest.fixture(scope="module")
def charts_plane(tmp_path_factory):
    with running(tmp_path_factory.mktemp("helm-charts")) as plane:
        yield plane


@pytest.fixture
async def stage(charts_plane):
    kube = Kube(charts_plane.transport(), random=lambda: 0.5)
    await with_node(kube)
    it = HelmStage(charts_plane, kube, f"helm-{next(_numbers)}")
    yield it
    with suppress(Fault):
        await it.uninstall()
    await it.forget()
    for meta in await kube.marks(CRDS):
        await kube.delete(CRDS, meta["name"])
    await it.until(lambda: _none(kube))
    await kube.close()


async def _none(kube):
    return not await kube.marks(CRDS)


def whole(name: str, folder: Path) -> Path:
    """A copy of a chart with its dependencies inside it, as a packaged one has them."""
    shutil.copytree(CHARTS / name, folder, copy_function=shutil.copyfile)
    for each in (folder, *folder.rglob("*")):
        each.chmod(0o755)
    about = yaml.safe_load((folder / "Chart.yaml").read_text())
    missing = [one["name"] for one in about.get("dependencies", ()) if not any(folder.glob(f"charts/{one['name']}*"))]
    for each in missing:
        if (CHARTS / each).is_dir():
            shutil.copytree(CHARTS / each, folder / "charts" / each, copy_function=shutil.copyfile)
    absent = [each for each in missing if not (folder / "charts" / each).is_dir()]
    about["dependencies"] = [one for one in about.get("dependencies", ()) if one["name"] not in absent]
    (folder / "Chart.yaml").write_text(yaml.safe_dump(about))
    return folder


async def with_kinds_of(stage, name, folder):
    """Define the kinds of another chart."""
    values, _ = VALUES[name]
    rendered = await stage.helm.render(stage.kube, stage.wanted(whole(name, folder), release="first", values=values))
    for each in (*rendered.crds, *rendered.objects):
        if each["kind"] == "CustomResourceDefinition":
            await stage.kube.apply(CRDS, each, manager="test")


DAILY = ("jobset", "kube-state-metrics", "metallb")
EACH = [pytest.param(name, marks=() if name in DAILY else pytest.mark.slow) for name in VALUES]


@pytest.mark.parametrize("name", EACH)
async def test_a_real_chart_is_installed_upgraded_and_taken_away(stage, tmp_path, name):
    for each in FIRST.get(name, ()):
        await with_kinds_of(stage, each, tmp_path / each)
    values, change = VALUES[name]
    wanted = stage.wanted(whole(name, tmp_path / name), values=values)
    before = set(await stage.versions())

    rendered = await stage.helm.render(stage.kube, wanted)
    definitions = {each["metadata"]["name"] for each in rendered.crds}
    installed = await stage.helm.ensure(stage.kube, wanted)
    assert await stage.releases() == [("one", "1", "deployed")]
    assert {_key(each) for each in rendered.objects} == {_key(each) for each in installed.objects}
    assert await stage.drifted(installed.objects) == {}

    versions = await stage.versions()
    assert not (await stage.helm.ensure(stage.kube, wanted)).changed
    same = {key for key, version in (await stage.versions()).items() if versions.get(key) == version}
    assert {key for key in versions if key[0] == "Secret"} <= same

    upgraded = await stage.ensure(wanted.chart, values=values | change)
    assert (upgraded.revision, upgraded.status) == (2, "deployed")
    assert upgraded.objects != installed.objects
    assert await stage.drifted(upgraded.objects) == {}

    kept = {
        _key(each)
        for each in (*installed.objects, *upgraded.objects)
        if MARKED in (each["metadata"].get("annotations") or {})
    }
    assert await stage.uninstall()
    stays = kept | {("CustomResourceDefinition", each) for each in definitions}
    stays |= {("Namespace", stage.namespace), ("ServiceAccount", "default")}

    async def nothing_else_is_left():
        return not {(kind, each) for kind, _, each in set(await stage.versions()) - before} - stays

    try:
        await stage.until(nothing_else_is_left, 60)
    except TimeoutError:
        left = {(kind, each) for kind, _, each in set(await stage.versions()) - before}
        pytest.fail(f"left: {sorted(left - stays)}")


def _key(document):
    return document["kind"], document["metadata"]["name"]

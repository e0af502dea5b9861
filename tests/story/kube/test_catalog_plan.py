"""All real charts of the catalog on one real cluster, by its plan: in order, upgraded, corrected, and gone again."""

import asyncio
import base64
from contextlib import suppress
from datetime import UTC, datetime

import pytest

from events.errors import Fault
from events.kube.client import Kube, Resource
from events.kube.discovery import find
from schemas.subjects import Key
from services.addons.catalog.build import expand
from services.addons.catalog.plan import plan
from services.addons.record import read_record
from tests.kube.flags import WITHOUT
from tests.services.addons.catalog.charts import CHARTS, FOLDERS, chart
from tests.services.addons.fleet import TENANT, fleet
from tests.story.kube.helm_stage import HelmStage, running, with_node
from tests.story.kube.test_profiles import CLUSTER, Stage, served

pytestmark = [
    pytest.mark.kube,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not CHARTS.is_dir(), reason="no folder of real charts beside the checkout"),
]
NO_WEBHOOKS = f"{WITHOUT},MutatingAdmissionWebhook,ValidatingAdmissionWebhook"
"""Pods that kwok plays answer no webhook, and one that is not answered refuses what others apply."""
AUTHORITY = base64.b64encode(b"an authority").decode()
WEBHOOKS = tuple(
    Resource("admissionregistration.k8s.io", "v1", f"{kind.lower()}s", kind, namespaced=False)
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
SINCE = "2026-01-01T00:00:00Z"
COUNTS = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas", "unavailableReplicas"), 1)
AVAILABLE = {
    "paused": False,
    "conditions": [{"type": "Available", "status": "True", "reason": "Played", "lastTransitionTime": SINCE}],
    **COUNTS,
}
PLAYED = {
    ("nvidia.com/v1", "ClusterPolicy"): {
        "state": "ready",
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "Reconciled",
                "message": "",
                "lastTransitionTime": SINCE,
            }
        ],
    },
    ("amd.com/v1alpha1", "DeviceConfig"): {
        "conditions": [
            {"type": "Ready", "status": "True", "reason": "Played", "message": "", "lastTransitionTime": SINCE}
        ],
        "devicePlugin": {"nodesMatchingSelectorNumber": 1, "desiredNumber": 1, "availableNumber": 1},
    },
    ("monitoring.coreos.com/v1", "Prometheus"): AVAILABLE,
    ("monitoring.coreos.com/v1", "Alertmanager"): AVAILABLE,
}
"""What operators say in the status of their objects once they have finished: no operator runs here."""
AGGREGATES = "kueue"
"""Its chart adds an API that a server of its own answers; as none runs, it is installed and rightly never ready."""
CHANGED = {"jobset": {"controller": {"replicas": 2}}}
KEPT = {"CustomResourceDefinition", "Namespace", "DeviceConfig"}
"""What Helm never deletes, and what the AMD operator's chart tells it to keep by helm.sh/resource-policy."""
LONGEST = 150.0


@pytest.fixture
async def stage(tmp_path):
    shown = tmp_path / "served"
    shown.mkdir()
    with running(tmp_path / "plane", without=NO_WEBHOOKS) as plane:
        kube = Kube(plane.transport(), random=lambda: 0.5)
        await with_node(kube)
        async with fleet(tmp_path / "cache") as made, served(shown) as address:
            config = plane.kubeconfig_for(plane.token)
            made.real[config], made.clusters[CLUSTER] = kube, kube
            await made.adopt(CLUSTER, config)
            yield Stage(made, plane, kube, shown, address)
            await made.stop()
        await kube.close()


def profile(stage, folder, changed=None):
    """The plan's add-ons, with the charts that lie here as their sources."""
    written = []
    for each in plan(FOLDERS).addons:
        spec = expand(each)
        document = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude={"catalog", "source"})
        where = folder / each.name
        source = chart(each.name, where) if not where.is_dir() else next(where.iterdir())
        document["source"] = stage.serve(source)
        document["values"] = document.get("values", {}) | (changed or {}).get(each.name, {})
        written.append(document)
    return written


async def plays_operators(stage):
    """Sets the status of objects as their operators would, and says that the node is alive, as its kubelet would."""
    while True:
        alive = {"renewTime": datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")}
        meta = {"name": "node-1", "namespace": "kube-node-lease"}
        await stage.kube.apply(LEASES, {"metadata": meta, "spec": alive}, manager="test")
        for (version, kind), status in PLAYED.items():
            with suppress(Fault):
                resource = await find(stage.kube, version, kind)
                for each in (await stage.kube.list(resource)).items:
                    if not each.get("status", {}).get("conditions"):
                        meta = each["metadata"]
                        await stage.kube.patch(
                            resource, meta["name"], meta.get("namespace"), {"status": status}, subresource="status"
                        )
        await with_authorities(stage.kube)
        await asyncio.sleep(1)


async def with_authorities(kube):
    """Writes an authority into each webhook, as their controllers do."""
    for kind in WEBHOOKS:
        for each in (await kube.list(kind)).items:
            hooks = each.get("webhooks", ())
            if any(not one["clientConfig"].get("caBundle") for one in hooks):
                trusted = [{**one, "clientConfig": {**one["clientConfig"], "caBundle": AUTHORITY}} for one in hooks]
                with suppress(Fault):
                    await kube.patch(kind, each["metadata"]["name"], None, {"webhooks": trusted}, manager="injector")


async def order_of(stage, names):
    """The place in the stream where each add-on was applied first."""
    found = {}
    for name in names:
        said = await stage.fleet.bus.read("EVENTS", Key("addon", TENANT, f"{CLUSTER}.base.{name}").history)
        first = (each.sequence for each in said if each.subject.startswith("addon.applied."))
        found[name] = said[-1].sequence if name == AGGREGATES else next(first)
    return dict(sorted(found.items(), key=lambda each: each[1]))


async def corrected(stage, addons):
    """Somebody changes a label of an object of each chart, and finds it as it was."""
    for each in addons:
        resource, before = await plain(stage, each["name"])
        meta = before["metadata"]
        label = next(key for key in meta["labels"] if key != "app.kubernetes.io/managed-by")
        change = {"metadata": {"labels": {label: "somebody"}}}
        await stage.kube.patch(resource, meta["name"], meta["namespace"], change, manager="somebody")

        async def as_it_was(resource=resource, meta=meta):
            now = await stage.kube.get(resource, meta["name"], meta["namespace"])
            return now["metadata"]["labels"] == meta["labels"]

        await stage.fleet.until(as_it_was, 60)


async def plain(stage, name):
    """An object of a release that no controller changes."""
    for one in (await read_record(stage.kube, f"base.{name}")).has:
        if one.kind in ("ServiceAccount", "ConfigMap", "Service"):
            resource = await find(stage.kube, one.api_version, one.kind)
            seen = await stage.kube.get(resource, one.name, one.namespace)
            if len(seen["metadata"].get("labels", ())) > 1:
                return resource, seen
    raise AssertionError(f"{name} has no such object")


async def upgraded(stage):
    return {name for name, (revision, _) in stage.releases().items() if revision == "2"} == set(CHANGED)


async def all_are(stage, addons, state):
    for each in addons:
        if each["name"] != AGGREGATES or state != "applied":
            await stage.until(f"base.{each['name']}", state, LONGEST)


async def is_installed(stage):
    return stage.releases().get(AGGREGATES, ("", ""))[1] == "deployed"


async def test_the_whole_catalog_comes_in_the_order_of_its_plan_and_leaves_what_helm_keeps(stage, tmp_path):
    here = HelmStage(stage.plane, stage.kube, "default")
    before = set(await here.versions())
    addons = profile(stage, tmp_path / "charts")
    playing = asyncio.create_task(plays_operators(stage))
    await stage.fleet.profile("base", *addons)
    await all_are(stage, addons, "applied")
    await stage.fleet.until(lambda: is_installed(stage), LONGEST)
    names = [each["name"] for each in addons]
    assert {name: state for name, (_, state) in stage.releases().items()} == dict.fromkeys(names, "deployed")
    await stage.fleet.says(CLUSTER, f"base.{AGGREGATES}", "visibility.kueue.x-k8s.io")
    applied = await order_of(stage, names)
    for each in addons:
        for first in each.get("dependsOn", ()):
            assert applied[first["name"]] < applied[each["name"]]

    await corrected(stage, addons)
    await stage.fleet.profile("base", *profile(stage, tmp_path / "charts", CHANGED))
    await stage.fleet.until(lambda: upgraded(stage), LONGEST)
    await all_are(stage, addons, "applied")

    playing.cancel()
    await stage.fleet.drop("base")
    await all_are(stage, addons, "withdrawn")
    assert stage.releases() == {}
    left = {(kind, name) for kind, _, name in set(await here.versions()) - before}
    assert {each for each in left if each[0] not in KEPT} <= {("ServiceAccount", "default")}

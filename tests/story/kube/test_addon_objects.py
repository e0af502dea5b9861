"""An add-on's objects on a real API server: written once, compared by field, seen by kubectl, pruned, taken over."""

import asyncio
import json
import subprocess
from contextlib import suppress

import pytest

from events.errors import Denied, NotFound
from events.kube.client import Kube
from events.kube.discovery import find
from events.kube.resources import CONFIGMAPS, CRDS, DEPLOYMENTS, NAMESPACES
from services.addons.objects.apply_set import ID, KINDS, PART_OF, set_id
from services.addons.objects.drift import FieldChange
from services.addons.objects.faults import DeletionLimit, OwnedByAnother, RecreateRefused
from services.addons.objects.watch import ObjectWatches, watched
from services.addons.record import LABEL as RECORD
from services.addons.record import NAMESPACE as RECORDS
from services.addons.record import addon_set
from tests.contracts.api.sides import closing, fresh
from tests.kube.fixtures import plane
from tests.kube.places import home
from tests.services.addons.house import KIND, UNKNOWN
from tests.services.addons.objects.steps import Hand

__all__ = ["plane"]
pytestmark = [pytest.mark.kube, pytest.mark.timeout(300)]

APP = """
apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web}
rules: [{apiGroups: [""], resources: [pods, services], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: web}
subjects: [{kind: ServiceAccount, name: web}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {size: small}
---
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {token: abc}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, name: http}, {port: 443, name: tls, targetPort: https}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, creationTimestamp: null}
    spec:
      serviceAccountName: web
      containers:
      - name: main
        image: web:1
        args: [--a, --b]
        env: [{name: A, value: "1"}, {name: B, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
        ports: [{containerPort: 80}, {containerPort: 443, name: tls}]
        resources: {requests: {cpu: 100m, memory: 1Gi}}
        readinessProbe: {httpGet: {path: /, port: 80}}
        volumeMounts: [{name: tmp, mountPath: /tmp}]
      volumes: [{name: tmp, emptyDir: {}}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web}
spec: {podSelector: {}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {}}]}]}
"""
CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {size: small}
"""
OTHER = CONFIG.replace("settings", "theirs")
FIXED = CONFIG.replace("settings", "fixed") + "immutable: true\n"


class Tenant(Hand):
    """Somebody with a namespace of its own on a real API server."""

    def __init__(self, kube, space, plane):
        super().__init__(kube)
        self.space, self.plane = space, plane


@pytest.fixture
async def hand(plane):
    """A tenant; what it leaves behind is taken away."""
    road = plane.transport(plane.token)
    async with closing({"admin": road}):
        hand = Tenant(Kube(road, random=lambda: 0.5), fresh(), plane)
        await hand.plain.create(NAMESPACES, {"metadata": {"name": hand.space}})
        yield hand
        await hand.plain.delete(NAMESPACES, hand.space)
        with suppress(NotFound):
            await hand.plain.delete(CRDS, "gadgets.example.org")
        for each in (await hand.plain.list(CONFIGMAPS, RECORDS, labels=RECORD)).items:
            await hand.plain.delete(CONFIGMAPS, each["metadata"]["name"], RECORDS)


async def put(hand, manifests, addon="driver", **how):
    return await hand.apply(manifests, addon, **{"namespace": hand.space, **how})


async def seen(hand, manifests, **how):
    return await hand.compare(manifests, **{"namespace": hand.space, **how})


async def one(hand, name="settings"):
    return await hand.plain.get(CONFIGMAPS, name, hand.space)


async def test_what_is_as_wanted_is_only_read(hand):
    first = await put(hand, f"{APP}---{KIND}---{UNKNOWN}")
    assert {each.changed for each in first.objects} == {True}
    hand.road.forget()
    again = await put(hand, f"{APP}---{KIND}---{UNKNOWN}")
    assert hand.road.writes == []
    assert {each.changed for each in again.objects} == {False}
    versions = [[each.object["metadata"]["resourceVersion"] for each in done.objects] for done in (first, again)]
    assert len(set(zip(*versions, strict=True))) == 11
    hand.road.forget()
    assert (await seen(hand, f"{APP}---{KIND}---{UNKNOWN}")).as_wanted
    assert {each.method for each in hand.road.sent} == {"GET"}


async def test_one_field_drifts_and_its_writer_is_named(hand):
    await put(hand, APP)
    scaled = {"spec": {"replicas": 5, "template": {"spec": {"priorityClassName": ""}}}}
    await hand.plain.patch(DEPLOYMENTS, "web", hand.space, scaled, manager="scaler")
    image = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "web:2"}]
    await hand.plain.patch(DEPLOYMENTS, "web", hand.space, image, kind="json", manager="kubectl-edit")
    ((drifted),) = (await seen(hand, APP)).drifted
    assert drifted.changes == (
        FieldChange("/spec/replicas", 5, 2, "scaler"),
        FieldChange("/spec/template/spec/containers/0/image", "web:2", "web:1", "kubectl-edit"),
    )
    await put(hand, APP)
    assert (await seen(hand, APP)).as_wanted


async def test_kubectl_sees_the_members_by_the_label_of_their_set_and_leaves_the_set_to_us(hand):
    await put(hand, APP)
    await put(hand, OTHER, "other")
    listed = await kubectl(hand, "get", "all,cm,sa,role", "-l", f"{PART_OF}={addon_set('driver')}", "-o", "name")
    assert sorted(listed.stdout.split()) == [
        "configmap/web",
        "deployment.apps/web",
        "role.rbac.authorization.k8s.io/web",
        "service/web",
        "serviceaccount/web",
    ]
    refused = await kubectl(
        hand, "apply", "--prune", "--applyset=configmap/alate-addon-driver", "-n", "kube-system", "-f", "-",
        text=json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}),
        KUBECTL_APPLYSET="true",
    )  # fmt: skip
    assert "alate" in refused.stderr


async def test_the_id_of_a_set_is_the_one_that_kubectl_computes(hand):
    map_ = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "member", "namespace": hand.space}}
    made = await kubectl(
        hand, "apply", "--prune", "--applyset=configmap/parent", "-f", "-", text=json.dumps(map_),
        KUBECTL_APPLYSET="true",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    parent, member = await one(hand, "parent"), await one(hand, "member")
    assert parent["metadata"]["labels"][ID] == set_id("parent", hand.space) == member["metadata"]["labels"][PART_OF]
    assert parent["metadata"]["annotations"][KINDS] == "ConfigMap"


async def test_what_somebody_changes_is_told_within_a_second(hand):
    told = asyncio.Queue()
    watches = ObjectWatches(lambda *key: told.put_nowait(key))
    with watches.writing(("acme", "w"), "driver"):
        applied = await put(hand, APP)
        watches.follow(("acme", "w"), hand.kube, "driver", [watched(*each[:2]) for each in applied.objects])
    while len([each for each in hand.road.sent if "watch" in each.query]) < watches.number:  # noqa: ASYNC110 - see below
        await asyncio.sleep(0.01)  # real processes tell nobody
    assert watches.number == 9
    await hand.plain.patch(CONFIGMAPS, "web", hand.space, {"data": {"size": "large"}})
    assert await asyncio.wait_for(told.get(), 1) == ("acme", "w", "driver")
    await hand.plain.delete(CONFIGMAPS, "web", hand.space)
    assert await asyncio.wait_for(told.get(), 2) == ("acme", "w", "driver")
    await watches.close()


async def test_what_a_version_lost_goes_once_all_is_written_and_not_before(hand):
    await put(hand, f"{CONFIG}---{OTHER}")
    with pytest.raises(Denied, match="No_Such"):
        await put(hand, f"{CONFIG}---{CONFIG.replace('settings', 'No_Such')}")
    assert await one(hand, "theirs")
    with pytest.raises(DeletionLimit):
        await put(hand, CONFIG, deletion_limit=49)
    assert await one(hand, "theirs")
    await put(hand, CONFIG, deletion_limit=50)
    with pytest.raises(NotFound):
        await one(hand, "theirs")


async def test_an_immutable_field_changes_by_recreation_alone(hand):
    changed = FIXED.replace("small", "large")
    await put(hand, FIXED)
    before = await one(hand, "fixed")
    with pytest.raises(RecreateRefused, match="recreate: true"):
        await put(hand, changed)
    assert await one(hand, "fixed") == before
    await put(hand, changed, recreate=True)
    assert (await one(hand, "fixed"))["data"] == {"size": "large"}
    selector = APP.replace("matchLabels: {app: web}}\n  template", "matchLabels: {app: web, tier: x}}\n  template")
    selector = selector.replace("labels: {app: web}, creation", "labels: {app: web, tier: x}, creation")
    await put(hand, APP, "app")
    with pytest.raises(RecreateRefused, match="field is immutable"):
        await put(hand, selector, "app")
    await put(hand, selector, "app", recreate=True)
    assert (await seen(hand, selector, addon="app")).as_wanted


async def test_an_account_writes_what_it_may_and_no_more(hand):
    role = {"metadata": {"name": "edits", "namespace": hand.space}}
    roles = await find(hand.plain, "rbac.authorization.k8s.io/v1", "Role")
    bindings = await find(hand.plain, "rbac.authorization.k8s.io/v1", "RoleBinding")
    account = hand.tenant(hand.space)
    with pytest.raises(Denied, match=f"system:serviceaccount:{hand.space}:tenant") as refused:
        await put(hand, CONFIG, kube=account)
    assert refused.value.reason == "Forbidden"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "patch", "delete"]}]
    await hand.plain.create(roles, role | {"rules": rules})
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "edits"}
    subject = {"kind": "ServiceAccount", "name": "tenant", "namespace": hand.space}
    await hand.plain.create(bindings, role | {"roleRef": ref, "subjects": [subject]})
    await asyncio.sleep(0.5)  # until the authorizer has heard of it
    await put(hand, CONFIG, kube=account)
    await put(hand, OTHER, kube=account)
    with pytest.raises(NotFound):
        await one(hand)
    with pytest.raises(Denied, match="cannot"):
        await put(hand, APP, kube=account)


async def test_who_may_not_impersonate_is_refused(hand, plane):
    stranger = plane.transport(plane.stranger)
    async with closing({"stranger": stranger}):
        account = Hand(Kube(stranger, random=lambda: 0.5)).tenant(hand.space)
        with pytest.raises(Denied, match="cannot impersonate"):
            await put(hand, CONFIG, kube=account)


async def test_a_lower_priority_number_takes_over_and_the_object_is_never_absent(hand):
    large = CONFIG.replace("small", "large")
    await put(hand, CONFIG)
    uid = (await one(hand))["metadata"]["uid"]
    with pytest.raises(OwnedByAnother, match="belongs to the add-on driver"):
        await put(hand, large, "jobs")
    await put(hand, large, "jobs", priority=50)
    taken = await one(hand)
    assert (taken["metadata"]["uid"], taken["data"]) == (uid, {"size": "large"})
    with pytest.raises(OwnedByAnother, match="belongs to the add-on jobs"):
        await put(hand, CONFIG)
    await put(hand, OTHER, "jobs", priority=50)
    assert (await one(hand))["metadata"]["uid"] == uid
    await put(hand, CONFIG)
    left = await one(hand)
    assert (left["metadata"]["uid"], left["data"]) == (uid, {"size": "small"})


async def kubectl(hand, *asked, text="", **env):
    program = [str(home() / "kubectl"), "--kubeconfig", str(hand.plane.kubeconfig)]
    env["HOME"] = str(hand.plane.folder)
    space = [] if "-n" in asked else ["-n", hand.space]
    return await asyncio.to_thread(
        subprocess.run, [*program, *asked, *space], input=text, capture_output=True, text=True, check=False, env=env
    )

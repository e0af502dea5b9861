"""What is settled for a manager, no apply of it would change."""

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.json import encode

from events.kube.resources import CONFIGMAPS
from services.addons.objects.managed_fields import settled
from services.addons.objects.order import classes, in_order
from services.addons.objects.target import MANAGER
from tests.services.addons.house import CONFIG, DEPLOYMENT, KIND, UNKNOWN
from tests.services.addons.objects.steps import Hand

pytestmark = pytest.mark.looptime

PODS = """
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec:
  containers:
  - name: main
    image: a:1
    args: [--a]
    env: [{name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]
    ports: [{containerPort: 80}, {containerPort: 80, protocol: UDP}]
    resources: {limits: {cpu: 1000m}}
"""


@pytest.fixture
def hand(house):
    return Hand(house.workload)


def change(document, *path, to):
    below = document
    for name in path[:-1]:
        below = below[name]
    below[path[-1]] = to
    return document


async def applied(hand, text):
    result = await hand.apply(text)
    return result.objects[-1].object


async def test_what_was_applied_is_settled_for_its_manager_alone(hand):
    await hand.apply(CONFIG)
    live = await hand.plain.get(CONFIGMAPS, "settings", "default")
    wanted = {**yaml.safe_load(CONFIG), "metadata": {"name": "settings", "labels": live["metadata"]["labels"]}}
    assert settled(live, wanted, MANAGER)
    assert not settled(live, wanted, "helm")
    assert not settled({**live, "metadata": {"name": "settings"}}, wanted, MANAGER)
    assert not settled(live, wanted | {"apiVersion": "v2"}, MANAGER)


@pytest.mark.parametrize(
    ("path", "to"),
    [
        (("spec", "containers", 0, "image"), "a:2"),
        (("spec", "containers", 0, "args"), ["--a", "--b"]),
        (("spec", "containers", 0, "args"), []),
        (("spec", "containers", 0, "env", 0, "name"), "OTHER"),
        (("spec", "containers", 0, "env", 0, "valueFrom", "fieldRef", "fieldPath"), "status.podIP"),
        (("spec", "containers", 0, "ports"), [{"containerPort": 80}]),
        (("spec", "containers", 0, "ports", 1, "protocol"), "SCTP"),
        (("spec", "containers", 0, "resources", "limits", "cpu"), "2"),
        (("spec", "containers", 0, "workingDir"), "/"),
        (("spec", "nodeSelector"), {"a": "b"}),
        (("metadata", "annotations"), {"a": "b"}),
    ],
    ids=str,
)
async def test_any_other_wish_is_not_settled(hand, path, to):
    live = await applied(hand, PODS)
    labels = live["metadata"]["labels"]
    assert settled(live, change(yaml.safe_load(PODS), "metadata", "labels", to=labels), MANAGER)
    wanted = change(yaml.safe_load(PODS), "metadata", "labels", to=labels)
    assert not settled(live, change(wanted, *path, to=to), MANAGER)


values = st.recursive(
    st.sampled_from(["a", "b", "", 0, 1, True, None]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=6,
)
specs = st.dictionaries(st.sampled_from("pqr"), values, max_size=3)


@given(first=specs, second=specs, others=specs)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_what_is_settled_no_apply_changes(hand, first, second, others):
    await hand.apply(KIND)
    base = yaml.safe_load(UNKNOWN)
    await hand.apply(yaml.safe_dump(base | {"spec": first}), "gadget")
    resource = (await hand.apply(yaml.safe_dump(base | {"spec": second}), "gadget")).objects[0].resource
    await hand.plain.patch(resource, "one", "default", {"spec": others}, manager="somebody")
    live = await hand.plain.get(resource, "one", "default")
    wanted = base | {"metadata": {"name": "one", "labels": live["metadata"]["labels"]}}
    for spec in (first, second):
        config = wanted | {"spec": spec}
        there = {"metadata": config["metadata"] | {"namespace": "default"}, "spec": spec}
        rehearsed = await hand.plain.apply(resource, there, manager=MANAGER, dry_run=True)
        if settled(live, config, MANAGER):
            assert encode(bare(rehearsed)) == encode(bare(live))


def bare(seen):
    """Without who owns what: somebody may own alone what others say as well."""
    return {**seen, "metadata": {k: v for k, v in seen["metadata"].items() if k != "managedFields"}}


def test_every_object_has_a_place_and_the_order_keeps_what_is_alike():
    texts = [DEPLOYMENT, CONFIG, UNKNOWN, KIND, CONFIG.replace("settings", "b")]
    ordered = in_order(yaml.safe_load(text) for text in texts)
    assert [each["metadata"]["name"] for each in ordered] == ["gadgets.example.org", "settings", "b", "driver", "one"]
    assert [len(each) for each in classes(ordered)] == [1, 2, 1, 1]


def test_a_kind_of_others_that_is_called_as_one_of_kubernetes_comes_last():
    service = {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "s"}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    assert in_order([service, namespace]) == [namespace, service]

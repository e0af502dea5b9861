"""Kinds are shown to have the addresses Kubernetes gives them, known ahead or found by discovery."""

import json

import pytest

from events.errors import NotFound
from events.kube import discovery, resources
from events.kube.client import Resource

WIDGETS = {
    "resources": [
        {"name": "widgets", "kind": "Widget", "namespaced": True},
        {"name": "widgets/status", "kind": "Widget", "namespaced": True},
        {"name": "plants", "kind": "Plant", "namespaced": False},
    ]
}


def test_addresses_are_those_of_kubernetes():
    assert resources.NODES.path(name="n") == "/api/v1/nodes/n"
    assert resources.COLONIES.path("acme") == "/apis/alate.dev/v1alpha1/namespaces/acme/colonies"
    assert resources.MACHINEDEPLOYMENTS.api_version == "cluster.x-k8s.io/v1beta2"
    assert all(r.group == "cluster.x-k8s.io" for r in resources.CAPI)
    assert all(r.api_version == "k0rdent.mirantis.com/v1beta1" for r in resources.K0RDENT)


async def test_a_kind_is_found_by_discovery_and_asked_for_once(api, kube):
    api.say_raw(json.dumps(WIDGETS).encode())
    found = await discovery.find(kube, "demo.io/v1", "Widget")
    assert found == Resource("demo.io", "v1", "widgets", "Widget")
    assert await discovery.find(kube, "demo.io/v1", "Plant") == Resource(
        "demo.io", "v1", "plants", "Plant", namespaced=False
    )
    assert [r.path for r in api.asked] == ["/apis/demo.io/v1"]


async def test_a_kind_whose_crd_came_later_is_found(api, kube):
    api.say_raw(b'{"resources":[]}')
    with pytest.raises(NotFound, match=r"no kind Widget in demo.io/v1: is its CRD installed"):
        await discovery.find(kube, "demo.io/v1", "Widget")
    api.say_raw(json.dumps(WIDGETS).encode())
    assert (await discovery.find(kube, "demo.io/v1", "Widget")).plural == "widgets"


async def test_a_group_nobody_serves_is_not_found(api, kube):
    api.refuse(404, "NotFound", "the server could not find the requested resource")
    with pytest.raises(NotFound, match=r"does not serve nobody.io/v1: is its CRD installed"):
        await discovery.find(kube, "nobody.io/v1", "Widget")


async def test_core_kinds_are_looked_up_under_api(api, kube):
    api.say_raw(b'{"resources":[{"name":"pods","kind":"Pod","namespaced":true}]}')
    assert await discovery.find(kube, "v1", "Pod") == resources.PODS
    assert api.asked[0].path == "/api/v1"


async def test_all_kinds_that_can_be_asked_for_something_are_found_once_by_the_preferred_version(api, kube):
    newer, older = ({"groupVersion": f"demo.io/{version}"} for version in ("v2", "v1"))
    api.say_raw(json.dumps({"groups": [{"preferredVersion": newer, "versions": [older, newer]}]}).encode())
    pods = {"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["delete", "get", "list"]}
    api.say_raw(json.dumps({"resources": [pods, pods | {"name": "pods/log"}]}).encode())
    widgets = {"name": "widgets", "kind": "Widget", "namespaced": True, "verbs": ["delete", "list"]}
    seen_alone = {"name": "shadows", "kind": "Shadow", "namespaced": True, "verbs": ["list"]}
    api.say_raw(json.dumps({"resources": [widgets, seen_alone]}).encode())
    api.say_raw(json.dumps({"resources": [widgets, widgets | {"name": "plants", "kind": "Plant"}]}).encode())
    found = await discovery.served(kube, "list", "delete")
    assert [one.path("n") for one in found] == [
        "/api/v1/namespaces/n/pods",
        "/apis/demo.io/v2/namespaces/n/widgets",
        "/apis/demo.io/v1/namespaces/n/plants",
    ]


async def test_of_a_version_that_is_served_no_more_no_kinds_are_found(api, kube):
    gone = {"groupVersion": "demo.io/v1"}
    api.say_raw(json.dumps({"groups": [{"preferredVersion": gone, "versions": [gone]}]}).encode())
    api.say_raw(b'{"resources":[]}')
    api.refuse(404, "NotFound", "the server could not find the requested resource")
    assert await discovery.served(kube, "list") == ()

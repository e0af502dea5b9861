"""Definitions are held to be structural, then served at once."""

import copy

import pytest

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRD = f"{CRDS}/widgets.demo.io"
WIDGETS = "/apis/demo.io/v1/namespaces/default/widgets"
SCHEMA = ("spec", "versions", 0, "schema", "openAPIV3Schema")


def changed(body, at, value):
    body = copy.deepcopy(body)
    *above, last = at
    inner = body
    for step in above:
        inner = inner[step]
    inner[last] = value
    return body


async def test_a_definition_is_established_as_soon_as_it_is_written(client):
    found = await client.get(CRD)
    conditions = {c["type"]: c["status"] for c in found["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert found["status"]["storedVersions"] == ["v1"]
    assert found["status"]["acceptedNames"]["listKind"] == "WidgetList"
    assert found["spec"]["names"]["singular"] == "widget"


@pytest.mark.parametrize(
    ("at", "value", "says"),
    [
        (("metadata", "name"), "things.demo.io", 'must be spec.names.plural+"."+spec.group'),
        (("spec", "versions", 0, "storage"), False, "exactly one version marked as storage version"),
        ((*SCHEMA, "type"), "array", "must be object at the root"),
        (SCHEMA, None, "openAPIV3Schema: Required value"),
        ((*SCHEMA, "properties", "spec", "properties", "size"), {}, "must not be empty for specified object fields"),
        ((*SCHEMA, "properties", "spec", "$ref"), "#/x", "$ref is not supported"),
        ((*SCHEMA, "properties", "spec", "anyOf"), [{"type": "object"}], "must be empty to be structural"),
        ((*SCHEMA, "properties", "spec", "properties", "tags"), {"type": "array"}, "items: Required value"),
        ((*SCHEMA, "properties", "spec", "properties", "parts", "x-kubernetes-list-map-keys"), [], "list-map-keys"),
    ],
)  # fmt: skip
async def test_what_is_not_structural_is_refused(world, client, at, value, says):
    body = (await client.get(CRD)).body
    await client.delete(CRD)
    await client.gone(CRD)
    again = {"metadata": {"name": "widgets.demo.io"}, "spec": body["spec"]}
    refused = await client.create(CRDS, changed(again, at, value))
    assert refused.status == 422
    assert says in refused.said


async def test_a_second_definition_of_a_kind_is_not_established(client):
    spec = (await client.get(CRD))["spec"]
    other = {
        "metadata": {"name": "gadgets.demo.io"},
        "spec": {**spec, "names": {"plural": "gadgets", "kind": "Widget"}},
    }
    made = await client.create(CRDS, other)
    conditions = {c["type"]: c["status"] for c in made["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "False", "Established": "False"}
    assert (await client.get("/apis/demo.io/v1/namespaces/default/gadgets")).status == 404


async def test_a_second_version_shows_the_same_object(client):
    spec = (await client.get(CRD))["spec"]
    second = {**copy.deepcopy(spec["versions"][0]), "name": "v2", "storage": False}
    await client.patch(CRD, {"spec": {"versions": [*spec["versions"], second]}})
    await client.create("/apis/demo.io/v1/namespaces/default/widgets", {"metadata": {"name": "a"}})
    newer = "/apis/demo.io/v2/namespaces/default/widgets"
    assert (await client.get(f"{newer}/a"))["apiVersion"] == "demo.io/v2"
    assert (await client.get(newer))["items"][0]["apiVersion"] == "demo.io/v2"
    assert (await client.events(newer, 1))[0]["object"]["apiVersion"] == "demo.io/v2"
    changed_there = await client.patch(f"{newer}/a", {"spec": {"color": "red"}})
    assert (changed_there["apiVersion"], changed_there["spec"]["color"]) == ("demo.io/v2", "red")
    put = await client.put(f"{newer}/a", changed_there.body)
    assert (put.version, put["apiVersion"]) == (changed_there.version, "demo.io/v2")
    assert (await client.get("/apis/demo.io/v1/namespaces/default/widgets/a"))["apiVersion"] == "demo.io/v1"


async def test_a_change_of_the_schema_is_in_force_at_once(client):
    at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/replicas/maximum"
    await client.patch(CRD, [{"op": "replace", "path": at, "value": 99}], "application/json-patch+json")
    body = {"metadata": {"name": "a"}, "spec": {"replicas": 50}}
    made = await client.create("/apis/demo.io/v1/namespaces/default/widgets", body)
    assert made.status == 201


async def test_what_a_new_schema_forbids_may_stay_while_something_else_is_patched(client):
    one = f"{WIDGETS}/a"
    await client.create(WIDGETS, {"metadata": {"name": "a"}, "spec": {"replicas": 9}})
    at = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/replicas/maximum"
    await client.patch(CRD, [{"op": "replace", "path": at, "value": 5}], "application/json-patch+json")
    assert (await client.patch(f"{one}/status", {"status": {"phase": "Up"}})).status == 200
    assert (await client.patch(one, {"metadata": {"labels": {"a": "b"}}})).status == 200
    assert (await client.patch(one, {"spec": {"replicas": 8}})).status == 422

"""Clients learn what is served in whichever dialect they speak."""

import pytest

V2 = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList,application/json"


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
async def test_discovery_is_aggregated_for_who_asks(client, version):
    found = await client.ask("GET", "/apis", accept=V2.format(version))
    assert found["apiVersion"] == f"apidiscovery.k8s.io/{version}"
    assert f"v={version}" in found.headers["Content-Type"]
    groups = {item["metadata"]["name"]: item["versions"] for item in found["items"]}
    (widgets,) = groups["demo.io"][0]["resources"]
    assert (widgets["resource"], widgets["scope"], widgets["singularResource"]) == ("widgets", "Namespaced", "widget")
    assert [sub["subresource"] for sub in widgets["subresources"]] == ["status", "scale"]


async def test_older_clients_get_lists(client):
    assert (await client.get("/api"))["versions"] == ["v1"]
    names = {group["name"] for group in (await client.get("/apis"))["groups"]}
    assert {"apps", "batch", "demo.io", "apiextensions.k8s.io"} <= names
    assert "" not in names
    assert (await client.get("/apis/demo.io"))["preferredVersion"]["version"] == "v1"
    resources = {r["name"]: r for r in (await client.get("/api/v1"))["resources"]}
    assert resources["pods"]["shortNames"] == ["po"]
    assert {"pods/status", "pods/eviction", "namespaces", "secrets"} <= resources.keys()


async def test_what_is_not_served_is_not_found(client):
    for path in ("/apis/nope.io", "/apis/nope.io/v1", "/api/v2", "/openapi/v3/apis/nope.io/v1", "/nope"):
        assert (await client.get(path)).status == 404, path


async def test_schemas_are_written_with_what_kubectl_needs(client):
    index = (await client.get("/openapi/v3"))["paths"]
    url = index["apis/demo.io/v1"]["serverRelativeURL"]
    assert url.startswith("/clusters/management/openapi/v3/apis/demo.io/v1?hash=")
    document = await client.get("/openapi/v3/apis/demo.io/v1")
    schema = document["components"]["schemas"]["io.demo.v1.Widget"]
    assert schema["properties"]["spec"]["properties"]["size"]["enum"] == ["S", "M"]
    patch = document["paths"]["/apis/demo.io/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
    assert patch["x-kubernetes-group-version-kind"] == {"group": "demo.io", "version": "v1", "kind": "Widget"}
    assert "fieldValidation" in {parameter["name"] for parameter in patch["parameters"]}


async def test_every_reference_in_every_schema_leads_somewhere(client):
    def references(value):
        if isinstance(value, dict):
            yield from [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            value = list(value.values())
        for inner in value if isinstance(value, list) else []:
            yield from references(inner)

    for path in (await client.get("/openapi/v3"))["paths"]:
        document = (await client.get(f"/openapi/v3/{path}")).body
        known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
        assert set(references(document)) <= known, path


async def test_a_new_schema_has_a_new_address(client):
    before = (await client.get("/openapi/v3"))["paths"]["apis/demo.io/v1"]
    crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.demo.io"
    at = "/spec/versions/0/schema/openAPIV3Schema/description"
    await client.patch(crd, [{"op": "replace", "path": at, "value": "Other."}], "application/json-patch+json")
    assert (await client.get("/openapi/v3"))["paths"]["apis/demo.io/v1"] != before


async def test_everyone_may_do_everything(client):
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    review = await client.create(path, {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}})
    assert (review.status, review["status"]["allowed"]) == (201, True)
    assert (await client.get(path)).status == 405

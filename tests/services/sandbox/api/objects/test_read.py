"""Lists are whole, paged, selected, and shaped as asked."""

import pytest

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/demo.io/v1/namespaces/default/widgets"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
async def some(client):
    for name, labels in {"a": {"app": "x", "n": "1"}, "b": {"app": "y"}, "c": {}}.items():
        await client.create(CONFIGMAPS, {"metadata": {"name": name, "labels": labels}})
    return client


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("app=x", "a"), ("app==y", "b"), ("app!=x", "bc"), ("app", "ab"), ("!app", "c"), ("app in (x, y)", "ab"),
        ("app notin (x)", "bc"), ("app=x,n=1", "a"), ("app,n!=1", "b"), ("", "abc"),
    ],
)  # fmt: skip
async def test_labels_select(some, selector, names):
    assert await some.names(CONFIGMAPS, labelSelector=selector) == list(names)


async def test_fields_select(client):
    for name, node in {"a": "n1", "b": "n2", "c": ""}.items():
        spec = {"containers": [], **({"nodeName": node} if node else {})}
        await client.create(PODS, {"metadata": {"name": name}, "spec": spec})
    assert await client.names(PODS, fieldSelector="spec.nodeName=n1") == ["a"]
    assert await client.names("/api/v1/pods", fieldSelector="spec.nodeName!=n1,metadata.namespace=default") == [
        "b",
        "c",
    ]
    assert await client.names(PODS, fieldSelector="status.phase=Pending,metadata.name=b") == ["b"]
    assert (await client.get(PODS, fieldSelector="spec.nope=1")).status == 400


async def test_a_list_comes_in_pages(some):
    first = await some.get(CONFIGMAPS, limit="2")
    assert [item["metadata"]["name"] for item in first["items"]] == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 1
    await some.create(CONFIGMAPS, {"metadata": {"name": "d"}})
    rest = await some.get(CONFIGMAPS, limit="2", **{"continue": first["metadata"]["continue"]})
    assert [item["metadata"]["name"] for item in rest["items"]] == ["c", "d"]
    assert rest.version == first.version
    assert "continue" not in rest["metadata"]


async def test_a_broken_continue_is_refused(some):
    assert (await some.get(CONFIGMAPS, **{"continue": "x"})).status == 400
    assert (await some.get(CONFIGMAPS, limit="many")).status == 400


async def test_all_namespaces_are_listed_together(some):
    await some.create(CONFIGMAPS.replace("default", "kube-system"), {"metadata": {"name": "z"}})
    assert await some.names("/api/v1/configmaps") == ["a", "b", "c", "z"]


async def test_metadata_alone_can_be_asked_for(some):
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
    found = await some.ask("GET", CONFIGMAPS, accept=accept)
    assert found["kind"] == "PartialObjectMetadataList"
    assert [set(item) for item in found["items"]] == [{"kind", "apiVersion", "metadata"}] * 3

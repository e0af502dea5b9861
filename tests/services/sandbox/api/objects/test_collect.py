"""What nobody owns any more goes; what waits for others is let go when they are gone."""

import asyncio

import pytest

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/demo.io/v1/namespaces/default/widgets"
NAMESPACES = "/api/v1/namespaces"


def owned_by(*owners, block=True):
    return [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": block,
        }
        for owner in owners
    ]


@pytest.fixture
def make(client):
    async def create(name, *owners, path=WIDGETS, **meta):
        body = {"metadata": {"name": name, "ownerReferences": owned_by(*owners), **meta}}
        made = await client.create(path, body)
        assert made.status == 201, made.body
        return made

    return create


async def settled(client):
    """Let the collector look at everything once."""
    for _ in range(50):
        await asyncio.sleep(0)


async def test_dependents_go_after_their_owner(client, make):
    grand = await make("grand")
    parent = await make("parent", grand)
    await make("child", parent, path=CONFIGMAPS)
    await client.delete(f"{WIDGETS}/grand", propagationPolicy="Background")
    await client.gone(f"{CONFIGMAPS}/child")
    assert await client.names(WIDGETS) == []


async def test_in_the_foreground_dependents_go_first(client, make):
    owner = await make("owner")
    await make("held", owner, finalizers=["demo.io/hold"])
    answer = await client.delete(f"{WIDGETS}/owner", {"propagationPolicy": "Foreground"})
    assert answer["metadata"]["finalizers"] == ["foregroundDeletion"]
    await settled(client)
    assert await client.names(WIDGETS) == ["held", "owner"]
    await client.patch(f"{WIDGETS}/held", {"metadata": {"finalizers": None}})
    await client.gone(f"{WIDGETS}/owner")
    assert await client.names(WIDGETS) == []


async def test_orphans_stay(client, make):
    owner = await make("owner")
    await make("orphan", owner)
    await client.delete(f"{WIDGETS}/owner", propagationPolicy="Orphan")
    await client.gone(f"{WIDGETS}/owner")
    assert "ownerReferences" not in (await client.get(f"{WIDGETS}/orphan"))["metadata"]


async def test_one_owner_left_is_enough(client, make):
    first, second = await make("first"), await make("second")
    await make("shared", first, second)
    await client.delete(f"{WIDGETS}/first")
    await settled(client)
    left = (await client.get(f"{WIDGETS}/shared"))["metadata"]["ownerReferences"]
    assert [owner["name"] for owner in left] == ["second"]


async def test_an_owner_that_never_was_owns_nothing(client, make):
    ghost = {"apiVersion": "demo.io/v1", "kind": "Widget", "metadata": {"name": "ghost", "uid": "none"}}
    await make("orphan", ghost)
    await client.gone(f"{WIDGETS}/orphan")


async def test_a_new_owner_of_the_old_name_is_another_owner(client, make):
    owner = await make("owner")
    await make("held", finalizers=["demo.io/hold"])
    await client.delete(f"{WIDGETS}/owner")
    await make("owner")
    await make("late", owner)
    await client.gone(f"{WIDGETS}/late")
    assert await client.names(WIDGETS) == ["held", "owner"]


async def test_finalizers_hold_an_object_until_the_last_is_gone(client, make):
    await make("one", finalizers=["demo.io/a", "demo.io/b"])
    marked = await client.delete(f"{WIDGETS}/one")
    assert marked["metadata"]["deletionTimestamp"] == "2030-01-01T00:00:00Z"
    assert (await client.delete(f"{WIDGETS}/one")).version == marked.version
    more = await client.patch(f"{WIDGETS}/one", {"metadata": {"finalizers": ["demo.io/a", "demo.io/c"]}})
    assert (more.status, more["reason"]) == (422, "Invalid")
    assert (await client.patch(f"{WIDGETS}/one", {"metadata": {"finalizers": ["demo.io/b"]}})).status == 200
    assert (await client.get(f"{WIDGETS}/one")).status == 200
    assert (await client.patch(f"{WIDGETS}/one", {"metadata": {"finalizers": []}})).status == 200
    assert (await client.get(f"{WIDGETS}/one")).status == 404


async def test_a_namespace_takes_its_contents_along(client, make):
    await client.create(NAMESPACES, {"metadata": {"name": "team"}})
    inside = {path.replace("default", "team") for path in (WIDGETS, CONFIGMAPS)}
    for path in inside:
        await make("x", path=path)
    held = WIDGETS.replace("default", "team")
    await make("held", path=held, finalizers=["demo.io/hold"])
    assert (await client.delete(f"{NAMESPACES}/team"))["status"]["phase"] == "Terminating"
    refused = await client.create(CONFIGMAPS.replace("default", "team"), {"metadata": {"name": "late"}})
    assert (refused.status, refused["details"]["causes"][0]["reason"]) == (403, "NamespaceTerminating")
    await settled(client)
    assert await client.names(held) == ["held"]
    await client.patch(f"{held}/held", {"metadata": {"finalizers": None}})
    await client.gone(f"{NAMESPACES}/team")
    assert [await client.names(path) for path in inside] == [[], []]


async def test_the_first_namespaces_stay(client):
    assert (await client.delete(f"{NAMESPACES}/default")).status == 403


async def test_a_definition_takes_its_objects_along(client, make):
    await make("one")
    await client.delete(f"{CRDS}/widgets.demo.io")
    await client.gone(f"{CRDS}/widgets.demo.io")
    assert (await client.get(WIDGETS)).status == 404


async def test_a_deletion_holds_to_its_preconditions(client, make):
    one = await make("one")
    refused = await client.delete(f"{WIDGETS}/one", {"preconditions": {"uid": "other"}})
    assert (refused.status, refused["reason"]) == (409, "Conflict")
    assert (await client.delete(f"{WIDGETS}/one", {"preconditions": {"uid": one["metadata"]["uid"]}})).status == 200


async def test_many_are_deleted_by_their_labels(client, make):
    await make("a", labels={"app": "x"})
    await make("b", labels={"app": "y"})
    await client.delete(WIDGETS, labelSelector="app=x")
    assert await client.names(WIDGETS) == ["b"]


async def test_an_evicted_pod_is_gone(client):
    pods = "/api/v1/namespaces/default/pods"
    await client.create(pods, {"metadata": {"name": "p"}, "spec": {"containers": []}})
    assert (await client.create(f"{pods}/p/eviction", {"kind": "Eviction", "apiVersion": "policy/v1"})).status == 201
    assert (await client.get(f"{pods}/p")).status == 404


async def test_what_was_left_undone_is_done_after_a_restart(world, worlds, client, make):
    owner = await make("owner")
    await make("child", owner)
    world.api._tasks[0].cancel()  # the process dies between the deletion and its consequences
    await client.delete(f"{WIDGETS}/owner")
    assert await client.names(WIDGETS) == ["child"]
    async with worlds(world.journal) as again:
        await again.client.gone(f"{WIDGETS}/child")

"""That nothing is left is a count of what is there, or that its kind never was; what nobody can say is asked again."""

import pytest

from events.errors import Denied, TryLater
from events.kube.client import Response
from events.kube.resources import CLUSTERDEPLOYMENTS, CLUSTERS, CRDS, MACHINEDEPLOYMENTS, SECRETS
from services.clouds.leftovers import CLUSTER_NAME, leftovers
from services.sandbox.seeds.kinds import KINDS

LABELS = {"alate.dev/cluster": "train-a"}
NONE = {"clusterdeployments": 0, "clusters": 0, "machinedeployments": 0, "machines": 0, "secrets": 0}


async def left(server):
    return await leftovers(server, "default", "train-a", CLUSTERDEPLOYMENTS)


async def crd(server, resource, served):
    name = f"{resource.plural}.{resource.group}"
    versions = (await server.get(CRDS, name))["spec"]["versions"]
    await server.patch(CRDS, name, None, {"spec": {"versions": [each | {"served": served} for each in versions]}})


async def uninstalled(server, group):
    for resource in KINDS:
        if resource.group == group:
            await server.delete(CRDS, f"{resource.plural}.{resource.group}")
    server.discovered.clear()


async def test_what_is_there_is_counted(server):
    assert await left(server) == NONE
    meta = {"name": "train-a-1", "namespace": "default", "labels": LABELS}
    await server.create(CLUSTERDEPLOYMENTS, {"metadata": meta, "spec": {}})
    assert await left(server) == NONE | {"clusterdeployments": 1}


async def test_of_what_was_never_installed_nothing_is_left(server):
    await uninstalled(server, CLUSTERS.group)
    assert await left(server) == {"clusterdeployments": 0, "secrets": 0}


@pytest.mark.parametrize("resource", [CLUSTERDEPLOYMENTS, MACHINEDEPLOYMENTS], ids=lambda each: each.plural)
async def test_of_what_is_not_served_for_now_nobody_can_say_and_it_is_counted_once_it_is(server, resource):
    meta = {"name": "train-a-1", "namespace": "default", "labels": LABELS}
    await server.create(resource, {"metadata": meta, "spec": {"clusterName": "train-a-1"}})
    await crd(server, resource, served=False)
    with pytest.raises(TryLater, match=f"of {resource.plural} nobody can say now"):
        await left(server)
    await crd(server, resource, served=True)
    assert await left(server) == NONE | {resource.plural: 1}


@pytest.mark.parametrize(("status", "fault"), [(503, TryLater), (403, Denied)])
async def test_a_question_that_fails_is_no_answer(server, status, fault):
    server.transport.instead["GET"] = Response(status, {}, b"{}")
    with pytest.raises(fault):
        await left(server)


async def test_secrets_are_counted_by_either_mark_and_nothing_that_they_hold_travels(server):
    """Not even of those that are others' secrets."""
    marked = {
        "ours": LABELS, "theirs": {CLUSTER_NAME: "train-a-2"}, "both": LABELS | {CLUSTER_NAME: "train-a-1"},
        "other": {CLUSTER_NAME: "train-ab-1"}, "odd": {CLUSTER_NAME: "train-a-x"}, "bare": {},
    }  # fmt: skip
    for name, labels in marked.items():
        meta = {"name": name, "namespace": "default", "labels": labels}
        await server.create(SECRETS, {"metadata": meta, "data": {"value": "aGlkZGVu"}})
    server.transport.answered.clear()
    assert await left(server) == NONE | {"secrets": 3}
    told = b"".join(server.transport.answered)
    assert (b"theirs" in told, b"aGlkZGVu" in told, b"bare" in told) == (True, False, False)

"""An object that shall exist is made with one question, and made once however often that is asked."""

import pytest

from events.errors import Denied, TryLater
from events.kube.client import Response
from events.kube.resources import CONFIGMAPS
from services.clouds.cluster_object import ensure

UID = "alate.dev/uid"
FULL = Response(403, {}, b'{"kind":"Status","code":403,"reason":"Forbidden","message":"exceeded quota: configmaps"}')
TAKEN = Response(409, {}, b'{"kind":"Status","code":409,"reason":"AlreadyExists","message":"a is there"}')


def wanted(uid="u1", namespace="default", **meta):
    meta |= {"name": "a", "namespace": namespace, "labels": {UID: uid}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


async def test_what_is_not_there_is_made_with_one_request(server):
    made = await ensure(server, CONFIGMAPS, wanted())
    assert made["metadata"]["uid"]
    assert server.transport.asked == ["POST configmaps"]


async def test_what_is_there_is_given_as_it_is(server):
    made = await ensure(server, CONFIGMAPS, wanted())
    changed = await server.patch(CONFIGMAPS, "a", "default", {"data": {"by": "somebody"}})
    again = await ensure(server, CONFIGMAPS, wanted())
    assert (again["metadata"]["uid"], again["data"]) == (made["metadata"]["uid"], changed["data"])


async def test_a_quota_that_ours_has_used_up_does_not_refuse_it(server):
    made = await ensure(server, CONFIGMAPS, wanted())
    server.transport.instead["POST"] = FULL
    assert (await ensure(server, CONFIGMAPS, wanted()))["metadata"]["uid"] == made["metadata"]["uid"]


async def test_a_quota_that_others_have_used_up_refuses_it(server):
    server.transport.instead["POST"] = FULL
    with pytest.raises(Denied, match="exceeded quota"):
        await ensure(server, CONFIGMAPS, wanted())


async def test_somebody_elses_stands_in_the_way(server):
    await ensure(server, CONFIGMAPS, wanted("u2"))
    with pytest.raises(Denied, match="is not ours"):
        await ensure(server, CONFIGMAPS, wanted())


async def test_a_predecessor_that_is_going_is_waited_for(server):
    await ensure(server, CONFIGMAPS, wanted(finalizers=["a.b/c"]))
    await server.delete(CONFIGMAPS, "a", "default")
    with pytest.raises(TryLater, match="still being deleted"):
        await ensure(server, CONFIGMAPS, wanted())


async def test_one_that_went_between_two_looks_is_made_soon(server):
    server.transport.instead["POST"] = TAKEN
    with pytest.raises(TryLater):
        await ensure(server, CONFIGMAPS, wanted())


async def test_a_namespace_that_is_not_there_is_named(server):
    with pytest.raises(Denied, match="cannot be made") as denied:
        await ensure(server, CONFIGMAPS, wanted(namespace="nowhere"))
    assert denied.value.reason == "NotInstalled"

"""An object is created once however often it is requested; a condition that is unknown or outdated is never true."""

import pytest

from events.errors import Denied, TryLater
from events.kube.client import Response
from events.kube.resources import CONFIGMAPS
from services.clouds.cluster_object import CAPACITY, DENIED, QUOTA, conditions, ensure, failure_reason, merged

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


def seen(status="True", generation=1, observed=1, own=None):
    raw = {"type": "Ready", "status": status, "reason": "R", "message": "m"}
    raw |= {} if own is None else {"observedGeneration": own}
    return {
        "metadata": {"name": "x", "generation": generation},
        "status": {"observedGeneration": observed, "conditions": [raw]},
    }


@pytest.mark.parametrize(
    ("shown", "true"),
    [
        (seen(), True),
        (seen(own=1), True),
        (seen("Unknown"), False),
        (seen("False"), False),
        (seen(generation=2), False),
        (seen(generation=2, own=2), False),
        (seen(generation=2, observed=2, own=1), False),
        (seen(generation=2, observed=2), True),
    ],
)
def test_only_what_is_true_of_the_newest_generation_is_true(shown, true):
    assert conditions(shown)["Ready"].true is true


def test_an_object_that_shows_nothing_has_no_conditions():
    assert conditions({"metadata": {"name": "x"}}) == {}
    assert conditions({"metadata": {"name": "x", "generation": 1}, "status": {"conditions": []}}) == {}


def test_a_condition_that_lacks_its_words_is_unknown():
    shown = conditions({"metadata": {}, "status": {"conditions": [{"type": "Ready"}]}})["Ready"]
    assert (shown.status, shown.reason, shown.message, shown.true) == ("Unknown", "", "", False)


@pytest.mark.parametrize(
    ("codes", "reason"), [(CAPACITY, "NoCapacity"), (QUOTA, "Quota"), (DENIED, "Denied")], ids=["none", "quota", "no"]
)
def test_a_clouds_own_code_inside_a_message_says_what_it_means_for_the_next_offer(codes, reason):
    for code in codes:
        assert failure_reason(f"failed to create Machine: api error {code}: sorry") == reason


def test_a_message_without_a_code_is_no_failure():
    assert failure_reason("waiting for infrastructure to be ready") == ""


def test_a_merge_keeps_what_the_patch_does_not_name():
    beneath = {"project": "acme-ml", "worker": {"image": "mine", "instanceType": "small"}}
    assert merged(beneath, {"region": "r", "worker": {"instanceType": "large"}}) == {
        "project": "acme-ml", "region": "r", "worker": {"image": "mine", "instanceType": "large"},
    }  # fmt: skip

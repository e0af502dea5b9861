"""The client is shown to ask as Kubernetes wants to be asked, and to end every question in time."""

import asyncio
import json

import pytest

from events.errors import Denied, TryLater
from events.kube.impersonation import account_user
from events.kube.resources import CONFIGMAPS, NODES

THING = {"metadata": {"name": "c", "namespace": "default"}, "data": {"a": "1"}}


async def test_a_list_is_every_page_at_one_version(api, kube):
    for i in range(1201):
        await api.say(f"c{i}")
    listed = await kube.list(CONFIGMAPS, "default", labels="app=x", fields="metadata.name=y")
    assert len(listed.items) == len({o["metadata"]["name"] for o in listed.items}) == 1201
    assert listed.resource_version == str(api.version)
    assert [r.query.get("continue") for r in api.asked] == [None, "500", "1000"]
    assert api.asked[-1].query["labelSelector"] == "app=x"
    assert api.asked[-1].query["fieldSelector"] == "metadata.name=y"


async def test_items_of_a_list_say_what_they_are(api, kube):
    await api.say("c")
    (item,) = (await kube.list(CONFIGMAPS)).items
    assert (item["apiVersion"], item["kind"]) == ("v1", "ConfigMap")


async def test_pages_that_expired_are_read_as_one_whole_list(api, kube):
    for i in range(501):
        await api.say(f"c{i}")
    api.scripted.append(api._list)
    api.refuse(410, "Expired")
    assert len((await kube.list(CONFIGMAPS)).items) == 501
    assert "limit" not in api.asked[-1].query


async def test_a_list_that_is_null_is_empty(api, kube):
    api.say_raw(b'{"metadata":{"resourceVersion":"5"},"items":null}')
    assert (await kube.list(NODES)).items == ()


async def test_items_without_a_name_are_left_out_of_a_list_and_counted(api, kube):
    odd = "{}", '{"metadata":null}', '{"metadata":{"name":""}}', '{"metadata":{"name":5}}', '{"metadata":{"uid":"u"}}'
    good = '{"metadata":{"name":"n","labels":null}}'
    api.say_raw(f'{{"metadata":{{"resourceVersion":"5"}},"items":[{",".join((*odd, good))}]}}'.encode())
    listed = await kube.list(NODES)
    assert ([item["metadata"]["name"] for item in listed.items], listed.nameless) == (["n"], 5)


async def test_apply_sends_json_as_an_apply_patch_with_its_manager(api, kube):
    answer = await kube.apply(CONFIGMAPS, THING, manager="alate-x", subresource="status")
    request = api.asked[-1]
    assert (request.method, request.path) == ("PATCH", "/api/v1/namespaces/default/configmaps/c/status")
    assert dict(request.query) == {"fieldManager": "alate-x", "force": "true"}
    assert request.content_type == "application/apply-patch+yaml"
    assert answer == {"apiVersion": "v1", "kind": "ConfigMap"} | THING


async def test_apply_without_force_meets_conflicts(api, kube):
    api.refuse(409, "Conflict", 'Apply failed with 1 conflict: conflict with "m1": .data.a')
    with pytest.raises(Denied, match=r'conflict with "m1"') as caught:
        await kube.apply(CONFIGMAPS, THING, manager="x", force=False)
    assert caught.value.reason == "Conflict"
    assert api.asked[-1].query["force"] == "false"


async def test_a_dry_run_says_so_to_the_server(api, kube):
    await kube.apply(CONFIGMAPS, THING, manager="alate-x", dry_run=True)
    assert api.asked[-1].query["dryRun"] == "All"
    await kube.create(CONFIGMAPS, THING, dry_run=True)
    assert api.asked[-1].query["dryRun"] == "All"
    await kube.apply(CONFIGMAPS, THING, manager="alate-x")
    assert "dryRun" not in api.asked[-1].query


async def test_every_request_in_the_name_of_an_account_says_whose_it_is(api, kube):
    account = kube.impersonating(account_user("acme", "deployer"))
    await account.apply(CONFIGMAPS, THING, manager="alate-x")
    await account.list(CONFIGMAPS)
    assert {each.headers["Impersonate-User"] for each in api.asked} == {"system:serviceaccount:acme:deployer"}
    await account.close()
    await kube.list(CONFIGMAPS)
    assert "Impersonate-User" not in api.asked[-1].headers


@pytest.mark.parametrize("names", [("a/b", "c"), ("a", ""), ("a", "..")])
def test_an_account_has_the_name_of_an_account(names):
    with pytest.raises(Denied, match="cannot be part of a path"):
        account_user(*names)


async def test_create_posts_to_the_namespace_of_the_object(api, kube):
    await kube.create(CONFIGMAPS, THING)
    assert (api.asked[-1].method, api.asked[-1].path) == ("POST", "/api/v1/namespaces/default/configmaps")


@pytest.mark.parametrize(
    ("kind", "patch", "content"),
    [
        ("merge", {"data": {"a": None}}, "application/merge-patch+json"),
        ("json", [{"op": "remove", "path": "/data/a"}], "application/json-patch+json"),
    ],
)
async def test_a_patch_says_what_kind_it_is(api, kube, kind, patch, content):
    api.say_raw(b'{"kind":"ConfigMap"}')
    await kube.patch(CONFIGMAPS, "c", "default", patch, kind=kind)
    assert api.asked[-1].content_type == content
    assert json.loads(api.bodies[-1]) == patch


async def test_delete_names_the_incarnation_it_means(api, kube):
    await kube.delete(CONFIGMAPS, "c", "default", uid="u-1", propagation="Foreground")
    body = json.loads(api.bodies[-1])
    assert api.asked[-1].method == "DELETE"
    assert body["preconditions"] == {"uid": "u-1"}
    assert body["propagationPolicy"] == "Foreground"


async def test_a_server_that_accepts_and_never_answers_costs_the_timeout_and_no_more(reach):
    held = []

    async def accept(_, writer):
        held.append(writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        kube = reach(f"http://127.0.0.1:{port}", answer=0.2)
        async with asyncio.timeout(5):
            with pytest.raises(TryLater, match=r"gave no answer to GET /version in time"):
                await kube.read("/version")
        for writer in held:
            writer.close()


async def test_an_answer_that_is_no_json_is_told_with_its_beginning(api, kube):
    api.say_raw(b"<html>please log in")
    with pytest.raises(Denied, match=r"GET /version was answered 200: <html>please log in"):
        await kube.read("/version")

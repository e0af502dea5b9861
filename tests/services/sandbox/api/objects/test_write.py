"""Writes: from old to new, checked, and skipped if nothing changes."""

import asyncio

import pytest

from services.sandbox.api.objects.patch import JSON as JSON_PATCH
from services.sandbox.api.objects.patch import STRATEGIC

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
WIDGETS = "/apis/demo.io/v1/namespaces/default/widgets"
ONE = f"{WIDGETS}/one"


@pytest.fixture
async def one(client):
    return await client.create(WIDGETS, {"metadata": {"name": "one"}, "spec": {"replicas": 3}})


async def test_a_created_object_has_its_identity_and_defaults(one):
    meta = one["metadata"]
    assert one.status == 201
    assert (one["kind"], one["apiVersion"], one["spec"]) == ("Widget", "demo.io/v1", {"replicas": 3, "size": "S"})
    assert (meta["generation"], meta["creationTimestamp"]) == (1, "2030-01-01T00:00:00Z")
    assert meta["uid"].startswith("uid-")


async def test_a_second_object_of_the_same_name_is_refused(client, one):
    again = await client.create(WIDGETS, {"metadata": {"name": "one"}})
    assert (again.status, again["reason"], again.said) == (409, "AlreadyExists", 'widgets.demo.io "one" already exists')


async def test_names_are_generated(client):
    made = await client.create(CONFIGMAPS, {"metadata": {"generateName": "run-"}})
    assert made["metadata"]["name"].startswith("run-")
    assert len(made["metadata"]["name"]) == len("run-") + 5


@pytest.mark.parametrize(("meta", "says"), [({}, "name or generateName is required"), ({"name": "A_b"}, "RFC 1123")])
async def test_a_bad_name_is_refused(client, meta, says):
    refused = await client.create(CONFIGMAPS, {"metadata": meta})
    assert (refused.status, refused["reason"]) == (422, "Invalid")
    assert says in refused.said


async def test_a_namespace_must_be_there(client):
    refused = await client.create("/api/v1/namespaces/nope/configmaps", {"metadata": {"name": "a"}})
    assert (refused.status, refused.said) == (404, 'namespaces "nope" not found')


async def test_a_body_of_another_kind_or_namespace_is_refused(client):
    assert (await client.create(CONFIGMAPS, {"kind": "Secret", "metadata": {"name": "a"}})).status == 400
    assert (await client.create(CONFIGMAPS, {"metadata": {"name": "a", "namespace": "b"}})).status == 400


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b'{"metadata": 3}'])
async def test_a_body_that_is_no_object_is_refused(client, body):
    assert (await client.create(CONFIGMAPS, body)).status == 400


async def test_an_unknown_media_type_is_refused(client):
    assert (await client.ask("POST", CONFIGMAPS, b"x", "text/csv")).status == 415


async def test_an_update_with_an_old_version_is_a_conflict(client, one):
    new = {**one.body, "spec": {"replicas": 4}}
    assert (await client.put(ONE, new)).status == 200
    refused = await client.put(ONE, new)
    assert (refused.status, refused["reason"]) == (409, "Conflict")
    assert "the object has been modified" in refused.said


async def test_a_custom_resource_is_not_updated_blindly(client, one):
    assert "must be specified for an update" in (await client.put(ONE, {"spec": {}})).said


async def test_of_writers_at_once_one_wins_and_the_others_hear_it(distant):
    client = distant.client
    one = await client.create(WIDGETS, {"metadata": {"name": "one"}})
    puts = (client.put(ONE, {**one.body, "spec": {"replicas": n}}) for n in range(4, 9))
    answers = await asyncio.gather(*puts)
    assert sorted(answer.status for answer in answers) == [200, 409, 409, 409, 409]


async def test_concurrent_patches_are_all_kept(distant):
    client = distant.client
    await client.create(WIDGETS, {"metadata": {"name": "one"}})
    await asyncio.gather(*(client.patch(ONE, {"metadata": {"labels": {f"l{n}": "x"}}}) for n in range(20)))
    assert len((await client.get(ONE))["metadata"]["labels"]) == 20


async def test_a_change_of_the_spec_counts_and_a_change_of_labels_does_not(client, one):
    assert (await client.patch(ONE, {"metadata": {"labels": {"a": "b"}}}))["metadata"]["generation"] == 1
    assert (await client.patch(ONE, {"spec": {"replicas": 5}}))["metadata"]["generation"] == 2


async def test_an_unchanged_write_is_no_write(world, client, one):
    world.later(hours=1)
    assert (await client.patch(ONE, {"spec": {"replicas": 3}})).version == one.version
    assert (await client.put(ONE, one.body)).version == one.version
    applied = await client.apply(ONE, {"spec": {"replicas": 3}})
    world.later(hours=1)
    assert (await client.apply(ONE, {"spec": {"replicas": 3}})).version == applied.version


async def test_status_and_spec_are_written_apart(client, one):
    status = await client.patch(f"{ONE}/status", {"status": {"phase": "Up"}, "spec": {"replicas": 9}})
    assert (status["status"], status["spec"]["replicas"]) == ({"phase": "Up"}, 3)
    assert status["metadata"]["generation"] == 1
    spec = await client.patch(ONE, {"status": {"phase": "Down"}, "spec": {"replicas": 9}})
    assert (spec["status"], spec["spec"]["replicas"]) == ({"phase": "Up"}, 9)


async def test_a_status_given_at_creation_is_dropped(client):
    made = await client.create(WIDGETS, {"metadata": {"name": "a"}, "status": {"phase": "Up"}})
    assert "status" not in made.body


async def test_who_registers_a_node_says_how_it_is(client):
    made = await client.create("/api/v1/nodes", {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": 8}}})
    assert made["status"]["capacity"] == {"cpu": "8"}


async def test_a_dry_run_shows_and_writes_nothing(client, one):
    shown = await client.patch(ONE, {"spec": {"replicas": 7}}, dryRun="All")
    assert shown["spec"]["replicas"] == 7
    assert (await client.create(WIDGETS, {"metadata": {"name": "two"}}, dryRun="All")).status == 201
    assert (await client.delete(ONE, dryRun="All")).status == 200
    assert (await client.get(ONE)).body == one.body
    assert await client.names(WIDGETS) == ["one"]


async def test_what_the_server_says_of_an_object_cannot_be_changed(client, one):
    mine = {"uid": None, "generation": 99, "creationTimestamp": "2000-01-01T00:00:00Z"}
    patched = await client.patch(ONE, {"metadata": mine})
    assert patched["metadata"] == one["metadata"]
    assert (await client.patch(ONE, {"metadata": {"uid": "other"}})).status == 422


async def test_a_json_patch_that_does_not_fit_is_refused(client, one):
    fits = [{"op": "test", "path": "/spec/replicas", "value": 3}, {"op": "remove", "path": "/spec/replicas"}]
    assert (await client.patch(ONE, [{"op": "remove", "path": "/spec/nope"}], JSON_PATCH)).status == 422
    assert (await client.patch(ONE, {"op": "remove"}, JSON_PATCH)).status == 422
    assert "replicas" not in (await client.patch(ONE, fits, JSON_PATCH))["spec"]


async def test_a_strategic_patch_of_a_custom_resource_is_no_media_type(client, one):
    assert (await client.patch(ONE, {}, STRATEGIC)).status == 415


async def test_unknown_fields_are_dropped_with_a_warning_or_refused_when_strict(client):
    body = {"metadata": {"name": "a"}, "spec": {"bogus": 1}}
    strict = await client.create(WIDGETS, body, fieldValidation="Strict")
    assert strict.status == 400
    assert 'strict decoding error: unknown field "spec.bogus"' in strict.said
    warned = await client.create(WIDGETS, body)
    assert (warned.status, warned["spec"]) == (201, {"size": "S"})
    assert warned.headers["Warning"] == '299 - "unknown field \\"spec.bogus\\""'
    ignored = await client.create(WIDGETS, {**body, "metadata": {"name": "b"}}, fieldValidation="Ignore")
    assert "Warning" not in ignored.headers


async def test_a_wrong_type_in_a_built_in_kind_cannot_be_handled(client):
    body = {"metadata": {"name": "a"}, "data": {"k": 3}}
    refused = await client.create(CONFIGMAPS, body)
    assert refused.status == 400
    assert "cannot be handled as a ConfigMap" in refused.said


async def test_secrets_take_text_and_keep_base64(client):
    made = await client.create(
        "/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}, "stringData": {"k": "v"}}
    )
    assert (made["data"], made["type"]) == ({"k": "dg=="}, "Opaque")
    assert "stringData" not in made.body


async def test_an_object_that_does_not_fit_a_message_is_refused(client):
    refused = await client.create(CONFIGMAPS, {"metadata": {"name": "a"}, "data": {"k": "x" * 1_000_000}})
    assert (refused.status, refused["reason"]) == (413, "RequestEntityTooLarge")


async def test_a_method_that_is_not_served_is_not_allowed(client, one):
    assert (await client.create(ONE, {})).status == 405
    assert (await client.delete("/api/v1/configmaps")).status == 405
    assert (await client.get(f"{ONE}/nope")).status == 404

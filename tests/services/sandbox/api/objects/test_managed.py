"""Server-side apply: who owns which field, and what happens when two want the same."""

import copy
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.sandbox.api.objects.managed import Hand, Manager, Ownership, apply, updated
from services.sandbox.api.schema.builtin import schema_of
from services.sandbox.api.schema.fields import every, from_v1, to_v1
from tests.examples import examples

WIDGETS = "/apis/demo.io/v1/namespaces/default/widgets"
ONE = f"{WIDGETS}/one"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def owners(answer):
    return {
        (entry["manager"], entry["operation"], entry.get("subresource", "")): entry["fieldsV1"]
        for entry in answer["metadata"]["managedFields"]
    }


async def test_apply_creates_and_owns_what_it_said(client):
    made = await client.apply(ONE, {"spec": {"color": "red"}}, "m1")
    assert made.status == 201
    assert owners(made) == {("m1", "Apply", ""): {"f:spec": {"f:color": {}}}}
    assert made["spec"] == {"color": "red", "size": "S"}


async def test_a_manager_who_wants_another_value_has_a_conflict(client):
    await client.apply(ONE, {"spec": {"color": "red"}}, "m1")
    refused = await client.apply(ONE, {"spec": {"color": "blue"}}, "m2")
    assert refused.status == 409
    assert refused.said == 'Apply failed with 1 conflict: conflict with "m1": .spec.color'
    assert refused["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "m1"', "field": ".spec.color"}
    ]


async def test_several_conflicts_are_listed_by_manager(client):
    await client.apply(ONE, {"spec": {"color": "red"}}, "m1")
    await client.patch(ONE, {"spec": {"replicas": 1, "size": "M"}}, fieldManager="ed")
    refused = await client.apply(ONE, {"spec": {"color": "blue", "replicas": 2, "size": "S"}}, "m2")
    assert refused.said == (
        'Apply failed with 3 conflicts: conflicts with "ed" using demo.io/v1:\n- .spec.replicas\n- .spec.size\n'
        'conflicts with "m1":\n- .spec.color'
    )


async def test_the_same_value_is_owned_by_both(client):
    await client.apply(ONE, {"spec": {"color": "red"}}, "m1")
    both = await client.apply(ONE, {"spec": {"color": "red"}}, "m2")
    assert {name for name, *_ in owners(both)} == {"m1", "m2"}
    one_left = await client.apply(ONE, {"spec": {"replicas": 1}}, "m1")
    assert one_left["spec"]["color"] == "red"
    none_left = await client.apply(ONE, {}, "m2")
    assert "color" not in none_left["spec"]


async def test_force_takes_the_field(client):
    await client.apply(ONE, {"spec": {"color": "red", "replicas": 1}}, "m1")
    taken = await client.apply(ONE, {"spec": {"color": "blue"}}, "m2", force="true")
    assert owners(taken) == {
        ("m1", "Apply", ""): {"f:spec": {"f:replicas": {}}},
        ("m2", "Apply", ""): {"f:spec": {"f:color": {}}},
    }


async def test_an_update_takes_what_it_changes(client):
    await client.apply(ONE, {"spec": {"color": "red", "replicas": 1}}, "m1")
    changed = await client.patch(ONE, {"spec": {"color": "blue"}}, fieldManager="ed")
    assert owners(changed) == {
        ("m1", "Apply", ""): {"f:spec": {"f:replicas": {}}},
        ("ed", "Update", ""): {"f:spec": {"f:color": {}}},
    }


async def test_what_is_no_longer_applied_is_removed(client):
    await client.apply(ONE, {"spec": {"color": "red", "limits": {"a": 1, "b": 2}, "tags": ["x", "y"]}})
    fewer = await client.apply(ONE, {"spec": {"limits": {"a": 1}, "tags": ["y"]}})
    assert fewer["spec"] == {"limits": {"a": 1}, "tags": ["y"], "size": "S"}


async def test_list_items_are_owned_by_their_keys(client):
    await client.apply(ONE, {"spec": {"parts": [{"name": "a", "weight": 1}]}}, "m1")
    both = await client.apply(ONE, {"spec": {"parts": [{"name": "b", "weight": 2}]}}, "m2")
    assert both["spec"]["parts"] == [{"name": "a", "weight": 1}, {"name": "b", "weight": 2}]
    assert owners(both)["m2", "Apply", ""] == {
        "f:spec": {"f:parts": {'k:{"name":"b"}': {".": {}, "f:name": {}, "f:weight": {}}}}
    }
    left = await client.apply(ONE, {"spec": {"parts": []}}, "m1")
    assert left["spec"]["parts"] == [{"name": "b", "weight": 2}]
    refused = await client.apply(ONE, {"spec": {"parts": [{"name": "b", "weight": 3}]}}, "m1")
    assert refused.said.endswith('.spec.parts[name="b"].weight')


async def test_status_has_owners_of_its_own(client):
    await client.apply(ONE, {"spec": {"color": "red"}}, "m1")
    up = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}, "spec": {"color": "no"}}
    written = await client.apply(f"{ONE}/status", up, "m1")
    assert written["spec"]["color"] == "red"
    assert set(owners(written)) == {("m1", "Apply", ""), ("m1", "Apply", "status")}
    again = await client.apply(ONE, {"spec": {"color": "blue"}, "status": {"phase": "no"}}, "m1")
    assert again["status"] == {"conditions": [{"type": "Ready", "status": "True"}]}


async def test_applying_status_does_not_create(client):
    assert (await client.apply(f"{ONE}/status", {"status": {"phase": "Up"}})).status == 404


async def test_an_undeclared_field_cannot_be_applied(client):
    refused = await client.apply(ONE, {"spec": {"bogus": 1}})
    assert refused.status == 500
    assert refused.said == (
        "failed to create typed patch object (/one; demo.io/v1, Kind=Widget): .spec.bogus: field not declared in schema"
    )


async def test_apply_without_a_manager_is_invalid(client):
    refused = await client.patch(ONE, {"spec": {}}, "application/apply-patch+yaml")
    assert (refused.status, refused["reason"]) == (422, "Invalid")
    assert "fieldManager: Required value" in refused.said


async def test_keys_in_yaml_are_text_as_in_json(client):
    body = b"{apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {1: first}}"
    made = await client.apply("/api/v1/namespaces/default/configmaps/one", b"# a comment, so no JSON\n" + body)
    assert made["data"] == {"1": "first"}


async def test_apply_takes_yaml(client):
    made = await client.apply(ONE, b"spec:\n  color: red\nmetadata:\n  annotations: {at: 2030-01-01T00:00:00Z}\n")
    assert made["metadata"]["annotations"] == {"at": "2030-01-01T00:00:00Z"}


async def test_managed_fields_can_be_reset(client):
    made = await client.apply(ONE, {"spec": {"color": "red"}}, "m1")
    body = copy.deepcopy(made.body)
    body["metadata"]["managedFields"] = []
    reset = await client.put(ONE, body, fieldManager="ed")
    assert reset["metadata"].get("managedFields", []) == []


async def test_a_port_without_a_protocol_is_the_tcp_port(client):
    def web(*ports):
        containers = [{"name": "c", "image": "i", "ports": list(ports)}]
        template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}
        return {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}

    await client.apply(f"{DEPLOYMENTS}/web", web({"containerPort": 80}), "m1")
    both = await client.apply(f"{DEPLOYMENTS}/web", web({"containerPort": 80, "protocol": "UDP"}), "m2")
    ports = both["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert ports == [{"containerPort": 80, "protocol": "TCP"}, {"containerPort": 80, "protocol": "UDP"}]


# -- after any sequence ----------------------------------------------------------------------------------------

SCHEMA = {
    "type": "object",
    "properties": {
        "metadata": schema_of("ObjectMeta"),
        "spec": {
            "type": "object",
            "properties": {
                "a": {"type": "integer"},
                "b": {"type": "string"},
                "map": {"type": "object", "additionalProperties": {"type": "integer"}},
                "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "atoms": {"type": "array", "items": {"type": "integer"}},
                "items": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["k"],
                    "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}},
                },
            },
        },
    },
}
small = st.integers(0, 2)
items = st.lists(
    st.fixed_dictionaries({"k": st.sampled_from("xyz")}, optional={"v": small}), max_size=3, unique_by=lambda i: i["k"]
)
specs = st.fixed_dictionaries(
    {},
    optional={
        "a": small,
        "b": st.sampled_from("pq"),
        "map": st.dictionaries(st.sampled_from("mn"), small),
        "set": st.lists(st.sampled_from("st"), unique=True),
        "atoms": st.lists(small, max_size=2),
        "items": items,
    },
)
steps = st.lists(st.tuples(st.sampled_from(["apply", "update"]), st.sampled_from("ABC"), specs), min_size=1, max_size=8)


def do(live, step):
    verb, who, spec = step
    ownership = Ownership.read(live["metadata"].get("managedFields", ()))
    if verb == "apply":
        hand = Hand(Manager(who, "Apply", "v1"), "now", force=True)
        new = apply(live, {"metadata": {}, "spec": spec}, SCHEMA, ownership, hand)
    else:
        new = {"metadata": dict(live["metadata"]), "spec": spec}
        updated(live, new, SCHEMA, ownership, Hand(Manager(who, "Update", "v1"), "now"))
    return {**new, "metadata": {"name": "x", "managedFields": ownership.written()}}


@settings(max_examples=examples(200), deadline=None)
@given(steps)
def test_after_any_sequence_nothing_is_owned_that_is_not_there(sequence):
    live = {"metadata": {"name": "x"}}
    for step in sequence:
        live = do(live, step)
        there = set(every(live, SCHEMA))
        for entry in live["metadata"]["managedFields"]:
            assert set(from_v1(entry["fieldsV1"])) <= there


@settings(max_examples=examples(200), deadline=None)
@given(steps)
def test_after_any_sequence_every_value_has_an_owner(sequence):
    live = {"metadata": {"name": "x"}}
    for step in sequence:
        live = do(live, step)
    owned = {path for e in live["metadata"]["managedFields"] for path in from_v1(e["fieldsV1"])}
    leaves = {p for p in every(live, SCHEMA) if p[0] == "f:spec" and not any(o[: len(p)] == p for o in owned)}
    # A container that others emptied is nobody's, as on the real server.
    assert leaves <= {("f:spec",), *(("f:spec", f"f:{name}") for name in ("map", "set", "items"))}


@settings(max_examples=examples(200), deadline=None)
@given(steps)
def test_doing_the_last_step_again_changes_nothing(sequence):
    live = {"metadata": {"name": "x"}}
    for step in sequence:
        live = do(live, step)
    assert do(live, sequence[-1]) == live


@settings(deadline=None)
@given(st.sets(st.lists(st.sampled_from(["f:a", "f:b", 'k:{"n":1}', 'v:"s"']), min_size=1, max_size=4).map(tuple)))
def test_a_set_of_fields_is_read_as_it_was_written(paths):
    assert set(from_v1(json.loads(json.dumps(to_v1(paths))))) == paths


@pytest.mark.parametrize("who", ["A", "B"])
def test_an_empty_apply_gives_everything_up(who):
    live = do({"metadata": {"name": "x"}}, ("apply", who, {"a": 1, "items": [{"k": "x", "v": 1}]}))
    live = do(live, ("apply", who, {}))
    assert live.get("spec", {}) == {}

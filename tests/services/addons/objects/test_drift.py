"""Which fields of an object differ from what an apply would make of them, and who wrote them."""

import pytest

from services.addons.objects.drift import HIDDEN, FieldChange, drift
from services.addons.objects.ignoring import Ignore

OURS = {"f:data": {"f:size": {}}, "f:metadata": {"f:labels": {"f:a": {}}}}
MAIN = 'k:{"name":"main"}'
PORT = 'k:{"containerPort":80,"protocol":"TCP"}'


def entry(manager, fields, operation="Update", time="2026-01-01T00:00:00Z", **more):
    return {
        "manager": manager, "operation": operation, "apiVersion": "v1", "time": time, "fieldsV1": fields, **more
    }  # fmt: skip


def thing(kind="ConfigMap", entries=(), labels=None, **body):
    ours = entry("alate-addons", OURS, "Apply")
    meta = {"name": "x", "uid": "u", "resourceVersion": "1", "labels": labels or {}, "managedFields": [ours, *entries]}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, **body}


def workload(containers, entries=()):
    fields = {"f:spec": {"f:containers": {MAIN: {".": {}, "f:image": {}, "f:ports": {PORT: {"f:name": {}}}}}}}
    ours = entry("alate-addons", fields, "Apply")
    meta = {"name": "x", "managedFields": [ours, *entries]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers}}


def container(image="a:1", **more):
    return {"name": "main", "image": image, **more}


def changes(live, wanted, ignore=()):
    return drift(live, wanted, "alate-addons", ignore)


def test_what_is_the_same_is_no_drift_whatever_the_server_wrote_about_it():
    live = thing(data={"size": "small"}, status={"seen": 1})
    other = thing(data={"size": "small"})
    other["metadata"] |= {"resourceVersion": "2", "generation": 3, "managedFields": []}
    assert changes(live, other) == ()


def test_a_field_names_its_values_and_who_wrote_it():
    kubectl = entry("kubectl-edit", {"f:data": {"f:size": {}}})
    (change,) = changes(thing(data={"size": "large"}, entries=[kubectl]), thing(data={"size": "small"}))
    assert change == FieldChange("/data/size", "large", "small", "kubectl-edit")
    assert str(change) == "/data/size is large by kubectl-edit and should be small"


def test_of_several_the_last_writer_is_named_and_never_one_of_the_status():
    writers = [
        entry("first", {"f:data": {"f:size": {}}}, time="2026-01-01T00:00:00Z"),
        entry("second", {"f:data": {}}, time="2026-01-03T00:00:00Z"),
        entry("other", {"f:data": {"f:else": {}}}, time="2026-01-04T00:00:00Z"),
        entry("controller", {"f:data": {"f:size": {}}}, time="2026-01-05T00:00:00Z", subresource="status"),
    ]
    (change,) = changes(thing(data={"size": "large"}, entries=writers), thing(data={"size": "small"}))
    assert change.manager == "second"


def test_a_field_that_was_removed_is_nobodys():
    assert changes(thing(data={}), thing(data={"size": "small"})) == (FieldChange("/data/size", None, "small", ""),)


def test_a_field_that_others_own_as_well_is_no_drift():
    shared = entry("kubectl-edit", {"f:data": {"f:size": {}}})
    assert changes(thing(data={"size": "small"}, entries=[shared]), thing(data={"size": "small"})) == ()


def test_a_key_with_a_slash_is_escaped():
    (change,) = changes(thing(labels={"a/b~c": "1"}), thing(labels={"a/b~c": "2"}))
    assert change.path == "/metadata/labels/a~1b~0c"


def test_elements_with_keys_are_compared_by_them_in_any_order():
    sidecar = entry("injector", {"f:spec": {"f:containers": {'k:{"name":"side"}': {"f:image": {}}}}})
    live = workload([{"name": "side", "image": "s"}, container("a:2")], [sidecar])
    wanted = workload([container("a:1"), {"name": "side", "image": "s"}], [sidecar])
    assert [(each.path, each.live, each.wanted) for each in changes(live, wanted)] == [
        ("/spec/containers/0/image", "a:2", "a:1")
    ]


def test_elements_with_several_keys_are_told_apart_by_all_of_them():
    udp = {"containerPort": 80, "protocol": "UDP"}
    live = workload([container(ports=[udp, {"containerPort": 80, "protocol": "TCP", "name": "a"}])])
    wanted = workload([container(ports=[{"containerPort": 80, "protocol": "TCP", "name": "b"}, udp])])
    assert [(each.path, each.live) for each in changes(live, wanted)] == [("/spec/containers/0/ports/0/name", "a")]


def test_an_element_that_is_missing_is_one_change():
    (change,) = changes(workload([]), workload([container()]))
    assert change == FieldChange("/spec/containers/0", None, container(), "")


def test_values_of_a_set_have_no_order():
    ours = {"f:metadata": {"f:finalizers": {'v:"a"': {}, 'v:"b"': {}}}}
    live, wanted = (thing(entries=[entry("alate-addons", ours, "Apply")]) for _ in range(2))
    live["metadata"]["finalizers"], wanted["metadata"]["finalizers"] = ["b", "a"], ["a", "b"]
    assert changes(live, wanted) == ()


@pytest.mark.parametrize(("one", "other"), [("1000m", "1"), ("1Gi", "1024Mi"), (1, "1"), ("1.0", "1")])
def test_quantities_are_compared_by_what_they_are(one, other):
    limits = [thing(spec={"limits": {"cpu": each}}) for each in (one, other)]
    assert changes(*limits) == ()
    plain = [thing(data={"cpu": each}) for each in (one, other)]
    assert len(changes(*plain)) == 1


@pytest.mark.parametrize(
    ("ignore", "left"),
    [
        (Ignore(("/data/size",)), ["/data/color"]),
        (Ignore(("/data",)), []),
        (Ignore(("/data/*",)), []),
        (Ignore(("/data/size",), kind="Secret"), ["/data/size", "/data/color"]),
        (Ignore(("/data/color",), kind="ConfigMap", name="x"), ["/data/size"]),
        (Ignore(("/data/color",), name="y"), ["/data/size", "/data/color"]),
    ],
)
def test_fields_that_others_may_change_are_left_out(ignore, left):
    live, wanted = thing(data={"size": "l", "color": "red"}), thing(data={"size": "s", "color": "blue"})
    assert [each.path for each in changes(live, wanted, [ignore])] == left


def test_what_a_secret_holds_is_not_told():
    (change,) = changes(thing("Secret", data={"token": "YQ=="}), thing("Secret", data={"token": "Yg=="}))
    assert (change.path, change.live, change.wanted) == ("/data/token", HIDDEN, HIDDEN)
    (gone,) = changes(thing("Secret", data={}), thing("Secret", data={"token": "Yg=="}))
    assert (gone.live, gone.wanted) == (None, HIDDEN)
    (data,) = changes(thing("Secret"), thing("Secret", data={"token": "Yg=="}))
    assert "Yg==" not in str(data)


def test_a_long_value_is_shortened_in_a_sentence():
    (change,) = changes(thing(data={"size": "l" * 500}), thing(data={"size": "s"}))
    assert len(str(change)) < 200


def test_managed_fields_that_nobody_can_read_are_passed_over():
    live = thing(data={"size": "large"})
    live["metadata"]["managedFields"] = ["x", {"manager": "y"}, entry("z", {"f:data": {"f:size": {}}, "k:{": {}})]
    (change,) = changes(live, thing(data={"size": "small"}))
    assert change.manager == "z"

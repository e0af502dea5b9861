"""Strategic merge patches go into lists, as kubectl expects of built-in kinds."""

import pytest

from services.sandbox.api.objects.patch import merge, strategic
from services.sandbox.api.schema.builtin import schema_of
from services.sandbox.api.status import StatusError

POD = schema_of("PodSpec")


def containers(*names, **more):
    return {"containers": [{"name": name, **more} for name in names]}


@pytest.mark.parametrize(
    ("old", "patch", "new"),
    [
        ({"a": 1, "b": {"c": 2}}, {"a": None, "b": {"d": 3}}, {"b": {"c": 2, "d": 3}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": "x"}, {"a": {"b": 1, "c": None}}, {"a": {"b": 1}}),
    ],
)
def test_a_merge_patch_lays_over_and_takes_away(old, patch, new):
    assert merge(old, patch, {}) == new


@pytest.mark.parametrize(
    ("patch", "new"),
    [
        (containers("a", image="2"), [{"name": "a", "image": "2"}, {"name": "b", "image": "1"}]),
        (containers("c", image="3"), [{"name": n, "image": i} for n, i in (("c", "3"), ("a", "1"), ("b", "1"))]),
        ({"containers": [{"name": "a", "$patch": "delete"}]}, [{"name": "b", "image": "1"}]),
        ({"containers": [{"$patch": "replace"}, {"name": "z"}]}, [{"name": "z"}]),
        (
            {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], **containers("b", image="2")},
            [{"name": "b", "image": "2"}, {"name": "a", "image": "1"}],
        ),
    ],
)
def test_items_are_merged_by_their_key(patch, new):
    assert strategic(containers("a", "b", image="1"), patch, POD)["containers"] == new


def test_an_item_without_its_key_is_refused():
    with pytest.raises(StatusError, match="does not contain declared merge key: name"):
        strategic(containers("a"), {"containers": [{"image": "x"}]}, POD)


def test_a_list_without_a_key_is_replaced():
    old = {"containers": [{"name": "a", "command": ["x", "y"]}]}
    new = strategic(old, {"containers": [{"name": "a", "command": ["z"]}]}, POD)
    assert new == {"containers": [{"name": "a", "command": ["z"]}]}


def test_only_the_retained_keys_stay():
    old = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}
    patch = {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}
    assert strategic(old, patch, schema_of("DeploymentSpec")) == {"strategy": {"type": "Recreate"}}


def test_finalizers_are_merged_and_taken_out_one_by_one():
    meta = schema_of("ObjectMeta")
    assert strategic({"finalizers": ["a"]}, {"finalizers": ["b"]}, meta) == {"finalizers": ["b", "a"]}
    gone = {"$deleteFromPrimitiveList/finalizers": ["a"]}
    assert strategic({"finalizers": ["a", "b"]}, gone, meta) == {"finalizers": ["b"]}


def test_directives_replace_and_delete_whole_maps():
    old = {"nodeSelector": {"a": "b"}, "securityContext": {"runAsUser": 1, "fsGroup": 2}}
    replaced = {"securityContext": {"$patch": "replace", "runAsUser": 3}, "nodeSelector": {"$patch": "delete"}}
    assert strategic(old, replaced, POD) == {"securityContext": {"runAsUser": 3}}

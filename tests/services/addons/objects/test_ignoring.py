"""Fields that others may change are named by JSON pointers, and kept as they are."""

import pytest

from services.addons.objects.ignoring import Ignore, is_ignored, parts, pointer, yielding

SEEN = {"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 5, "list": [{"a": 1}, {"a": 2}]}}


def config(**spec):
    return {"kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


@pytest.mark.parametrize("names", [("spec", "replicas"), ("a/b", "c~d"), ("", "x")])
def test_a_pointer_leads_through_the_names_that_it_was_made_of(names):
    assert parts(pointer(names)) == names


@pytest.mark.parametrize(
    ("path", "wanted", "sent"),
    [
        ("/spec/replicas", config(replicas=2), config(replicas=5)),
        ("/spec/replicas", config(other=1), config(other=1)),
        ("/spec/other", config(other=1, replicas=2), config(replicas=2)),
        ("/spec", config(replicas=2), config(replicas=5, list=[{"a": 1}, {"a": 2}])),
        ("/spec/list/0/a", config(list=[{"a": 8}, {"a": 9}]), config(list=[{"a": 1}, {"a": 9}])),
        ("/spec/list/*/a", config(list=[{"a": 8}, {"a": 9}]), config(list=[{"a": 1}, {"a": 2}])),
        ("/spec/list/*/a", config(list=[{"a": 8}] * 3), config(list=[{"a": 1}, {"a": 2}, {}])),
        ("/spec/list/7/a", config(list=[{"a": 8}]), config(list=[{"a": 8}])),
        ("/spec/replicas/x", config(replicas=2), config(replicas=2)),
        ("/*/replicas", config(replicas=2), config(replicas=5)),
    ],
)
def test_an_ignored_field_is_sent_as_it_is(path, wanted, sent):
    before = str(wanted)
    assert yielding(wanted, SEEN, [Ignore((path,))]) == sent
    assert str(wanted) == before


def test_only_the_objects_that_are_named_are_meant():
    for other in (Ignore(("/spec/replicas",), kind="Job"), Ignore(("/spec/replicas",), name="x")):
        assert yielding(config(replicas=2), SEEN, [other]) == config(replicas=2)
        assert not is_ignored(SEEN, ("spec", "replicas"), [other])


def test_what_lies_in_an_ignored_field_is_ignored_and_what_it_lies_in_is_not():
    ignore = [Ignore(("/spec/list",))]
    assert is_ignored(SEEN, ("spec", "list", "0", "a"), ignore)
    assert not is_ignored(SEEN, ("spec",), ignore)

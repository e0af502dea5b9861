"""Clusters are named COLONY/CLUSTER wherever a person reads or writes them."""

import pytest

from events.bus import Stored
from services.cli.get.labels import ClusterLabels, entity, in_namespace, label
from services.errors import BadInput


@pytest.mark.parametrize(
    ("asked", "name"), [("train/gpu", "train-gpu"), ("a-b/c", "a-b-c"), ("train-gpu", "train-gpu")]
)
def test_a_cluster_is_asked_for_by_its_colony_or_by_its_name_in_events(asked, name):
    assert entity(asked) == name


@pytest.mark.parametrize("asked", ["", "/gpu", "train/", "a/b/c"])
def test_what_names_no_cluster_is_bad_input(asked):
    with pytest.raises(BadInput, match="must be COLONY/CLUSTER"):
        entity(asked)


@pytest.mark.parametrize(
    ("colony", "name", "shown"),
    [("train", "train-gpu", "train/gpu"), ("a-b", "a-b-c-d", "a-b/c-d"), ("", "train-gpu", "train-gpu")],
)
def test_a_name_in_events_is_shown_with_its_colony_where_that_is_known(colony, name, shown):
    assert label(colony, name) == shown


def test_a_wish_tells_of_which_colony_a_node_is():
    labels = ClusterLabels()
    labels.read(Stored("observed.wish.acme.a-b-c", b'{"colony":"a-b","cluster":"c","tenant":"acme"}'))
    node = {"namespace": "acme", "cluster": "a-b-c", "node": "n1"}
    assert labels.labelled(node, "cluster")["cluster"] == "a-b/c"
    assert labels.labelled(node | {"namespace": "other"}, "cluster")["cluster"] == "a-b-c"


def test_a_namespace_is_named_only_where_it_is_not_the_default():
    assert (in_namespace("default"), in_namespace("acme")) == ("", " in namespace acme")

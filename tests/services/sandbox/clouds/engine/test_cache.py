"""Whatever comes late changes nothing that is known better."""

from typing import Any

import pytest

from events.kube.client import Listed
from events.kube.resources import CLUSTERS, MACHINES
from services.sandbox.clouds.engine.cache import Cache

KEY = ("default", "c")


def shape(version, uid="u1", **meta):
    known = {"namespace": "default", "name": "c", "uid": uid, "resourceVersion": str(version)}
    return {"metadata": known | meta, "spec": {}}


@pytest.fixture
def cache():
    return Cache(lambda _: None)


def test_an_older_shape_changes_nothing(cache):
    cache.seen(CLUSTERS, shape(7))
    cache.seen(CLUSTERS, shape(5))
    assert cache.view(KEY).cluster == shape(7)


def test_the_answer_that_ends_an_object_is_its_end_and_late_news_do_not_bring_it_back(cache):
    cache.seen(CLUSTERS, shape(7))
    cache.seen(CLUSTERS, shape(9, deletionTimestamp="2030-01-01T00:00:00Z"))
    cache.seen(CLUSTERS, shape(8, deletionTimestamp="2030-01-01T00:00:00Z", finalizers=["x"]))
    assert cache.view(KEY).cluster is None
    cache.seen(CLUSTERS, shape(10, uid="u2"))
    cache.gone(CLUSTERS, shape(9))  # the watch's word on the first one comes after the second was made
    assert cache.view(KEY).cluster == shape(10, uid="u2")


def test_an_end_that_is_answered_with_the_version_before_is_an_end(cache):
    """So a real API server answers the write that takes the last finalizer off."""
    cache.seen(CLUSTERS, shape(7, deletionTimestamp="2030-01-01T00:00:00Z", finalizers=["x"]))
    assert cache.seen(CLUSTERS, shape(7, deletionTimestamp="2030-01-01T00:00:00Z"))
    assert cache.view(KEY).cluster is None


def test_what_is_missing_from_a_whole_list_is_gone(cache):
    cache.seen(CLUSTERS, shape(7))
    cache.listed(CLUSTERS, Listed((), "9"))
    assert cache.view(KEY).cluster is None
    assert not list(cache.clusters())


def test_a_machine_belongs_to_the_cluster_it_names():
    touched: list[Any] = []
    cache = Cache(touched.append)
    machine = {"metadata": shape(3)["metadata"] | {"name": "m"}, "spec": {"clusterName": "c"}}
    cache.seen(MACHINES, machine)
    assert touched == [KEY]
    assert list(cache.view(KEY).machines) == [machine]

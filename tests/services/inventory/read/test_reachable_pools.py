"""A pod reaches the pools with a node that would take it if it were free, whatever is on that node now."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.kube.resources import NODES, PODS
from services.inventory.read.reachable_pools import NodeTemplate, PodNeeds, reachable_pools

POOL = "alate.dev/pool"
TAINT = {"key": "dedicated", "value": "train", "effect": "NoSchedule"}
TOLERATION = {"key": "dedicated", "operator": "Exists"}


@pytest.fixture
def book(make):
    """A pool with a taint and a disk, one without, and a node that does not tell its pool."""
    return make.book([
        make.node("a1", labels=make.H100 | {POOL: "a", "disk": "ssd"}, taints=[TAINT]),
        make.node("b1", labels=make.H100 | {POOL: "b", "kubernetes.io/hostname": "b1"}),
        make.node("n1", gpus="4"),
        make.node("head", labels={POOL: "h", "node-role.kubernetes.io/control-plane": ""}),
    ])  # fmt: skip


def waits(make, book, gpu=8, of="gpu", **spec):
    """What is told of one pod that found no node."""
    pod = make.pod("waits", "", **{of: gpu})
    pod["spec"] |= spec
    pod["status"] |= {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]}
    make.add(book, PODS, pod)
    (demand,) = make.whole(book).demand
    return demand.pools


@pytest.mark.parametrize(
    ("spec", "pools"),
    [
        ({}, ("b",)),
        ({"gpu": 4}, ("", "b")),
        ({"tolerations": [TOLERATION]}, ("a", "b")),
        ({"tolerations": [TOLERATION], "nodeSelector": {"disk": "ssd"}}, ("a",)),
        ({"nodeSelector": {"disk": "ssd"}}, ()),
        ({"nodeSelector": {"alate.dev/accelerator": "H100"}}, ("b",)),
        ({"nodeSelector": {"alate.dev/accelerator": "L4"}}, ()),
        ({"nodeSelector": {"kubernetes.io/hostname": "b1"}}, ()),
        ({"gpu": 16}, ()),
        ({"of": "amd.com/gpu"}, ()),
        ({"of": "mig", "gpu": 1}, ()),
    ],
)
def test_only_pools_with_a_node_that_would_take_it_are_within_reach(make, book, spec, pools):
    assert waits(make, book, **spec) == pools


def test_a_node_that_is_full_not_ready_or_cordoned_speaks_for_its_pool_all_the_same(make, book):
    passing = {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}
    labels = make.H100 | {POOL: "b"}
    make.add(book, NODES, make.node("b1", labels=labels, ready=False, unschedulable=True, taints=[passing]))
    make.add(book, PODS, make.pod("held", "b1", gpu=8))
    assert waits(make, book) == ("b",)


def test_a_node_that_tells_of_no_accelerators_yet_may_have_any(make):
    assert waits(make, make.book([make.node("c1", gpus=None, labels={POOL: "c"})])) == ("c",)


def test_what_is_within_reach_follows_the_nodes(make, book):
    assert waits(make, book, nodeSelector={"disk": "ssd"}) == ()
    make.add(book, NODES, make.node("b2", labels=make.H100 | {POOL: "b", "disk": "ssd"}))
    assert make.whole(book).demand[0].pools == ("b",)
    make.drop(book, NODES, make.node("b2", labels=make.H100 | {POOL: "b", "disk": "ssd"}))
    assert make.whole(book).demand[0].pools == ()


def test_a_pod_that_waits_keeps_the_pools_within_its_reach_from_being_idle_and_no_others(make, book):
    assert waits(make, book, tolerations=[TOLERATION], nodeSelector={"disk": "ssd"}) == ("a",)
    idle = {name: pool.idle_since for name, pool in make.whole(book).pools.items()}
    assert idle == {"a": None, "b": make.T0}


def test_a_pod_that_no_scheduler_has_looked_at_yet_keeps_what_it_could_use(make, book):
    make.add(book, PODS, make.pod("new", "", gpu=8))
    whole = make.whole(book)
    assert ({name: pool.idle_since for name, pool in whole.pools.items()}, whole.demand) == (
        {"a": make.T0, "b": None},
        (),
    )


kinds = st.builds(
    NodeTemplate,
    pool=st.sampled_from(("", "a", "b", "c")),
    labels=st.dictionaries(st.sampled_from("xy"), st.sampled_from("12"), max_size=2),
    taints=st.sets(st.sampled_from("pq"), max_size=2).map(
        lambda keys: tuple({"key": key, "effect": "NoSchedule"} for key in sorted(keys))
    ),
    pieces=st.dictionaries(
        st.sampled_from(("nvidia.com/gpu", "amd.com/gpu")), st.sampled_from((4000, 8000)), max_size=1
    ),
)


@given(
    st.lists(kinds, max_size=5),
    st.dictionaries(st.sampled_from("xy"), st.sampled_from("12"), max_size=2),
    st.sets(st.sampled_from("pq")),
    st.integers(1, 9),
)
def test_whatever_nodes_there_are_every_one_that_would_take_it_puts_its_pool_within_reach(nodes, labels, keys, size):
    spec = {"nodeSelector": labels, "tolerations": [{"key": key, "operator": "Exists"} for key in keys]}
    asked = PodNeeds(json.dumps(spec), (("nvidia.com/gpu", 1000 * size),))
    takers = {
        node.pool
        for node in nodes
        if labels.items() <= node.labels.items()
        and {taint["key"] for taint in node.taints} <= keys
        and (not node.pieces or node.pieces.get("nvidia.com/gpu", 0) >= 1000 * size)
    }
    assert reachable_pools(asked, nodes) == tuple(sorted(takers))

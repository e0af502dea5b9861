"""A cluster is idle from when an accelerator could be taken, and not while there is none to take."""

import json
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.kube.resources import NODES, PODS
from schemas.inventory import ClusterSeen, Demand, PoolSeen
from services.inventory.read.totals import (
    POOLS,
    NodeTemplate,
    NodeTotals,
    PodCounts,
    PodNeeds,
    cluster_seen,
    reachable_pools,
)

T0 = datetime(2026, 1, 1, tzinfo=UTC)
LATER = T0 + timedelta(hours=1)
BLANK = ClusterSeen(cluster="train-a", uid="c1.1", attempt=1)


def counted(accelerators, takers=0, before=BLANK, now=LATER):
    part = NodeTotals(nodes=accelerators // 8, by_model={"H100": accelerators}, resources={}, models={}, wrong=())
    return cluster_seen(BLANK, part, PodCounts(live=takers), before, now)


@pytest.mark.parametrize(("accelerators", "takers", "idle"), [(8, 0, LATER), (8, 1, None), (0, 0, None), (0, 1, None)])
def test_it_is_idle_with_accelerators_that_nobody_holds(accelerators, takers, idle):
    assert counted(accelerators, takers).idle_since == idle


def stuck(make, name, gpu, reason="Unschedulable", **spec):
    pod = make.pod(name, "", gpu=gpu)
    pod["spec"] |= spec
    pod["status"] |= {"conditions": [{"type": "PodScheduled", "status": "False", "reason": reason}]}
    return pod


def test_pods_that_found_no_node_are_told_by_what_they_ask_for(make):
    wants = {"nodeSelector": {"alate.dev/accelerator": "H100"}}
    waiting = [
        stuck(make, "a", 4),
        stuck(make, "b", 4),
        stuck(make, "c", 8, **wants),
        stuck(make, "d", 8, "SchedulerError"),
    ]
    book = make.book([make.node("n1"), make.node("n2")], [make.pod("held", "n1", gpu=1), *waiting])
    whole = make.whole(book)
    anywhere = ("",)
    assert whole.demand == (
        Demand(accelerators=8, pods=1, model="H100", pools=anywhere),
        Demand(accelerators=4, pods=2, pools=anywhere),
    )
    assert whole.used == {"H100": 1}
    bound = stuck(make, "a", 4)
    bound["spec"]["nodeName"] = "n2"
    make.drop(book, PODS, waiting[2])
    make.add(book, PODS, bound)
    whole = make.whole(book)
    assert (whole.demand, whole.used) == ((Demand(accelerators=4, pods=1, pools=anywhere),), {"H100": 2})


def test_it_is_idle_since_it_was_first_so():
    idle = counted(8, now=T0)
    assert counted(16, before=idle).idle_since == T0
    assert counted(8, before=counted(0, before=idle)).idle_since == LATER


def of_pool(make, name, pool, label="alate.dev/pool", **more):
    return make.node(name, labels=make.H100 | {label: pool} | more.pop("labels", {}), **more)


def test_ready_nodes_are_counted_by_the_pool_that_either_label_tells(make):
    book = make.book([
        of_pool(make, "a1", "a"),
        of_pool(make, "a2", "a", "alate.node.cluster.x-k8s.io/pool", allocatable={make.GPU: "7"}),
        of_pool(make, "a3", "a", ready=False),
        of_pool(make, "b1", "b"),
        of_pool(make, "head", "b", labels={"node-role.kubernetes.io/control-plane": ""}),
        make.node("other"),
    ])  # fmt: skip
    whole = make.whole(book)
    assert whole.pools == {
        "a": PoolSeen(nodes=2, accelerators=15, by_model={"H100": 15}, idle_since=make.T0),
        "b": PoolSeen(nodes=1, accelerators=8, by_model={"H100": 8}, idle_since=make.T0),
    }
    assert (whole.nodes, make.only(book, "a1").pool, make.only(book, "other").pool) == (4, "a", "")
    make.drop(book, NODES, of_pool(make, "b1", "b"))
    assert list(make.whole(book).pools) == ["a"]


def test_however_many_pools_nodes_tell_of_only_so_many_are_said(make):
    book = make.book([of_pool(make, f"n{each}", f"p{each:03}") for each in range(POOLS + 8)])
    whole = make.whole(book)
    assert (list(whole.pools), whole.nodes) == ([f"p{each:03}" for each in range(POOLS)], POOLS + 8)


def lulls(make, book, before=None, now=T0):
    book.changed()
    whole = book.cluster(before, now)
    return {name: pool.idle_since for name, pool in whole.pools.items()}, whole


def pair(make, *pods, **more):
    return make.book([of_pool(make, "a1", "a", **more), of_pool(make, "b1", "b")], pods)


def test_each_pool_is_idle_since_its_own_last_accelerator_was_let_go(make):
    held = make.pod("held", "a1", gpu=1)
    book = pair(make, held)
    found, first = lulls(make, book)
    assert (found, first.idle_since) == ({"a": None, "b": T0}, None)
    make.drop(book, PODS, held)
    assert lulls(make, book, first, LATER)[0] == {"a": LATER, "b": T0}


def test_a_pod_on_a_node_that_is_not_ready_keeps_its_pool_from_being_idle(make):
    book = pair(make, make.pod("held", "a2", gpu=1))
    make.add(book, NODES, of_pool(make, "a2", "a", ready=False, allocatable={make.GPU: "0"}))
    found, whole = lulls(make, book)
    assert (found, whole.pools["a"].pods, whole.pools["a"].nodes) == ({"a": None, "b": T0}, 1, 1)


@pytest.mark.parametrize("on", ["", "n3", "unseen"], ids=["no node yet", "a node of no pool", "a node not seen"])
def test_no_pool_is_idle_while_a_pod_may_be_or_come_to_be_on_any(make, on):
    book = pair(make, make.pod("held", on, gpu=1))
    make.add(book, NODES, make.node("n3"))
    assert lulls(make, book)[0] == {"a": None, "b": None}


def test_pods_that_have_finished_or_want_no_accelerator_keep_no_pool_busy(make):
    book = pair(make, make.pod("done", "a1", gpu=1, phase="Succeeded"), make.pod("web", "a1", cpu=1))
    assert lulls(make, book)[0] == {"a": T0, "b": T0}


def test_a_pool_without_an_accelerator_to_take_is_not_idle(make):
    assert lulls(make, pair(make, allocatable={make.GPU: "0"}))[0] == {"a": None, "b": T0}


def test_a_pool_that_is_idle_stays_so_since_then_only_for_the_same_attempt(make):
    book = pair(make)
    _, first = lulls(make, book)
    other = msgspec.structs.replace(first, attempt=2)
    assert lulls(make, book, other, LATER)[0] == {"a": LATER, "b": LATER}


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

"""A node's level is right about what can be had on it, and says so where the numbers cannot be."""

import pytest

from events.kube.resources import NODES, PODS
from schemas.inventory import Amount

GPU = "nvidia.com/gpu"


def amounts(offered: int, taken: int) -> Amount:
    return Amount(allocatable=1000 * offered, allocated=1000 * taken, available=1000 * (offered - taken))


def test_what_pods_hold_is_taken_from_what_the_node_offers(make):
    book = make.book([make.node()], [make.pod("a", gpu=2, cpu="500m"), make.pod("b", gpu=1)])
    seen = make.only(book)
    assert seen.resources[GPU] == amounts(8, 3)
    assert seen.resources["cpu"] == Amount(allocatable=64000, allocated=500, available=63500)
    assert seen.resources["pods"].allocated == 2000
    assert seen.models == {"H100": amounts(8, 3)}
    assert seen.degraded == ()


def test_pods_of_one_name_in_two_namespaces_are_two(make):
    book = make.book([make.node()], [make.pod("a", gpu=1), make.pod("a", namespace="other", gpu=1)])
    assert make.only(book).resources[GPU].allocated == 2000


def test_three_cores_less_twice_half_a_core_is_two_cores(make):
    book = make.book([make.node(cpu="3")], [])
    halves = [make.pod(f"p{n}", cpu="500m") for n in range(2)]
    make.add(book, PODS, *halves)
    assert make.only(book).resources["cpu"].available == 2000
    for each in halves:
        make.drop(book, PODS, each)
    assert make.only(book).resources["cpu"].available == 3000


def test_a_completed_pod_holds_nothing_though_it_is_still_there(make):
    book = make.book([make.node()], [make.pod("a", gpu=8, phase="Succeeded"), make.pod("b", gpu=1, phase="Failed")])
    assert make.only(book).resources[GPU].available == 8000
    assert (make.whole(book).pods, make.whole(book).finished) == (0, 2)


def test_a_node_is_drained_and_comes_back(make):
    held = make.pod("a", gpu=8)
    book = make.book([make.node()], [held])
    make.add(book, NODES, make.node(unschedulable=True))
    assert (make.only(book).schedulable, make.only(book).resources[GPU].available) == (False, 0)
    make.drop(book, PODS, held)
    make.add(book, NODES, make.node())
    assert (make.only(book).schedulable, make.only(book).resources[GPU].available) == (True, 8000)


def test_nothing_allocatable_and_eight_held_leaves_nothing_and_is_told_with_its_numbers(make):
    seen = make.only(make.book([make.node(gpus="0", labels={})], [make.pod(gpu=8)]))
    assert seen.resources[GPU] == amounts(0, 0)
    (trouble,) = seen.degraded
    assert (trouble.reason, trouble.raw) == ("OverAllocated", {"allocatable": 0, "allocated": 8000})
    assert trouble.message == "pods hold 8 of nvidia.com/gpu, and 0 can be allocated"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("-1", "NegativeCount"),
        ("-8", "NegativeCount"),
        ("18446744073709551615", "AbsurdCount"),
        ("1025", "AbsurdCount"),
        ("eight", "BadQuantity"),
    ],
)
def test_a_count_that_cannot_be_is_none_and_told_once_while_the_rest_is_served(make, said, reason):
    labels = {key: value for key, value in make.H100.items() if not key.endswith("count")}
    seen = make.only(make.book([make.node(gpus=said, labels=labels)], [make.pod(cpu="1")]))
    assert make.reasons(seen) == [reason]
    assert seen.resources[GPU] == amounts(0, 0)
    assert seen.resources["cpu"] == amounts(64, 1)


def test_more_allocatable_than_there_is_counts_as_what_there_is(make):
    seen = make.only(make.book([make.node(gpus="9", capacity={GPU: "8"})], []))
    assert make.reasons(seen) == ["OverCapacity"]
    assert seen.resources[GPU] == amounts(8, 0)


def test_a_device_plugin_that_offers_seven_of_eight_is_told_with_both_sources(make):
    seen = make.only(make.book([make.node(gpus="7", capacity={GPU: "8"})], []))
    (trouble,) = seen.degraded
    assert trouble.reason == "SourcesDisagree"
    assert trouble.message == "accelerators: status.allocatable says 7, nvidia.com/gpu.count says 8"
    assert [device.health for device in seen.devices] == ["healthy"] * 7 + ["unhealthy"]
    assert (seen.accelerators, len(seen.devices)) == (7, 8)


def test_a_resource_that_vanishes_leaves_no_stale_number(make):
    book = make.book([make.node()], [])
    make.add(book, NODES, make.node(gpus=None, labels={}))
    assert make.only(book).resources.keys() == {"cpu", "memory", "pods"}
    assert (make.only(book).accelerators, make.only(book).models) == (0, {})


def test_a_pod_whose_request_cannot_be_read_is_told_and_keeps_its_place(make):
    seen = make.only(make.book([make.node()], [make.pod("bad", cpu="many"), make.pod("good", gpu=1)]))
    assert make.reasons(seen) == ["BadPod"]
    assert seen.resources["pods"].allocated == 2000
    assert seen.resources[GPU].allocated == 1000


@pytest.mark.parametrize("order", ["labels first", "driver first"])
def test_a_node_that_joins_after_the_others_has_its_model(make, order):
    """Akash's operator loaded its registry once, and told no model of later nodes."""
    book = make.book([make.node()], [])
    bare = make.node("n2", gpus=None) if order == "labels first" else make.node("n2", labels={})
    make.add(book, NODES, bare, make.node("n2"))
    assert make.only(book, "n2").accelerator == "H100"


FIT = {68780: 4, 68800: 3, 100000: 2, 119495: 2}
FREE = (68780, 68800, 119525, 119495)


def fits(free: list[int], wanted: list[int]) -> bool:
    """First fit, the largest first."""
    left = sorted(free)
    for each in sorted(wanted, reverse=True):
        place = next((at for at, room in enumerate(left) if room >= each), None)
        if place is None:
            return False
        left[place] -= each
        left.sort()
    return True


@pytest.mark.parametrize(
    ("wanted", "fit"),
    [
        ([68780] * 4, True),
        ([68800] * 3, True),
        ([100000] * 2, True),
        ([119495] * 2, True),
        ([70000] * 4, False),
        ([100000] * 3, False),
        ([119525] * 2, False),
    ],
)
def test_free_milli_cores_are_exact_so_that_what_fits_fits(make, wanted, fit):
    nodes = [make.node(f"n{n}", cpu="128", gpus=None, labels={}) for n in range(len(FREE))]
    pods = [make.pod(f"p{n}", f"n{n}", cpu=f"{128000 - free}m") for n, free in enumerate(FREE)]
    book = make.book(nodes, pods)
    book.changed()
    free = [book.nodes[f"n{n}"].resources["cpu"].available for n in range(len(FREE))]
    assert free == list(FREE)
    assert fits(free, wanted) is fit


@pytest.mark.parametrize("order", [1, -1])
def test_cpu_and_gpu_pods_are_counted_the_same_in_either_order(make, order):
    book = make.book([make.node()], [])
    pods = [make.pod("cpu", cpu="63"), make.pod("gpu", cpu="1", gpu=8)]
    make.add(book, PODS, *pods[::order])
    seen = make.only(book)
    assert (seen.resources["cpu"].available, seen.resources[GPU].available) == (0, 0)
    assert seen.degraded == ()


def test_what_is_bound_blocks_capacity_before_it_runs_and_after_every_new_list(make):
    waiting = make.pod("a", gpu=8, phase="Pending")
    book = make.book([make.node()], [waiting])
    assert make.only(book).resources[GPU].available == 0
    book.take(PODS, make.listed(waiting))
    make.add(book, PODS, make.pod("a", gpu=8))
    assert make.only(book).resources[GPU].available == 0


def test_two_models_never_share_one_number(make):
    labels = make.H100 | {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM", "amd.com/gpu.device-id": "74a1"}
    seen = make.only(
        make.book(
            [make.node(labels=labels, allocatable={"amd.com/gpu": "4"})],
            [make.pod("a", gpu=1), make.pod("b", **{"amd.com/gpu": 4})],
        )
    )
    assert seen.resources["amd.com/gpu"] == amounts(4, 4)
    assert seen.resources[GPU] == amounts(8, 1)

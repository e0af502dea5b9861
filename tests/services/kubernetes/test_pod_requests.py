"""A pod holds what the scheduler says it holds."""

import pytest

from services.kubernetes.resources import accelerators_of, finished, requests

GPU = "nvidia.com/gpu"


def box(name="c", limits=None, **asked):
    names = {"gpu": GPU}
    resources = {"requests": {names.get(k, k): v for k, v in asked.items()}}
    return {"name": name, "resources": resources | ({"limits": limits} if limits else {})}


def pod(*containers, init=(), status=None, **spec):
    return {"spec": {"containers": list(containers), "initContainers": list(init)} | spec, "status": status or {}}


def sidecar(container):
    return container | {"restartPolicy": "Always"}


def test_containers_add_up():
    assert requests(pod(box("a", cpu="500m", memory="1Gi"), box("b", cpu="1"))) == {"cpu": 1500, "memory": 2**30 * 1000}


def test_a_request_left_out_is_the_limit():
    assert accelerators_of(pod(box(limits={GPU: "2"}))) == 2


def test_an_init_container_counts_only_where_it_peaks_above_what_runs():
    it = pod(box(cpu="1", memory="2"), init=[box("i", cpu="3", memory="1")])
    assert requests(it) == {"cpu": 3000, "memory": 2000}


def test_a_sidecar_counts_beside_what_runs_and_beside_later_init_containers():
    it = pod(box(cpu="1"), init=[box("before", cpu="5"), sidecar(box("s", cpu="2")), box("after", cpu="4")])
    assert requests(it) == {"cpu": 6000}


def test_overhead_comes_on_top():
    assert requests(pod(box(cpu="1"), overhead={"cpu": "250m", "memory": "64Mi"})) == {
        "cpu": 1250,
        "memory": 64 * 2**20 * 1000,
    }


def test_what_the_pod_asks_for_as_a_whole_comes_instead_of_its_containers():
    it = pod(box(cpu="4", gpu="1"), resources={"requests": {"cpu": "2", GPU: "9"}})
    assert requests(it) == {"cpu": 2000, GPU: 1000}


@pytest.mark.parametrize(("has", "wants", "holds"), [("2", "1", 2000), ("1", "2", 2000)])
def test_while_a_container_is_resized_the_larger_counts(has, wants, holds):
    status = {"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": has}}]}
    assert requests(pod(box(cpu=wants), status=status)) == {"cpu": holds}


def test_a_resize_that_can_never_be_is_not_counted():
    status = {
        "containerStatuses": [
            {"name": "c", "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}}
        ],
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}],
    }
    assert requests(pod(box(cpu="900"), status=status)) == {"cpu": 1000}


def test_a_pod_resized_as_a_whole_holds_what_it_was_given():
    it = pod(box(cpu="1"), resources={"requests": {"cpu": "2"}}, status={"allocatedResources": {"cpu": "3"}})
    assert requests(it) == {"cpu": 3000}


@pytest.mark.parametrize(("asked", "holds"), [("nvidia.com/mig-1g.10gb", 2), ("amd.com/gpu", 2), ("other.io/gpu", 0)])
def test_mig_instances_and_amd_gpus_are_accelerators(asked, holds):
    assert accelerators_of(pod({"name": "c", "resources": {"limits": {asked: "2"}}})) == holds


def test_a_part_of_a_gpu_is_in_use_as_one():
    assert accelerators_of(pod({"name": "c", "resources": {"limits": {"alate.dev/gpu-milli": "460"}}})) == 1


@pytest.mark.parametrize(("phase", "over"), [("Succeeded", True), ("Failed", True), ("Running", False)])
def test_a_pod_that_ended_has_let_go(phase, over):
    assert finished({"spec": {}, "status": {"phase": phase}}) is over

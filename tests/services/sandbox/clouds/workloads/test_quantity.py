"""What a node has left is what it has less what its pods ask for."""

from services.sandbox.clouds.workloads.quantity import asked, lacking, less


def test_requests_count_before_limits_and_containers_add_up():
    one = {"resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "2", "nvidia.com/gpu": 1}}}
    assert asked({"spec": {"containers": [one, one]}}) == {"pods": 1000, "cpu": 1000, "nvidia.com/gpu": 2000}


def test_tenths_of_a_core_fill_a_core_exactly():
    left = less({"cpu": 1000}, [{"cpu": 100}] * 9)
    assert lacking(left, {"cpu": 100}) == []
    assert lacking(left, {"cpu": 200}) == ["cpu"]


def test_what_a_node_does_not_know_it_has_none_of():
    assert lacking({"cpu": 1000}, {"nvidia.com/gpu": 1000}) == ["nvidia.com/gpu"]

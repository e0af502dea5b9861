"""A Colony shows what all its clusters have of each accelerator."""

from schemas.inventory import ClusterSeen, ModelAmount
from services.gateway.status.accelerators import gpu_inventory


def cluster(name, **models):
    amounts = {
        model: ModelAmount(allocatable=1000 * t, allocated=1000 * a, nodes=n) for model, (t, a, n) in models.items()
    }
    return ClusterSeen(cluster=name, uid="u", models=amounts)


def test_accelerators_of_all_clusters_are_added_up_by_model():
    shown = gpu_inventory([cluster("a", H100=(16, 3, 2)), cluster("b", H100=(8, 8, 1), L4=(4, 0, 4))])
    assert [(each.model, each.total, each.allocated, each.nodes) for each in shown] == [
        ("H100", 24, 11, 3),
        ("L4", 4, 0, 4),
    ]


def test_a_colony_without_clusters_has_none():
    assert gpu_inventory([]) == []

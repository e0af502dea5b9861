"""A Colony as somebody writes it, whole and right."""

import pytest

MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"


@pytest.fixture
def written():
    """A right Colony; tests make one thing of it wrong."""
    pool = {"accelerator": "H100", "acceleratorsPerNode": 8, "nodes": 2}
    cluster = {"name": "gpu", "pools": [pool], "addons": [{"name": "settings", "manifests": MANIFEST}]}
    return {
        "apiVersion": "alate.dev/v1alpha1",
        "kind": "Colony",
        "metadata": {"name": "train", "namespace": "acme", "uid": "u-1", "managedFields": [{"manager": "kubectl"}]},
        "spec": {"clusters": [cluster]},
    }


@pytest.fixture
def cluster(written):
    """Its one cluster."""
    return written["spec"]["clusters"][0]


@pytest.fixture
def pool(cluster):
    """That cluster's one pool."""
    return cluster["pools"][0]

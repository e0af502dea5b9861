"""The facts of a cluster as its selectors, templates and classifiers see them."""

FACTS = {
    "cluster": {
        "name": "lab-main",
        "namespace": "acme",
        "colony": "lab",
        "labels": {"team": "ml", "tier": "prod", "zone": "a"},
        "annotations": {"note": "for tests"},
        "version": {"major": 1, "minor": 33, "patch": 2, "text": "1.33.2"},
        "cloud": "aws",
        "region": "eu-west-1",
        "accelerators": [{"model": "H100", "count": 16}, {"model": "L4", "count": 1}],
        "nodes": 3,
        "endpoint": "https://10.0.0.1:6443",
        "offer": "p5.48xlarge",
    }
}

"""One pool, what a market sold for it, and a class of clusters, for tests to which it does not matter which."""

from schemas.placement import Lot
from schemas.wish import Pool
from services.clouds.topology import VARIABLES

POOL = Pool(name="workers", accelerator="H100", accelerators_per_node=8, nodes=2)
LOT = Lot(
    pool=POOL.name,
    instance="p5.48xlarge",
    zone="use1-az5",
    accelerator=POOL.accelerator,
    accelerators_per_node=POOL.accelerators_per_node,
    nodes=POOL.nodes,
    price_per_hour=14.25,
    spot=True,
)

TYPES = {"spot": "boolean", "diskGiB": "integer", "nodeLabels": "object", "nodeTaints": "array"}


def declared(*names, types=TYPES):
    schemas = {name: {"openAPIV3Schema": {"type": types.get(name, "string")}} for name in names}
    return [{"name": name, "required": False, "schema": schema} for name, schema in schemas.items()]


def cluster_class(*names, workers=("default", "more"), **how):
    template = {"templateRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "K", "name": "k"}}
    return {
        "metadata": {"name": "gpus", "namespace": "default", "labels": {"alate.dev/cloud": "aws"}},
        "spec": {
            "infrastructure": template, "controlPlane": template, "variables": declared(*(names or VARIABLES), **how),
            "workers": {
                "machineDeployments": [{"class": n, "bootstrap": template, "infrastructure": template} for n in workers]
            },
        },
    }  # fmt: skip

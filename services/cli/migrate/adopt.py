"""`alate adopt` writes the Colony that adopts an existing cluster."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import yaml

from events.errors import Denied, NotFound
from events.kube.client import Kube, Object
from events.kube.resources import COLONIES
from schemas.crds import read_colony
from schemas.inventory import Offer
from services.cli.connection import Connection
from services.cli.migrate.exalsius import MachineType, kinds
from services.cli.output.render import Form, TextWriter, document
from services.cli.placement.market import offered
from services.cli.request.submit import MANAGER
from services.clients.catalog_sources import SAMPLE
from services.clouds.existing_cluster import ExistingCluster, ExistingPool
from services.clouds.port import backends
from services.errors import BadInput, Failed

BACKENDS = {"clusterdeployment": "k0rdent", "cluster": "capi"}
"""By the word for what a back end has of a cluster."""
CLUSTER = "main"


@dataclass(frozen=True)
class AdoptRequest:
    """What a person says of it; None where the cluster or a catalog tells."""

    target: str
    """``clusterdeployment/NAME`` or ``cluster/NAME``."""
    namespace: str
    colony: str | None = None
    accelerator: str | None = None
    per_node: int | None = None
    nodes: int | None = None
    node_price: float | None = None
    on_release: str = "keep"
    catalogs: tuple[str, ...] = ()
    """Where machine types are looked up; none: in what is shipped."""


class AdoptTarget(NamedTuple):
    """Which object of which back end."""

    backend: str
    name: str


def target(text: str) -> AdoptTarget:
    """Raises BadInput."""
    kind, _, name = text.partition("/")
    if kind not in BACKENDS or not name:
        raise BadInput(f"{text} names no cluster that stands: write clusterdeployment/NAME or cluster/NAME")
    return AdoptTarget(BACKENDS[kind], name)


def colony(request: AdoptRequest, there: ExistingCluster, known: Mapping[MachineType, Offer]) -> Object:
    """The Colony. Raises BadInput where nobody tells what it is made of, Refused."""
    backend, name = target(request.target)
    adopt = {"name": name, "onRelease": request.on_release}
    cluster = {
        "name": CLUSTER,
        "backend": backend,
        "adopt": adopt | ({} if request.node_price is None else {"nodePricePerHour": request.node_price}),
        "pools": list(_pools(request, there, known)),
    }
    made = {
        "apiVersion": COLONIES.api_version,
        "kind": COLONIES.kind,
        "metadata": {"name": request.colony or name, "namespace": request.namespace},
        "spec": {"clusters": [cluster | ({"kubernetesVersion": there.version} if there.version else {})]},
    }
    read_colony(made)
    return made


def _pools(request: AdoptRequest, there: ExistingCluster, known: Mapping[MachineType, Offer]) -> Iterator[Object]:
    for stood in there.pools or (_believed(request, there),):
        offer = known.get((there.cloud, stood.instance))
        accelerator = request.accelerator or (offer.accelerator if offer else "")
        per_node = request.per_node or (offer.accelerators if offer else 0)
        if not accelerator or not per_node:
            raise BadInput(
                f"what accelerators the nodes of {request.target} have is told neither by itself nor by a catalog: "
                "give --accelerator and --per-node"
            )
        yield {
            "name": stood.pool or "gpu",
            "accelerator": accelerator,
            "acceleratorsPerNode": per_node,
            "nodes": stood.nodes,
            "spot": "only" if stood.spot else "never",
        }


def _believed(request: AdoptRequest, there: ExistingCluster) -> ExistingPool:
    """The one pool of a cluster that does not tell its pools. Raises BadInput."""
    nodes = request.nodes or there.nodes
    if not nodes:
        raise BadInput(f"{request.target} does not tell how many nodes it has: give --nodes")
    return ExistingPool("gpu", nodes)


async def adopt(where: Connection, request: AdoptRequest, *, dry: bool, form: Form, write: TextWriter) -> None:
    """Make the Colony, or only show it. Raises BadInput, Failed, Refused, Denied."""
    offers, _ = await offered(request.catalogs or (str(SAMPLE),))
    async with where.kube() as kube:
        made = colony(request, await _standing(kube, request), kinds(offers))
        if not dry:
            await _create(kube, made)
    called = made["metadata"]["name"]
    answer = yaml.safe_dump(made, sort_keys=False) if dry else f"colony/{called} adopts {request.target}\n"
    write(answer if form == "table" else document(made, form))


async def _standing(kube: Kube, request: AdoptRequest) -> ExistingCluster:
    backend, name = target(request.target)
    try:
        there = await backends(kube)[backend].read_existing(request.namespace, name)
    except NotFound as missing:
        raise Failed(f"{missing.message}: adopt one that is there") from missing
    if there.adopted_as:
        raise Failed(
            f"{request.target} belongs to the cluster {there.adopted_as} of a Colony already: delete that first"
        )
    return there


async def _create(kube: Kube, made: Object) -> None:
    try:
        await kube.create(COLONIES, made, manager=MANAGER)
    except Denied as denied:
        if denied.reason != "AlreadyExists":
            raise
        raise Failed(f"there is a Colony {made['metadata']['name']} already: name another with --colony") from denied

"""A cluster that stands is described by a Colony that takes it in; what nobody tells of it is asked for."""

import json
from contextlib import asynccontextmanager
from typing import Any

import pytest
import yaml

from events.kube.resources import CLUSTERDEPLOYMENTS, COLONIES
from schemas.crds import InvalidResource, read_colony
from schemas.inventory import Offer
from services.cli.migrate.adopt import AdoptRequest, adopt, colony
from services.cli.migrate.exalsius import kinds
from services.clouds.existing_cluster import ExistingCluster, ExistingPool
from services.errors import BadInput, Failed
from tests.services.clouds.conftest import server

__all__ = ["server"]

KNOWN = kinds((Offer(cloud="aws", region="r", instance="x8", accelerator="H100", accelerators=8, price=50.0),))
THERE = ExistingCluster("aws", "r", (ExistingPool("", 4, "x8"),), version="v1.33.1")
THEIRS = AdoptRequest("clusterdeployment/theirs", "acme")
UNTOLD = (
    "what accelerators the nodes of cluster/theirs have is told neither by itself nor by a catalog: "
    "give --accelerator and --per-node"
)


def cluster(asked, there):
    return read_colony(colony(asked, there, KNOWN)).spec.clusters[0]


def test_its_pools_are_what_it_tells_with_the_accelerators_a_catalog_knows():
    made = cluster(THEIRS, THERE)
    assert (made.backend, made.adopt.name, made.adopt.on_release) == ("k0rdent", "theirs", "keep")
    (pool,) = made.pools
    assert (pool.name, pool.accelerator, pool.accelerators_per_node, pool.nodes, pool.spot) == (
        "gpu", "H100", 8, 4, "never"
    )  # fmt: skip
    assert made.kubernetes_version == "v1.33.1"


def test_what_it_does_not_tell_is_what_its_owner_says():
    asked = AdoptRequest("cluster/theirs", "acme", "train", "A100", 4, 3, 0.0, "delete")
    made = cluster(asked, ExistingCluster("dev"))
    assert (made.backend, made.adopt.node_price_per_hour, made.adopt.on_release) == ("capi", 0.0, "delete")
    assert [(pool.accelerator, pool.accelerators_per_node, pool.nodes) for pool in made.pools] == [("A100", 4, 3)]


@pytest.mark.parametrize(
    ("asked", "there", "told"),
    [
        (
            AdoptRequest("pod/theirs", "acme"),
            THERE,
            "pod/theirs names no cluster that stands: write clusterdeployment/NAME or",
        ),
        (AdoptRequest("cluster/", "acme"), THERE, "cluster/ names no cluster that stands"),
        (
            AdoptRequest("cluster/theirs", "acme"),
            ExistingCluster("dev"),
            "cluster/theirs does not tell how many nodes it has: give",
        ),
        (AdoptRequest("cluster/theirs", "acme"), ExistingCluster("dev", nodes=2), UNTOLD),
    ],
)
def test_what_nobody_tells_is_asked_for(asked, there, told):
    with pytest.raises(BadInput, match=told):
        colony(asked, there, KNOWN)


def test_a_name_that_makes_no_colony_is_refused_as_in_a_file():
    with pytest.raises(InvalidResource, match=r"metadata\.name"):
        colony(AdoptRequest("cluster/theirs", "acme", "No Name"), THERE, KNOWN)


class Here:
    """The management cluster of a test."""

    def __init__(self, kube):
        self._kube = kube

    @asynccontextmanager
    async def kube(self):
        yield self._kube


async def said(server, asked, **how):
    lines: list[Any] = []
    await adopt(Here(server), asked, **({"dry": False, "form": "table"} | how), write=lines.append)
    return "".join(lines)


@pytest.fixture
async def theirs(server):
    """Somebody's ClusterDeployment of two nodes that the shipped catalog knows."""
    config = {"region": "us-east-1", "workersNumber": 2, "worker": {"instanceType": "p5.48xlarge"}}
    spec = {"template": "aws-standalone-cp-1-0-43", "credential": "aws-credential", "config": config}
    await server.create(CLUSTERDEPLOYMENTS, {"metadata": {"name": "theirs", "namespace": "default"}, "spec": spec})
    return AdoptRequest("clusterdeployment/theirs", "default")


async def test_a_dry_run_shows_what_would_be_made_and_makes_nothing(server, theirs):
    shown = yaml.safe_load(await said(server, theirs, dry=True))
    assert shown["spec"]["clusters"][0]["pools"][0]["accelerator"] == "H100"
    assert json.loads(await said(server, theirs, dry=True, form="json")) == shown
    assert (await server.list(COLONIES, "default")).items == ()


async def test_it_is_made_once_and_never_over_another_colony(server, theirs):
    assert await said(server, theirs) == "colony/theirs adopts clusterdeployment/theirs\n"
    (made,) = (await server.list(COLONIES, "default")).items
    assert made["spec"]["clusters"][0]["adopt"] == {"name": "theirs", "onRelease": "keep"}
    with pytest.raises(Failed, match="there is a Colony theirs already: name another with --colony"):
        await said(server, theirs)


async def test_what_belongs_to_a_colony_already_is_told_and_nothing_is_made(server, theirs):
    borne = {
        "metadata": {"labels": {"alate.dev/cluster": "other-main", "alate.dev/uid": "u.1", "alate.dev/attempt": "1"}}
    }
    await server.patch(CLUSTERDEPLOYMENTS, "theirs", "default", borne)
    told = "clusterdeployment/theirs belongs to the cluster other-main of a Colony already: delete that first"
    with pytest.raises(Failed, match=told):
        await said(server, theirs)
    assert (await server.list(COLONIES, "default")).items == ()


async def test_what_does_not_stand_is_told(server):
    with pytest.raises(Failed, match="there is no Cluster theirs in namespace default: adopt one that is there"):
        await said(server, AdoptRequest("cluster/theirs", "default"))

"""A ClusterDeployment is made of what its namespace has: a template, a credential, and what that says beside."""

import msgspec
import pytest

from events.errors import Denied
from events.kube.resources import CLUSTERDEPLOYMENTS, CREDENTIALS
from schemas.placement import Attempt, Placement
from schemas.wish import Need
from services.clouds.k0rdent import K0rdent
from tests.samples import LOT, POOL

UID = "u1.1"
TWO = Need(pools=(POOL, msgspec.structs.replace(POOL, name="more")))


def attempt(cloud):
    return Attempt(number=1, placement=Placement(cloud=cloud, region="r", lots=(LOT,)))


async def annotated(server, text):
    notes = {"metadata": {"annotations": {"alate.dev/config": text}}}
    await server.patch(CREDENTIALS, "gcp-credential", "default", notes)


async def test_what_a_credential_says_beside_is_told_to_its_clusters(server, wish):
    await annotated(server, "project: acme-ml\nworker: {imageFamily: mine, instanceType: small}")
    await K0rdent(server).launch(wish, attempt("gcp"), UID)
    config = (await server.get(CLUSTERDEPLOYMENTS, "train-a-1", "default"))["spec"]["config"]
    assert config["project"] == "acme-ml"
    assert (config["worker"]["imageFamily"], config["worker"]["instanceType"]) == ("mine", LOT.instance)


@pytest.mark.parametrize("text", ["- a", "a: [", "just a word"])
async def test_a_credential_that_says_nonsense_is_named(server, wish, text):
    await annotated(server, text)
    with pytest.raises(Denied, match=r"alate.dev/config of Credential gcp-credential must be a mapping") as denied:
        await K0rdent(server).launch(wish, attempt("gcp"), UID)
    assert denied.value.reason == "BadConfiguration"


async def test_several_pools_are_refused_before_anything_is_bought(server, wish):
    with pytest.raises(Denied, match="use one pool, or the backend capi") as denied:
        await K0rdent(server).reach(msgspec.structs.replace(wish, need=TWO))
    assert denied.value.reason == "OnePool"

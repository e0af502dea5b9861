"""No tenant has another's Secrets read for it, whatever it writes where a Secret is named."""

import asyncio
from base64 import b64decode, b64encode

import pytest

from events.errors import NotFound
from events.kube.resources import CLUSTERDEPLOYMENTS, CLUSTERTEMPLATES, NAMESPACES, SECRETS
from schemas.cluster import Launching, Ready
from tests.contracts.clouds.house import House
from tests.contracts.clouds.test_lent import CREDENTIAL, SECRET, SIZE, stands, where

pytestmark = [pytest.mark.looptime, pytest.mark.timeout(60)]

VICTIM = "victim"
THEIRS = "base-gpu-1-kubeconfig"
BEYOND = f"../../{VICTIM}/secrets/{THEIRS}"


@pytest.fixture
def house(sandbox):
    return House(sandbox, "k0rdent")


async def victim(house, **more):
    """Another tenant has a cluster; gives what would open it."""
    text = await house.sandbox.world.found("victim.base")
    await house.kube.create(NAMESPACES, {"metadata": {"name": VICTIM}})
    data = {"value": b64encode(text.encode()).decode()}
    meta = {"name": THEIRS, "namespace": VICTIM}
    await house.kube.create(SECRETS, {"metadata": meta, "data": data} | more)
    return text


async def stolen(house):
    """What the thief's own Secret opens; empty if it is not there."""
    try:
        return b64decode((await house.kube.get(SECRETS, "train.kubeconfig", "default"))["data"]["value"]).decode()
    except NotFound:
        return ""


@pytest.mark.parametrize(
    ("identity", "why"),
    [
        ({"name": BEYOND}, "cannot be part of a path: must not be . or .., nor hold a /, a % or a line's end"),
        ({"name": THEIRS, "namespace": VICTIM}, f"is Secret {VICTIM}/{THEIRS}: must be a Secret of namespace default"),
        ({"name": "x", "kind": "ConfigMap"}, "is ConfigMap default/x: must be a Secret of namespace default"),
    ],
)
async def test_a_credential_that_names_anothers_secret_lends_nothing(house, identity, why):
    async with house.at_work():
        text = await victim(house)
        spec = {"identityRef": CREDENTIAL["spec"]["identityRef"] | identity}
        await stands(house, credential=CREDENTIAL | {"spec": spec})
        await house.ask(nodes=SIZE)
        ready = await house.until(Ready)
        assert where(ready)[0] == "aws"
        (failed,) = ready.failed_attempts
        assert (failed.placement.cloud, why in failed.message) == ("basement", True), failed.message
        assert text not in await stolen(house)
        assert "victim.base" not in await stolen(house)


@pytest.mark.parametrize("told", [BEYOND, "another-kubeconfig"])
async def test_an_annotation_that_names_another_secret_than_the_credential_opens_nothing(house, told):
    """One that others made, to be adopted: nobody but they wrote the annotation."""
    async with house.at_work():
        await victim(house)
        await stands(house)
        templates = (await house.kube.list(CLUSTERTEMPLATES, "default")).items
        template = next(name for each in templates if (name := each["metadata"]["name"]).startswith("adopted-cluster"))
        meta = {"name": "mine", "annotations": {"alate.dev/kubeconfig": told}}
        spec = {"template": template, "credential": "basement", "config": {}}
        await house.plant(CLUSTERDEPLOYMENTS, {"metadata": meta, "spec": spec})
        await house.ask(nodes=SIZE, adopt={"name": "mine", "nodePricePerHour": 1})
        launching = await house.until(Launching)
        await asyncio.sleep(120)
        assert await house.state() == launching
        assert await stolen(house) == ""
        await house.edit_by_hand("mine", {"metadata": {"annotations": {"alate.dev/kubeconfig": SECRET}}})
        ready = await house.until(Ready)
        assert (ready.kubeconfig, "elsewhere.basement" in await stolen(house)) == (SECRET, True)

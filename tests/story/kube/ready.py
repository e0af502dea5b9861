"""A management cluster is made ready for Colonies as an administrator would do it."""

import asyncio

from events.kube.client import Kube
from events.kube.resources import CRDS
from schemas.crds import CRDS as OURS
from services.sandbox.seeds.kinds import definitions as thin
from services.sandbox.seeds.plant import plant
from services.sandbox.seeds.templates import tenant
from tests.kube.managers import definitions, install


async def prepared(kube: Kube) -> None:
    """Real definitions of Cluster API, thin ones of the rest, ours, and what a tenant needs."""
    real = definitions()
    named = {one["metadata"]["name"] for one in real}
    await install(
        kube,
        [*real, *(one for one in thin() if one["metadata"]["name"] not in named), *(one.manifest() for one in OURS)],
    )
    for name in [one["metadata"]["name"] for one in (await kube.list(CRDS)).items]:
        await _established(kube, name)
    await plant(kube, tenant("default"))


async def _established(kube: Kube, name: str) -> None:
    async with asyncio.timeout(60):
        while True:
            told = (await kube.get(CRDS, name)).get("status", {}).get("conditions") or ()
            if any(one["type"] == "Established" and one["status"] == "True" for one in told):
                return
            await asyncio.sleep(0.1)

"""What the add-on service's calls meet the world through."""

import asyncio
from collections.abc import Callable, Container
from dataclasses import dataclass

from services.addons.contents import Contents
from services.addons.descriptions import Descriptions
from services.addons.gates import Gates
from services.addons.helm.releases import Helm
from services.addons.objects.watch import ObjectWatches
from services.addons.plan.target import ClusterName, KnownCluster
from services.addons.reference_watches import ReferenceWatches
from services.addons.sources.sources import Sources
from services.clients.workload_clusters import WorkloadClusters
from services.expressions.evaluators import Evaluators


@dataclass(frozen=True)
class AddonPorts:
    """What the calls meet the world through."""

    workloads: WorkloadClusters
    descriptions: Descriptions
    contents: Contents
    evaluators: Evaluators
    gates: Gates
    cluster: Callable[[ClusterName], KnownCluster | None]
    """A cluster as profiles and templates see it, by namespace and name."""
    watches: ObjectWatches
    references: ReferenceWatches
    helm: Helm
    unmatched: Callable[[ClusterName], Container[str]] = lambda _: ()
    """The dry runs on a cluster whose profile selects it no longer, by their full names."""
    sources: Sources | None = None
    """None: sources cannot be fetched."""

    async def run(self) -> None:
        """Wait until cancelled, then end all that they have started."""
        try:
            await asyncio.Event().wait()
        finally:
            await self.watches.close()
            await self.references.close()
            if self.sources is not None:
                await self.sources.close()
            await self.evaluators.aclose()

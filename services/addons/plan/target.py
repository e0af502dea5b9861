"""A cluster as profiles and templates see it: its names, its labels, and what it is and runs."""

from dataclasses import dataclass

from schemas.cluster import ClusterState, Placed, Released, Releasing, kubeconfig_of
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen
from schemas.placement import Attempt
from services.expressions.facts import AcceleratorFact, ClusterFacts
from services.kubernetes.labels import GROUP

ClusterName = tuple[str, str]
"""Namespace and name of a cluster."""


PAUSED_LABEL = f"{GROUP}/paused"
"""On a cluster whose add-ons stay as they are; "false" is as if it was not there."""


@dataclass(frozen=True)
class KnownCluster:
    """One cluster that add-ons can be applied to."""

    tenant: str
    name: str
    colony: str
    """Empty for one that was registered by its kubeconfig."""
    uid: str
    """Its incarnation."""
    correlation: str
    kubeconfig: str
    """Name of the Secret; empty until its API answers."""
    facts: ClusterFacts
    lost: bool = False
    """It is gone."""
    ending: bool = False
    """Its teardown has begun, or it is gone: profiles change nothing on it any more."""

    @property
    def paused(self) -> bool:
        """Its add-ons stay as they are for now."""
        return self.facts.labels.get(PAUSED_LABEL, "false") != "false"


def founded(state: ClusterState, *, ending: bool, seen: ClusterSeen | None, infra: InfraSeen | None) -> KnownCluster:
    """A cluster of a Colony; `seen` and `infra` are what inventory and back end show of this incarnation."""
    wish = state.wish
    attempt = state.attempt if isinstance(state, Placed) else None
    return KnownCluster(
        tenant=wish.tenant,
        name=wish.name,
        colony=wish.colony,
        uid=state.uid,
        correlation=state.correlation,
        kubeconfig=kubeconfig_of(state),
        facts=ClusterFacts(
            name=wish.name,
            namespace=wish.tenant,
            colony=wish.colony,
            labels=dict(wish.labels),
            annotations=dict(wish.annotations),
            version=wish.need.kubernetes_version,
            cloud=attempt.placement.cloud if attempt else "",
            region=attempt.placement.region if attempt else "",
            offer=_offer(attempt) if attempt else "",
            accelerators=_accelerators(state, seen),
            nodes=seen.nodes if seen else 0,
            endpoint=infra.endpoint if infra else "",
        ),
        lost=isinstance(state, Released),
        ending=ending or isinstance(state, Releasing | Released) or wish.deleting,
    )


def _accelerators(state: ClusterState, seen: ClusterSeen | None) -> tuple[AcceleratorFact, ...]:
    """By model: what pods can use as far as known, or else what was asked for."""
    counts = dict(seen.by_model) if seen and seen.by_model else _asked(state)
    return tuple(AcceleratorFact(model, count) for model, count in sorted(counts.items()))


def _asked(state: ClusterState) -> dict[str, int]:
    asked: dict[str, int] = {}
    for pool in state.wish.need.pools:
        asked[pool.accelerator] = asked.get(pool.accelerator, 0) + pool.nodes * pool.accelerators_per_node
    return asked


def _offer(attempt: Attempt) -> str:
    """The machine types, in order."""
    return ", ".join(dict.fromkeys(lot.instance for lot in attempt.placement.lots))

"""One kubeconfig opens all clusters of a Colony: what has to be in it, and what the Colony tells of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from events.errors import Denied
from events.kube.port import Object
from services.gateway.status.facts import Facts
from services.gateway.status.transition_times import Verdict
from services.kubernetes.kubeconfig import context

SUFFIX = ".kubeconfig"
"""No back end calls a Secret so: theirs end in ``-kubeconfig``, and a Colony may be called as one of their clusters."""
WRITTEN = Verdict(holds=True, reason="Written")


class Source(NamedTuple):
    """Where the kubeconfig of one cluster is, and what is a reason to read it again."""

    secret: str
    unheard: bool = False
    """The inventory cannot hear the cluster: its kubeconfig may be another by now."""


Sources = Mapping[str, Source]
"""By context."""


@dataclass(frozen=True)
class Told:
    """What the Colony's status tells of it."""

    secret: str | None = None
    """Its name, where it is there."""
    verdict: Verdict | None = None
    """Whether it is as it has to be; None where there is nothing to be opened."""


def sources(facts: Iterable[Facts]) -> Sources:
    """Of each cluster whose API was reached, as the status shows them."""
    found = {}
    for each in facts:
        secret = getattr(each.cluster, "kubeconfig", "")
        if secret and not each.dropped:
            unheard = each.seen is not None and not each.seen.known
            found[context(each.wish.colony, each.wish.cluster)] = Source(secret, unheard)
    return found


def secret_name(meta: Object) -> str:
    """What a Colony's Secret is called, by the Colony's metadata."""
    return f"{meta['name']}{SUFFIX}"


def taken(meta: Object) -> Told:
    """Somebody else's Secret has the name."""
    return _not(
        "NameTaken", f"Secret {secret_name(meta)} is not of this Colony and stays as it is: delete or rename it"
    )


def denied(secret: str | None, why: Denied) -> Told:
    """The API server refuses what has to be done."""
    return _not(why.reason, f"the kubeconfig of all clusters cannot be written: {why.message}", secret)


def opened(meta: Object, left_out: Mapping[str, str]) -> Told:
    """It is there; some clusters may be missing in it, each for a reason."""
    if not left_out:
        return Told(secret_name(meta), WRITTEN)
    return _not("Incomplete", _listed(left_out), secret_name(meta))


def unopened(left_out: Mapping[str, str]) -> Told:
    """It is not there, for no cluster could be in it."""
    return _not("Incomplete", _listed(left_out)) if left_out else Told()


def _listed(left_out: Mapping[str, str]) -> str:
    return "; ".join(f"{called} is left out: {why}" for called, why in left_out.items())


def _not(reason: str, message: str, secret: str | None = None) -> Told:
    return Told(secret, Verdict(holds=False, reason=reason, message=message))

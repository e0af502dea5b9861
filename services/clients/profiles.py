"""Reads profiles of add-ons through the Kubernetes API, and says how a rollout holds a cluster back."""

from typing import NamedTuple

from events.errors import Fault, NotFound
from events.kube.client import Kube, Object
from events.kube.resources import ADDONPROFILES, CLUSTERADDONPROFILES
from schemas.addon import ALL
from schemas.profile_addons import RolloutMark


class RolloutHold(NamedTuple):
    """A rollout that is not done with a cluster."""

    why: str
    """One sentence."""
    keeps: bool
    """The cluster has something else than the profile says now."""


async def find_profile(kube: Kube, tenant: str, profile: str) -> Object | None:
    """A profile by the name that an add-on's full name tells; None if it is not there. Raises TryLater, Denied."""
    kind = CLUSTERADDONPROFILES if profile.startswith(ALL) else ADDONPROFILES
    try:
        return await kube.get(kind, profile.removeprefix(ALL), tenant if kind.namespaced else None)
    except NotFound:
        return None


async def known_profile(kube: Kube, tenant: str, profile: str) -> Object | None:
    """The same; None, too, if it cannot be read now."""
    try:
        return await find_profile(kube, tenant, profile)
    except Fault:
        return None


def rollout_hold(profile: Object, mark: RolloutMark | None) -> RolloutHold | None:
    """How the profile's rollout holds the cluster of a mark back; None: it does not."""
    rollout, status = profile["spec"].get("rollout"), profile.get("status") or {}
    if rollout is None or not status.get("revision"):
        return None
    name, told = f"the rollout of {profile['kind']} {profile['metadata']['name']}", _progress(status)
    if mark is not None and mark.returned:
        return RolloutHold(f"{name} gave the cluster back what it had before{told}", keeps=True)
    if mark is None or mark.revision != status["revision"]:
        return RolloutHold(f"{name} has not come to this cluster{told}", keeps=True)
    if mark.complete:
        return None
    soak = f", which must stay healthy for {rollout['soak']}" if rollout.get("soak") else ""
    return RolloutHold(f"{name} is not done with this cluster{soak}{told}", keeps=False)


def unselected(profile: Object | None, name: str, addon: str) -> str:
    """Why an add-on of a profile is not on a cluster, and where to look; None: there is no such profile."""
    if profile is None:
        kind = "ClusterAddonProfile" if name.startswith(ALL) else "AddonProfile"
        return f"there is no {kind} {name.removeprefix(ALL)}: `kubectl get {kind.lower()}s` lists those that are there"
    told, status = f"{profile['kind']} {profile['metadata']['name']}", profile.get("status") or {}
    names = [each["name"] for each in profile["spec"]["addons"]]
    conditions = {each["type"]: each for each in status.get("conditions", ())}
    if addon not in names:
        return f"{told} has no add-on {addon}: it has {', '.join(names)}"
    if (accepted := conditions.get("Accepted", {})).get("status") == "False":
        return f"{told} is not accepted: {accepted['message']}"
    if profile["spec"].get("suspend"):
        return f"{told} is suspended: set spec.suspend to false"
    matched = status.get("matched", 0)
    reach = "selects no cluster" if not matched else f"selects {matched} clusters, but not this one"
    return f"{told} {reach}: compare its spec.clusters with the cluster's labels, of its Colony and of classifiers"


def _progress(status: Object) -> str:
    """How far the rollout has come, after a colon."""
    conditions = {each["type"]: each for each in status.get("conditions", ())}
    stalled = conditions.get("Stalled", {})
    found = stalled if stalled.get("status") == "True" else conditions.get("Reconciling", {})
    return f": {message}" if (message := found.get("message")) else ""

"""Statuses of each of our kinds as alate writes them, with what Flux and Argo CD make of each."""

from dataclasses import replace
from typing import NamedTuple

import msgspec

from schemas import addon, cluster, teardown
from schemas.crds import AddonProfileSpec
from schemas.crds.trigger import WATCHING
from services.addons.classifiers.classifier_store import KnownClassifier
from services.addons.classifiers.status import status as classifier_status
from services.addons.plan.profile import Profile
from services.addons.plan.profile_store import KnownProfile
from services.addons.plan.rollout import Decision
from services.addons.plan.status import ProfileOnCluster
from services.addons.plan.status import status as profile_status
from services.edge.triggers.status import FOLLOWED
from services.edge.triggers.status import status as trigger_status
from services.expressions.classify import Classifier
from services.expressions.evaluation import EvaluationFailure, FailureReason
from services.gateway.status.colony import invalid, status
from services.gateway.status.facts import Facts
from tests.services.gateway.known import COLONY, NOW, SEEN, WHOLE, WISH, is_, put_on


class Recorded(NamedTuple):
    """An object with its status."""

    fact: str
    item: dict
    flux: str
    """What kstatus makes of it."""
    argo: str


def colony(fact: str, flux: str, argo: str, *facts: Facts, **meta) -> Recorded:
    item = {"apiVersion": "alate.dev/v1alpha1", "kind": "Colony", "metadata": COLONY["metadata"] | meta}
    return Recorded(fact, item | {"status": status(item, facts, NOW)}, flux, argo)


def kind_of(state: object) -> Facts:
    return replace(WHOLE, cluster=state)


DELETING = {"deletionTimestamp": "2026-01-01T12:00:00Z", "finalizers": ["alate.dev/teardown"]}
GONE = is_(cluster.Released, wish=WISH, reason="TimeToLive")
COLONIES = [
    colony("ready", "Current", "Healthy", WHOLE),
    colony("launching", "InProgress", "Progressing", kind_of(is_(cluster.Launching))),
    colony("provisioned", "InProgress", "Progressing", replace(WHOLE, cluster=is_(cluster.Provisioned), seen=SEEN)),
    colony("waits for an offer", "InProgress", "Progressing", kind_of(is_(cluster.Waiting))),
    colony("stalled", "Failed", "Degraded", kind_of(is_(cluster.Stalled))),
    colony("refused", "Failed", "Degraded", Facts(WISH, refused="its name is taken")),
    colony("an add-on is degraded", "Failed", "Degraded", replace(WHOLE, addons=(put_on(addon.Degraded),))),
    colony("waits for an add-on", "InProgress", "Progressing", replace(WHOLE, addons=(put_on(addon.Applying),))),
    colony("one of two is not ready", "InProgress", "Progressing", WHOLE, replace(
        kind_of(is_(cluster.Launching)), wish=msgspec.structs.replace(WISH, cluster="b"))),
    colony("cannot be reached", "InProgress", "Progressing", replace(
        WHOLE, seen=msgspec.structs.replace(WHOLE.seen, known=False))),
    colony("hibernates", "InProgress", "Suspended", kind_of(is_(cluster.Hibernated))),
    colony("its time is over", "InProgress", "Suspended", Facts(WISH, cluster=GONE)),
    colony("is being deleted", "Terminating", "Progressing", replace(
        WHOLE, teardown=is_(teardown.Draining, reason="Deleted")), **DELETING),
    colony("its end is stuck", "Terminating", "Degraded", replace(
        WHOLE, teardown=is_(teardown.Stuck, message="a volume is left")), **DELETING),
]  # fmt: skip
NEW = {"apiVersion": "alate.dev/v1alpha1", "kind": "Colony", "metadata": COLONY["metadata"]}
COLONIES += [
    Recorded("cannot be read", NEW | {"status": invalid(NEW, "spec.clusters is missing", NOW)}, "Failed", "Degraded"),
    Recorded("is new", NEW, "InProgress", "Progressing"),
    Recorded("was changed", COLONIES[0].item | {"metadata": COLONY["metadata"] | {"generation": 4}},
             "InProgress", "Progressing"),
]  # fmt: skip


def profile(
    fact: str, flux: str, argo: str, *states, kind: str = "AddonProfile", invalid: str = "", suspend: bool = False,
    rollout: Decision | None = None, generation: int = 2,
) -> Recorded:  # fmt: skip
    """A profile on a cluster for each of these states of its add-on; `generation` is the newest."""
    item = {"apiVersion": "alate.dev/v1alpha1", "kind": kind, "metadata": {"name": "base", "generation": 2}}
    known = KnownProfile(item, Profile("base", "acme", AddonProfileSpec(addons=[], suspend=suspend), 2), invalid)
    places = [ProfileOnCluster(("acme", f"train-{at}"), {"driver": one}, ()) for at, one in enumerate(states)]
    shown = profile_status(known, places, NOW, rollout)
    newest = item | {"metadata": item["metadata"] | {"generation": generation}}
    return Recorded(f"{kind}: {fact}", newest | {"status": shown}, flux, argo)


APPLIED, APPLYING, DEGRADED = put_on(addon.Applied), put_on(addon.Applying), put_on(addon.Degraded)
ROLLING, STOPPED = Decision(waits="approval of stage two"), Decision(stopped="2 clusters have failed")
PROFILES = [
    each
    for kind in ("AddonProfile", "ClusterAddonProfile")
    for each in (
        profile("ready", "Current", "Healthy", APPLIED, kind=kind),
        profile("selects no cluster", "Current", "Healthy", kind=kind),
        profile("applying", "InProgress", "Progressing", APPLIED, APPLYING, kind=kind),
        profile("not begun", "InProgress", "Progressing", None, kind=kind),
        profile("degraded", "Failed", "Degraded", APPLIED, DEGRADED, kind=kind),
        profile("invalid", "Failed", "Degraded", APPLIED, kind=kind, invalid="spec.addons is missing"),
        profile("suspended before it was ready", "InProgress", "Suspended", None, kind=kind, suspend=True),
        profile("suspended when it was ready", "Current", "Healthy", APPLIED, kind=kind, suspend=True),
        profile("rolls out", "InProgress", "Progressing", APPLIED, kind=kind, rollout=ROLLING),
        profile("its rollout has stopped", "Failed", "Degraded", APPLIED, kind=kind, rollout=STOPPED),
        profile("was changed", "InProgress", "Progressing", APPLIED, kind=kind, generation=3),
    )
]


def trigger(
    fact: str, flux: str, argo: str, reason: str, *, generation: int = 1, watching: str = "", spec: dict | None = None
) -> Recorded:
    """A Trigger; `watching` is the status of the condition of its objects."""
    item = {"apiVersion": "alate.dev/v1alpha1", "kind": "Trigger", "metadata": {"name": "ci", "generation": 1}}
    item |= {"spec": spec or {}}
    seen = {"type": WATCHING, "status": watching, "observedGeneration": 1, "reason": "Unreachable", "message": "away"}
    known = item | ({"status": {"conditions": [seen]}} if watching else {})
    shown = trigger_status(known, reason, f"the reason {reason}", NOW) if reason else {}
    newest = item["metadata"] | {"generation": generation}
    return Recorded(fact, item | {"status": shown, "metadata": newest}, flux, argo)


OBJECTS = {"objects": [{"apiVersion": "batch/v1", "kind": "Job"}]}
TRIGGERS = [
    trigger("accepted", "Current", "Healthy", FOLLOWED),
    trigger("invalid", "Failed", "Degraded", "Invalid"),
    trigger("too costly", "Failed", "Degraded", "TooCostly"),
    trigger("new", "", "Progressing", ""),
    trigger("was changed", "InProgress", "Progressing", FOLLOWED, generation=2),
    trigger("its objects are not watched yet", "InProgress", "Progressing", FOLLOWED, spec=OBJECTS),
    trigger("its objects are watched", "Current", "Healthy", FOLLOWED, watching="True", spec=OBJECTS),
    trigger("a cluster is out of reach", "InProgress", "Degraded", FOLLOWED, watching="False", spec=OBJECTS),
]


def classifier(fact: str, flux: str, argo: str, off: EvaluationFailure | None = None, generation: int = 2) -> Recorded:
    """A ClusterClassifier; `generation` is the newest."""
    item = {"apiVersion": "alate.dev/v1alpha1", "kind": "ClusterClassifier", "metadata": {"name": "x", "generation": 2}}
    shown = classifier_status(KnownClassifier(item, Classifier("x", (), off), None), {}, {}, NOW)
    newest = item | {"metadata": item["metadata"] | {"generation": generation}}
    return Recorded(fact, newest | {"status": shown}, flux, argo)


BROKEN = EvaluationFailure(FailureReason.INVALID, "spec.rules is missing")
CLASSIFIERS = [
    classifier("ready", "Current", "Healthy"),
    classifier("invalid", "Failed", "Degraded", BROKEN),
    classifier("was changed", "InProgress", "Progressing", generation=3),
]
EVERYTHING = [*COLONIES, *PROFILES, *TRIGGERS, *CLASSIFIERS]

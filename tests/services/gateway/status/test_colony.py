"""What a Colony shows is computed from what its clusters are, and from nothing else."""

import json
from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from schemas import addon, cluster, teardown
from schemas.cluster import UnmetDemand
from schemas.infra import InfraSeen
from schemas.inventory import ClusterSeen, ModelAmount
from schemas.placement import Attempt
from schemas.wish import Need
from services.gateway.kubeconfig import WRITTEN, name_taken
from services.gateway.status.colony import gpu_inventory, invalid, status
from services.gateway.status.facts import Facts, KubeconfigStatus
from tests import samples
from tests.services.gateway.known import (
    ATTEMPT,
    COLONY,
    LOT,
    NEED,
    NOW,
    PLACEMENT,
    SEEN,
    WHOLE,
    WISH,
    is_,
    put_on,
)

OTHER = msgspec.structs.replace(WISH, generation=4, need=msgspec.structs.replace(NEED, max_price_per_hour=1.0))
ENDED = "it has ended (Idle): no edit creates it again, but `alate recreate train/a` does, or a later askedAt"


def shown(*facts, colony=COLONY, now=NOW):
    return status(colony, facts, now)


def conditions(computed):
    return {c["type"]: (c["status"], c["reason"], c["message"]) for c in computed["conditions"]}


def message(facts):
    return shown(facts)["clusters"][0].get("message", "")


def test_a_ready_colony_shows_every_field():
    computed = shown(WHOLE)
    clusters, conditions = computed.pop("clusters"), computed.pop("conditions")
    told = clusters[0].pop("conditions")
    assert computed == {
        "phase": "Ready", "observedGeneration": 3, "ready": "1/1", "accelerators": "16/16",
        "offer": "aws/us-east-1 p5.48xlarge spot", "pricePerHour": 20.5, "costUsd": 22.0, "running": ["a"],
        "expiresAt": "2026-01-01T13:00:00Z",
    }  # fmt: skip
    assert clusters == [{
        "name": "a", "phase": "Ready", "since": "2026-01-01T11:00:00Z",
        "offer": {"cloud": "aws", "region": "us-east-1", "zone": "az1", "instance": "p5.48xlarge",
                  "pricePerHour": 20.5, "spot": True},
        "nextBestPricePerHour": 30.0, "nodesReady": 2, "nodesWanted": 2,
        "acceleratorsReady": 16, "acceleratorsWanted": 16,
        "pools": [{"name": "workers", "nodesReady": 2, "nodesWanted": 2, "acceleratorsReady": 16,
                   "acceleratorsWanted": 16}],
        "kubeconfigSecret": "train-a-2-kubeconfig", "kubernetesVersion": "v1.34.0",
        "addons": [{"name": "driver", "phase": "Applied"}], "teardown": {"phase": "Armed"},
        "expiresAt": "2026-01-01T13:00:00Z", "idleSince": "2026-01-01T11:00:00Z", "attempts": 2,
    }]  # fmt: skip
    assert [c["type"] for c in conditions] == [
        "Accepted", "Ready", "Resizing", "Upgrading", "AddonsApplied", "Ending", "Stalled",
    ]  # fmt: skip
    assert conditions[1] == {
        "type": "Ready", "status": "True", "observedGeneration": 3, "lastTransitionTime": "2026-01-01T12:00:00Z",
        "reason": "AllClustersReady", "message": "",
    }  # fmt: skip
    assert told[0] == {
        "type": "Placed", "status": "True", "observedGeneration": 3, "lastTransitionTime": "2026-01-01T12:00:00Z",
        "reason": "OfferChosen", "message": "",
    }  # fmt: skip


def test_what_a_back_end_says_in_several_lines_is_one_line_of_the_colony():
    says = InfraSeen(cluster="train-a", uid="u1", attempt=2, message="* Machine x:\n  * NodeHealthy: not yet")
    computed = shown(Facts(WISH, cluster=is_(cluster.Launching), infra=says))
    assert computed["message"] == "a: * Machine x: * NodeHealthy: not yet"


def test_a_condition_keeps_its_time_until_its_status_changes():
    before = COLONY | {"status": shown(Facts(WISH))}
    later = NOW + timedelta(minutes=5)
    waiting = shown(Facts(WISH, cluster=is_(cluster.Pending)), colony=before, now=later)
    ready = shown(WHOLE, colony=before, now=later)
    times = [[c["lastTransitionTime"][11:16] for c in each["conditions"]] for each in (waiting, ready)]
    assert times == [["12:00"] * 7, ["12:00", "12:05", "12:00", "12:00", "12:05", "12:00", "12:00"]]


def test_a_clusters_condition_keeps_its_time_too_and_is_of_the_cluster_of_that_name():
    before = COLONY | {"status": shown(WHOLE)}
    later = NOW + timedelta(minutes=5)
    other = replace(WHOLE, wish=msgspec.structs.replace(WISH, cluster="b"))
    short = replace(WHOLE, cluster=is_(cluster.Provisioned), seen=SEEN)
    times = [
        {c["type"]: c["lastTransitionTime"][11:16] for c in each["conditions"]}
        for each in shown(other, short, colony=before, now=later)["clusters"]
    ]
    kept = dict.fromkeys(("Placed", "Reachable", "AddonsApplied", "Resizing", "Upgrading", "Ending"), "12:00")
    assert times[0] == dict.fromkeys(times[0], "12:05")
    assert times[1] == kept | dict.fromkeys(("Schedulable", "AcceleratorsReady", "Ready"), "12:05")


def test_a_clusters_conditions_are_of_the_generation_that_its_owner_has_answered():
    asked = msgspec.structs.replace(RESIZED, generation=3)
    older = msgspec.structs.replace(WISH, generation=2)
    late, done = replace(WHOLE, wish=asked, cluster=is_(cluster.Ready, wish=older)), WHOLE
    told = [{c["observedGeneration"] for c in shown(each)["clusters"][0]["conditions"]} for each in (late, done)]
    assert told == [{2}, {3}]


RESIZED = msgspec.structs.replace(WISH, need=Need(pools=(msgspec.structs.replace(samples.POOL, nodes=4),)))
RESIZING = cluster.Resizing(nodes=2, accelerators=16, until=NOW, ordered=True)


def resizing(**fields):
    larger = msgspec.structs.replace(PLACEMENT, lots=(msgspec.structs.replace(LOT, nodes=4),))
    bought = msgspec.structs.replace(ATTEMPT, placement=larger)
    known = is_(cluster.Ready, wish=RESIZED, attempt=bought, resizing=msgspec.structs.replace(RESIZING, **fields))
    told = InfraSeen(cluster="train-a", uid="u1", attempt=2, message="InsufficientInstanceCapacity")
    return replace(WHOLE, wish=RESIZED, cluster=known, infra=told)


def test_the_kubeconfig_of_all_clusters_is_told_as_it_is_known():
    named = name_taken({"name": "train"})
    told = [status(COLONY, (WHOLE,), NOW, each) for each in (KubeconfigStatus(), KubeconfigStatus("s", WRITTEN), named)]
    assert [each.get("kubeconfigSecret") for each in told] == [None, "s", None]
    assert [conditions(each).get("KubeconfigWritten", ("",))[0] for each in told] == ["", "True", "False"]
    assert [each.get("message") for each in told] == [None, None, named.condition.message]


def test_one_that_is_resized_is_ready_and_tells_how_far_it_is():
    computed = shown(resizing())
    told = "a: 2 of 4 nodes, 16 of 32 accelerators ready"
    assert (computed["phase"], computed["accelerators"], computed["message"]) == ("Ready", "16/32", told)
    assert conditions(computed)["Ready"][0] == "True"
    assert conditions(computed)["Resizing"] == ("True", "Resizing", told)


def test_one_that_lost_machines_tells_how_often_that_happened():
    computed = shown(replace(WHOLE, cluster=is_(cluster.Provisioned, was_ready=True, interruptions=2)))
    assert conditions(computed)["Ready"][:2] == ("False", "Interrupted")
    assert computed["clusters"][0]["interruptions"] == 2


def test_one_whose_new_pool_is_not_bought_yet_tells_what_is_wanted():
    need = Need(pools=(samples.POOL, msgspec.structs.replace(samples.POOL, name="more", nodes=1)))
    computed = shown(replace(WHOLE, cluster=is_(cluster.Ready, wanted=need)))
    told = "a: 2 of 3 nodes, 16 of 24 accelerators ready"
    assert conditions(computed)["Resizing"] == ("True", "Resizing", told)
    assert (computed["phase"], computed["clusters"][0]["nodesWanted"]) == ("Ready", 3)


def test_one_that_takes_long_to_be_resized_tells_what_the_back_end_says():
    _, reason, told = conditions(shown(resizing(late=True)))["Resizing"]
    assert reason == "Late"
    assert told == "a: 2 of 4 nodes, 16 of 32 accelerators ready: InsufficientInstanceCapacity"


def test_nodes_that_pods_asked_for_in_vain_are_told_beside_what_is_on_its_way():
    ungrown = UnmetDemand(reason="PriceCap", message="too dear")
    held = replace(WHOLE, cluster=is_(cluster.Ready, unmet_demand=ungrown))
    computed = shown(held)
    assert (computed["phase"], computed["message"]) == ("Ready", "a: too dear")
    assert conditions(computed)["Resizing"] == ("False", "PriceCap", "a: too dear")
    going = resizing()
    both = shown(held, replace(going, wish=msgspec.structs.replace(going.wish, cluster="b")))
    told = "a: too dear; b: 2 of 4 nodes, 16 of 32 accelerators ready"
    assert conditions(both)["Resizing"] == ("True", "Resizing", told)


def upgrading(**fields):
    going = cluster.Upgrading(version="v1.35.0", until=NOW, **fields)
    return replace(WHOLE, cluster=is_(cluster.Ready, upgrading=going))


def test_one_that_gets_another_version_is_ready_and_tells_how_far_it_is():
    computed = shown(upgrading(progress="1 of 2 machines run v1.35.0"))
    told = "a: upgrading to Kubernetes v1.35.0: 1 of 2 machines run v1.35.0"
    assert (computed["phase"], computed["message"]) == ("Ready", told)
    assert conditions(computed)["Upgrading"] == ("True", "Upgrading", told)
    assert computed["clusters"][0]["kubernetesVersion"] == "v1.34.0"


def test_one_that_takes_long_to_get_another_version_is_told_as_late():
    assert conditions(shown(upgrading(late=True)))["Upgrading"][:2] == ("True", "Late")


def test_one_that_has_no_api_yet_runs_no_version():
    assert "kubernetesVersion" not in shown(replace(WHOLE, cluster=is_(cluster.Launching)))["clusters"][0]


ASLEEP = msgspec.structs.replace(WISH, need=msgspec.structs.replace(NEED, hibernate=True))
EMPTY = msgspec.structs.replace(PLACEMENT, lots=(msgspec.structs.replace(LOT, nodes=0),))


def hibernated(seen, **fields):
    known = is_(cluster.Hibernated, wish=ASLEEP, attempt=msgspec.structs.replace(ATTEMPT, placement=EMPTY), **fields)
    return replace(WHOLE, wish=ASLEEP, cluster=known, seen=seen)


def test_one_that_hibernates_is_not_ready_and_costs_nothing():
    computed = shown(hibernated(msgspec.structs.replace(SEEN, nodes=0, accelerators=0)))
    told = (computed["phase"], computed["ready"], computed["accelerators"], computed["pricePerHour"])
    assert told == ("Hibernated", "0/1", "0/0", 0.0)
    assert conditions(computed)["Ready"] == ("False", "Hibernated", "a: hibernates")


def test_one_that_is_to_hibernate_tells_what_is_still_there():
    computed = shown(hibernated(SEEN, resizing=msgspec.structs.replace(RESIZING, nodes=0, accelerators=0)))
    assert conditions(computed)["Resizing"] == (
        "True",
        "Resizing",
        "a: hibernates once its machines are gone, nodes: 1",
    )


def test_one_that_hibernates_before_it_was_founded_says_so():
    computed = shown(Facts(ASLEEP, cluster=is_(cluster.Pending, wish=ASLEEP)))
    assert conditions(computed)["Ready"] == ("False", "Pending", "a: hibernates, not created yet")


def test_what_was_refused_before_is_not_said_of_what_is_asked_since_and_that_is_on_its_way():
    asked = msgspec.structs.replace(RESIZED, generation=4)
    computed = shown(replace(WHOLE, wish=asked, cluster=is_(cluster.Ready, refused="too dear")))
    assert [conditions(computed)[kind][0] for kind in ("Accepted", "Resizing")] == ["True", "True"]


def test_what_its_owner_has_not_heard_of_yet_is_told_as_that():
    asked = msgspec.structs.replace(RESIZED, generation=4)
    computed = shown(replace(WHOLE, wish=asked))
    assert (computed["phase"], computed["message"]) == ("Ready", "a: waiting for provisioning")


def test_time_alone_changes_nothing_but_the_cost():
    first = shown(WHOLE)
    again = shown(WHOLE, colony=COLONY | {"status": first}, now=NOW + timedelta(days=1))
    assert (again.pop("costUsd"), first.pop("costUsd")) == (22.0 + 24 * 20.5, 22.0)
    assert again == first


def test_what_is_over_is_pending_once_it_is_asked_for_again():
    over = is_(cluster.Released, reason="Idle")
    assert shown(Facts(WISH, cluster=over))["phase"] == "Released"
    computed = shown(Facts(msgspec.structs.replace(WISH, asked_at=NOW), cluster=over))
    assert (computed["phase"], computed["message"]) == ("Pending", "a: waiting for provisioning")
    assert conditions(computed)["Ready"][:2] == ("False", "Pending")


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (Facts(WISH, "the name is taken"), "the name is taken"),
        (Facts(WISH), "waiting for provisioning"),
        (Facts(WISH, cluster=is_(cluster.Pending)), "waiting for the market"),
        (Facts(WISH, cluster=is_(cluster.Stalled)), "too dear"),
        (
            Facts(WISH, cluster=is_(cluster.Placing, attempt=Attempt(
                number=1, placement=PLACEMENT, reason="NoCapacity", message="none left"))),
            "looking for the next offer: none left",
        ),
        (
            Facts(WISH, cluster=is_(cluster.Placing, blocked="no Cluster API", attempt=Attempt(
                number=1, placement=PLACEMENT, reason="Lost"))),
            "no Cluster API",
        ),
        (Facts(WISH, cluster=is_(cluster.Launching)), "waiting for the back end"),
        (Facts(WISH, cluster=is_(cluster.Launching, blocked="no Cluster API")), "no Cluster API"),
        (
            Facts(WISH, cluster=is_(cluster.Launching), infra=InfraSeen(
                cluster="train-a", uid="u1", attempt=2, message="creating the network")),
            "creating the network",
        ),
        (
            Facts(WISH, cluster=is_(cluster.Provisioned), infra=InfraSeen(
                cluster="train-a", uid="u1", attempt=2, reachable=True, message="Helm install succeeded")),
            "waiting for its API to answer the inventory",
        ),
        (Facts(WISH, cluster=is_(cluster.Provisioned), seen=SEEN), "1 of 2 nodes, 8 of 16 accelerators ready"),
        (Facts(WISH, cluster=is_(cluster.Ready, refused="pools stay")), "pools stay"),
        (replace(WHOLE, teardown=is_(teardown.Warned)), "it is deleted at 12:00:00Z: Idle"),
        (replace(WHOLE, teardown=is_(teardown.Stuck, message="Draining has taken too long")), "has taken too long"),
        (Facts(WISH, cluster=is_(cluster.Releasing)), "its machines are being released: Deleted"),
        (Facts(WISH, cluster=is_(cluster.Releasing, blocked="no Cluster API")), "no Cluster API"),
        (
            Facts(WISH, cluster=is_(cluster.Releasing, blocked="no Cluster API"),
                  teardown=is_(teardown.Stuck, message="Releasing has taken too long")),
            "Releasing has taken too long: no Cluster API",
        ),
        (
            Facts(WISH, cluster=is_(cluster.Releasing), teardown=is_(teardown.Stuck, message="Releasing is late"),
                  infra=InfraSeen(cluster="train-a", uid="u1", attempt=2, message="kept by its finalizers x")),
            "Releasing is late: kept by its finalizers x",
        ),
        (Facts(msgspec.structs.replace(WISH, deleting=True), cluster=is_(cluster.Released)), "released: Deleted"),
        (Facts(OTHER, cluster=is_(cluster.Released, reason="Idle")), ENDED),
        (
            Facts(msgspec.structs.replace(WISH, asked_at=NOW), cluster=is_(cluster.Released, reason="Idle")),
            "waiting for provisioning",
        ),
        (WHOLE, ""),
    ],
)  # fmt: skip
def test_each_situation_has_its_sentence(facts, told):
    assert message(facts).endswith(told)
    assert bool(message(facts)) == bool(told)


def test_the_colony_is_what_its_least_advanced_cluster_is():
    other = msgspec.structs.replace(WISH, cluster="b")
    computed = shown(WHOLE, Facts(other, cluster=is_(cluster.Stalled)))
    assert (computed["phase"], computed["ready"], computed["accelerators"]) == ("Stalled", "1/2", "16/32")
    assert computed["message"] == "b: too dear"
    assert conditions(computed)["Ready"] == ("False", "PriceCap", "b: too dear")


def test_offers_that_are_alike_are_named_once_and_prices_added():
    other = replace(WHOLE, wish=msgspec.structs.replace(WISH, cluster="b"))
    computed = shown(WHOLE, other)
    assert (computed["offer"], computed["pricePerHour"]) == ("aws/us-east-1 p5.48xlarge spot", 41.0)
    assert computed["costUsd"] == 44.0


@pytest.mark.parametrize(("each", "told"), [(14.246, 28.49), (0.002, 0.004), (0.0, 0.0)])
def test_sums_are_told_in_cents_and_what_is_less_than_one_as_it_is(each, told):
    lot = msgspec.structs.replace(LOT, nodes=2, price_per_hour=each)
    placed = Attempt(number=1, placement=msgspec.structs.replace(PLACEMENT, lots=(lot,)))
    computed = shown(replace(WHOLE, cluster=is_(cluster.Ready, attempt=placed, cost_usd=0.0)))
    assert (computed["pricePerHour"], computed["costUsd"]) == (told, told)
    assert computed["clusters"][0]["offer"]["pricePerHour"] == 2 * each


def test_a_deletion_shows_before_anything_has_gone():
    going = COLONY | {"metadata": COLONY["metadata"] | {"deletionTimestamp": "2026-01-01T12:00:00Z"}}
    assert shown(WHOLE, colony=going)["phase"] == "Deleting"


def test_addons_that_are_not_applied_as_asked_are_waited_for_by_name():
    for one in (put_on(addon.Applying, message=""), put_on(addon.Applied, digest="old")):
        computed = shown(replace(WHOLE, addons=(one,)))
        assert conditions(computed)["AddonsApplied"] == ("False", "Waiting", "a: waiting for driver")


def test_a_colony_is_not_ready_while_an_addon_cannot_be_applied_and_its_message_says_why():
    computed = shown(replace(WHOLE, addons=(put_on(addon.Degraded),)))
    assert conditions(computed)["Ready"] == ("False", "AddonsNotApplied", "a: add-on driver: bad manifest")
    assert (computed["phase"], computed["ready"]) == ("AddonsDegraded", "0/1")
    assert computed["message"] == "a: add-on driver: bad manifest"


def test_a_colony_whose_addons_are_on_their_way_is_not_ready_yet():
    computed = shown(replace(WHOLE, addons=(put_on(addon.Applying, message=""),)))
    assert (computed["phase"], computed["ready"], computed["message"]) == (
        "ApplyingAddons",
        "0/1",
        "a: waiting for driver",
    )


SILENT = msgspec.structs.replace(WHOLE.seen, known=False, fresh_since=NOW)


def test_a_cluster_that_cannot_be_heard_is_not_shown_as_ready():
    computed = shown(replace(WHOLE, seen=SILENT))
    told = "its API is unreachable since 2026-01-01 12:00:00Z: its nodes are shown as they were last seen"
    assert conditions(computed)["Ready"] == ("Unknown", "Unreachable", f"a: {told}")
    assert (computed["phase"], computed["ready"], computed["message"]) == ("Unknown", "0/1", f"a: {told}")
    assert computed["clusters"][0]["message"] == told


def test_one_that_was_not_heard_yet_says_so_before_its_numbers():
    waiting = replace(WHOLE, cluster=is_(cluster.Provisioned), seen=SILENT)
    assert shown(waiting)["message"].startswith("a: its API is unreachable since")


DELETED = COLONY | {"metadata": COLONY["metadata"] | {"deletionTimestamp": "2026-01-01T12:00:00Z"}}
GOING = msgspec.structs.replace(WISH, deleting=True)


def draining(kind=teardown.Draining, **fields):
    return replace(WHOLE, wish=GOING, teardown=is_(kind, reason="Deleted", addons=(), **fields))


def test_a_colony_that_drains_is_not_ready_and_says_since_when_why_and_what_it_costs():
    blocked = "Job default/train still has 2 pods"
    computed = shown(draining(blocked=blocked), colony=DELETED)
    told = (
        f"a: ending since 2026-01-01 11:00:00Z (it was deleted): draining, at $20.50 an hour: {blocked}; "
        "given up at 2026-01-01 12:00:00Z, or now with `alate delete train --force`"
    )
    assert (computed["phase"], computed["ready"], computed["message"]) == ("Deleting", "0/1", told)
    assert conditions(computed)["Ready"] == ("False", "Draining", told)
    assert conditions(computed)["Ending"] == ("True", "Draining", told)
    assert computed["clusters"][0]["phase"] == "Draining"
    assert computed["clusters"][0]["teardown"] == {
        "phase": "Draining", "reason": "Deleted", "since": "2026-01-01T11:00:00Z", "at": "2026-01-01T12:00:00Z",
        "message": blocked,
    }  # fmt: skip


SKIPPED = teardown.Skipped(step="Draining", reason="pod x does not end", left="work of pod x")


def test_a_step_that_was_given_up_is_told_with_what_may_be_left_until_the_end_and_after_it():
    going = draining(teardown.TeardownReleasing, skipped=(SKIPPED,))
    over = replace(
        going, cluster=is_(cluster.Released, wish=GOING), teardown=is_(teardown.Gone, skipped=(SKIPPED,))
    )  # fmt: skip
    for facts in (going, over):
        told = shown(facts, colony=DELETED)["clusters"][0]
        assert told["message"].endswith("Draining was given up (pod x does not end): work of pod x may be left")
        assert told["teardown"]["skipped"] == [
            {"step": "Draining", "reason": "pod x does not end", "left": "work of pod x"}
        ]


def test_time_that_passes_writes_no_status_of_what_drains():
    before = shown(draining(blocked="Job x"), colony=DELETED)
    later = shown(draining(blocked="Job x"), colony=DELETED | {"status": before}, now=NOW + timedelta(minutes=4))
    assert later | {"costUsd": before["costUsd"]} == before


def test_a_colony_whose_time_to_live_is_over_is_shown_as_ending():
    computed = shown(replace(WHOLE, teardown=is_(teardown.Draining, reason="TimeToLive")))
    assert (computed["phase"], computed["ready"]) == ("Draining", "0/1")
    assert "(its time to live is over): draining" in computed["message"]
    assert "alate delete" not in computed["message"]  # that would end the other clusters of the Colony, too
    assert conditions(computed)["Ready"][:2] == ("False", "Draining")


def test_a_colony_whose_end_is_stuck_says_so_although_it_is_deleted():
    computed = shown(draining(teardown.Stuck, message="2 machines are left"), colony=DELETED)
    assert computed["phase"] == "Stuck"
    assert computed["message"].endswith("2 machines are left")
    assert conditions(computed)["Ready"][:2] == ("False", "Stuck")


def test_what_ends_is_told_before_what_was_refused():
    refused_ = replace(WHOLE, cluster=is_(cluster.Ready, refused="pools stay"), teardown=is_(teardown.Draining))
    assert "draining" in shown(refused_)["message"]


def test_a_warning_is_the_message_of_a_ready_colony():
    computed = shown(replace(WHOLE, teardown=is_(teardown.Warned)))
    assert (computed["phase"], computed["message"]) == ("Ready", "a: it is deleted at 12:00:00Z: Idle")


def test_what_was_taken_out_of_a_colony_is_shown_until_it_is_gone_and_counts_as_nothing_asked_for():
    other = replace(draining(), wish=msgspec.structs.replace(GOING, cluster="b"), dropped=True)
    computed = shown(WHOLE, other)
    assert (computed["phase"], computed["ready"], computed["accelerators"]) == ("Ready", "1/1", "16/16")
    assert conditions(computed)["Ready"][0] == "True"
    assert [each["phase"] for each in computed["clusters"]] == ["Ready", "Draining"]
    assert computed["message"].startswith("b: ending since 2026-01-01 11:00:00Z (it was deleted): draining")
    assert computed["pricePerHour"] == 41.0


@pytest.mark.parametrize("kind", [addon.Applying, addon.Degraded, addon.Withdrawn])
def test_an_addon_says_what_it_waits_for_what_went_wrong_or_what_was_left(kind):
    (told,) = shown(replace(WHOLE, addons=(put_on(kind),)))["clusters"][0]["addons"]
    assert told == {"name": "driver", "phase": kind.__name__, "message": "bad manifest"}


def test_what_cannot_be_followed_while_it_runs_is_refused_but_ready():
    computed = shown(replace(WHOLE, cluster=is_(cluster.Ready, refused="pools stay as they are")))
    assert conditions(computed)["Accepted"] == ("False", "Refused", "a: pools stay as they are")
    assert conditions(computed)["Ready"][0] == "True"
    assert computed["message"] == "a: pools stay as they are"


def test_a_colony_that_cannot_be_read_says_why():
    computed = invalid(COLONY, "spec.clusters is missing", NOW)
    assert (computed["phase"], computed["message"]) == ("Invalid", "spec.clusters is missing")
    why = ("Invalid", "spec.clusters is missing")
    assert conditions(computed) == dict.fromkeys(("Accepted", "Ready"), ("False", *why)) | {"Stalled": ("True", *why)}


def test_a_status_is_the_same_however_an_api_server_writes_its_numbers_and_orders_its_fields():
    computed = shown(replace(WHOLE, cluster=is_(cluster.Ready, cost_usd=2.0, billed_since=NOW)))
    assert computed["costUsd"] == 2.0
    stored = json.loads(json.dumps(computed, sort_keys=True).replace("2.0", "2"))
    assert computed == stored
    assert computed != stored | {"phase": "Stalled"}
    assert computed != {}


def test_what_waits_for_the_market_says_why_and_until_when():
    computed = shown(Facts(WISH, cluster=is_(cluster.Waiting, reason="NoOfferFits")))
    assert computed["message"] == "a: too dear; the market is asked again at 12:00:00Z"
    assert conditions(computed)["Ready"][1] == "NoOfferFits"


def seen_cluster(name, **models):
    amounts = {
        model: ModelAmount(allocatable=1000 * t, allocated=1000 * a, nodes=n) for model, (t, a, n) in models.items()
    }
    return ClusterSeen(cluster=name, uid="u", models=amounts)


def test_accelerators_of_all_clusters_are_added_up_by_model():
    shown = gpu_inventory([seen_cluster("a", H100=(16, 3, 2)), seen_cluster("b", H100=(8, 8, 1), L4=(4, 0, 4))])
    assert [(each.model, each.total, each.allocated, each.nodes) for each in shown] == [
        ("H100", 24, 11, 3),
        ("L4", 4, 0, 4),
    ]


def test_a_colony_without_clusters_has_none():
    assert gpu_inventory([]) == []

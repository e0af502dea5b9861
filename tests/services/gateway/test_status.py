"""What a Colony shows is computed from what its clusters are, and from nothing else."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from schemas import addon, cluster, teardown
from schemas.cluster import InfraSeen
from schemas.inventory import ClusterSeen
from schemas.wish import AddonRef, Limits, Need, Wish
from services.gateway.facts import Facts
from services.gateway.status import SHOWN, refused, same, status
from tests import samples

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
THEN = NOW - timedelta(hours=1)
COLONY = {"metadata": {"name": "train", "namespace": "acme", "uid": "c1", "generation": 3}}
NEED = Need(pools=(samples.POOL,))
WISH = Wish(
    tenant="acme", colony="train", cluster="a", uid="c1", generation=3, need=NEED,
    limits=Limits(time_to_live=7200.0), addons=(AddonRef("driver", "d1"),),
)  # fmt: skip
LOT = msgspec.structs.replace(samples.LOT, zone="az1", price_per_hour=10.25)
PLACEMENT = cluster.Placement(cloud="aws", region="us-east-1", lots=(LOT,))
ATTEMPT = cluster.Attempt(number=2, placement=PLACEMENT)


def is_(kind, **fields):
    known = {
        "uid": "u1", "wish": WISH, "since": THEN.replace(microsecond=5), "attempt": ATTEMPT, "attempts": 2,
        "billed_since": THEN, "deadline": NOW, "kubeconfig": "train-a-2-kubeconfig", "next_best_per_hour": 30.0,
        "because": "Deleted", "reason": "PriceCap", "message": "too dear", "why": "Idle", "until": NOW,
        "ready_since": THEN, "proof": {}, "step": "Draining", "cost_usd": 1.5,
    } | fields  # fmt: skip
    return kind(**{name: value for name, value in known.items() if name in kind.__struct_fields__})


def put_on(kind, **fields):
    known = {"uid": "u1", "tenant": "acme", "colony": "train", "cluster": "train-a", "addon": "driver"} | {
        "digest": "d1", "until": NOW, "retry_at": NOW, "message": "bad manifest",
    }  # fmt: skip
    return kind(**{n: v for n, v in (known | fields).items() if n in kind.__struct_fields__})


SEEN = ClusterSeen(cluster="train-a", uid="u1", attempt=2, nodes=1, accelerators=8, idle_since=THEN)
WHOLE = Facts(
    WISH,
    cluster=is_(cluster.Ready),
    teardown=is_(teardown.Armed),
    addons=(put_on(addon.Applied),),
    seen=msgspec.structs.replace(SEEN, nodes=2, accelerators=16),
)


def shown(*facts, colony=COLONY, now=NOW):
    return status(colony, facts, now)


def conditions(computed):
    return {c["type"]: (c["status"], c["reason"], c["message"]) for c in computed["conditions"]}


def message(facts):
    return shown(facts)["clusters"][0].get("message", "")


def test_a_ready_colony_shows_every_field():
    computed = shown(WHOLE)
    clusters, conditions = computed.pop("clusters"), computed.pop("conditions")
    assert computed == {
        "phase": "Ready", "observedGeneration": 3, "ready": "1/1", "accelerators": "16/16",
        "offer": "aws/us-east-1 p5.48xlarge spot", "pricePerHour": 20.5, "costUsd": 1.5,
    }  # fmt: skip
    assert clusters == [{
        "name": "a", "phase": "Ready", "since": "2026-01-01T11:00:00Z",
        "offer": {"cloud": "aws", "region": "us-east-1", "zone": "az1", "instance": "p5.48xlarge",
                  "pricePerHour": 20.5, "spot": True},
        "nextBestPricePerHour": 30.0, "nodesReady": 2, "nodesWanted": 2,
        "acceleratorsReady": 16, "acceleratorsWanted": 16, "kubeconfigSecret": "train-a-2-kubeconfig",
        "addons": [{"name": "driver", "phase": "Applied"}], "teardown": {"phase": "Armed"},
        "expiresAt": "2026-01-01T13:00:00Z", "idleSince": "2026-01-01T11:00:00Z", "attempts": 2,
    }]  # fmt: skip
    assert [c["type"] for c in conditions] == ["Accepted", "Ready", "Resizing", "AddonsApplied"]
    assert conditions[1] == {
        "type": "Ready", "status": "True", "observedGeneration": 3, "lastTransitionTime": "2026-01-01T12:00:00Z",
        "reason": "AllClustersReady", "message": "",
    }  # fmt: skip


def test_a_condition_keeps_its_time_until_its_status_changes():
    before = COLONY | {"status": shown(Facts(WISH))}
    later = NOW + timedelta(minutes=5)
    waiting = shown(Facts(WISH, cluster=is_(cluster.Requested)), colony=before, now=later)
    ready = shown(WHOLE, colony=before, now=later)
    times = [[c["lastTransitionTime"][11:16] for c in each["conditions"]] for each in (waiting, ready)]
    assert times == [["12:00"] * 4, ["12:00", "12:05", "12:00", "12:05"]]


RESIZED = msgspec.structs.replace(WISH, need=Need(pools=(msgspec.structs.replace(samples.POOL, nodes=4),)))
RESIZING = cluster.Resizing(nodes=2, accelerators=16, until=NOW, ordered=True)


def resizing(**fields):
    larger = msgspec.structs.replace(PLACEMENT, lots=(msgspec.structs.replace(LOT, nodes=4),))
    bought = msgspec.structs.replace(ATTEMPT, placement=larger)
    known = is_(cluster.Ready, wish=RESIZED, attempt=bought, resizing=msgspec.structs.replace(RESIZING, **fields))
    told = InfraSeen(cluster="train-a", uid="u1", attempt=2, message="InsufficientInstanceCapacity")
    return replace(WHOLE, wish=RESIZED, cluster=known, infra=told)


def test_one_that_is_resized_is_ready_and_tells_how_far_it_is():
    computed = shown(resizing())
    told = "a: 2 of 4 nodes, 16 of 32 accelerators ready"
    assert (computed["phase"], computed["accelerators"], computed["message"]) == ("Ready", "16/32", told)
    assert conditions(computed)["Ready"][0] == "True"
    assert conditions(computed)["Resizing"] == ("True", "Resizing", told)


def test_one_that_takes_long_to_be_resized_tells_what_the_back_end_says():
    _, reason, told = conditions(shown(resizing(late=True)))["Resizing"]
    assert reason == "Late"
    assert told == "a: 2 of 4 nodes, 16 of 32 accelerators ready: InsufficientInstanceCapacity"


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
    assert conditions(computed)["Resizing"] == ("True", "Resizing", "a: hibernates once 1 nodes are gone")


def test_one_that_hibernates_before_it_was_founded_says_so():
    computed = shown(Facts(ASLEEP, cluster=is_(cluster.Requested, wish=ASLEEP)))
    assert conditions(computed)["Ready"] == ("False", "Requested", "a: hibernates, not founded yet")


def test_what_was_refused_before_is_not_said_of_what_is_asked_since_and_that_is_on_its_way():
    asked = msgspec.structs.replace(RESIZED, generation=4)
    computed = shown(replace(WHOLE, wish=asked, cluster=is_(cluster.Ready, refused="too dear")))
    assert [conditions(computed)[kind][0] for kind in ("Accepted", "Resizing")] == ["True", "True"]


@pytest.mark.parametrize(("attempt", "url"), [(2, "https://10.0.0.1:6443"), (1, None)])
def test_the_endpoint_is_that_of_the_attempt_it_is(attempt, url):
    infra = InfraSeen(cluster="train-a", uid="u1", attempt=attempt, endpoint="https://10.0.0.1:6443")
    assert shown(replace(WHOLE, infra=infra))["clusters"][0].get("endpoint") == url


def test_time_alone_changes_nothing():
    first = shown(WHOLE)
    again = shown(WHOLE, colony=COLONY | {"status": first}, now=NOW + timedelta(days=1))
    assert same(again, first)


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (Facts(WISH, "the name is taken"), "the name is taken"),
        (Facts(WISH), "waiting for provisioning"),
        (Facts(WISH, cluster=is_(cluster.Requested)), "waiting for the market"),
        (Facts(WISH, cluster=is_(cluster.Stalled)), "too dear"),
        (
            Facts(WISH, cluster=is_(cluster.Placing, attempt=cluster.Attempt(
                number=1, placement=PLACEMENT, reason="NoCapacity", message="none left"))),
            "the next offer is looked for: none left",
        ),
        (
            Facts(WISH, cluster=is_(cluster.Placing, held="no Cluster API", attempt=cluster.Attempt(
                number=1, placement=PLACEMENT, reason="Lost"))),
            "no Cluster API",
        ),
        (Facts(WISH, cluster=is_(cluster.Launching)), "waiting for the back end"),
        (Facts(WISH, cluster=is_(cluster.Launching, held="no Cluster API")), "no Cluster API"),
        (
            Facts(WISH, cluster=is_(cluster.Launching), infra=InfraSeen(
                cluster="train-a", uid="u1", attempt=2, message="creating the network")),
            "creating the network",
        ),
        (Facts(WISH, cluster=is_(cluster.Provisioned), seen=SEEN), "1 of 2 nodes, 8 of 16 accelerators ready"),
        (Facts(WISH, cluster=is_(cluster.Ready, refused="pools stay")), "pools stay"),
        (replace(WHOLE, teardown=is_(teardown.Warned)), "goes at 12:00:00Z: Idle"),
        (replace(WHOLE, teardown=is_(teardown.Stuck, message="Draining has taken too long")), "has taken too long"),
        (Facts(WISH, cluster=is_(cluster.Releasing)), "its machines are being given back: Deleted"),
        (Facts(WISH, cluster=is_(cluster.Releasing, held="no Cluster API")), "no Cluster API"),
        (
            Facts(WISH, cluster=is_(cluster.Releasing, held="no Cluster API"),
                  teardown=is_(teardown.Stuck, message="Releasing has taken too long")),
            "Releasing has taken too long: no Cluster API",
        ),
        (Facts(WISH, cluster=is_(cluster.Released)), "released: Deleted"),
        (WHOLE, ""),
    ],
)  # fmt: skip
def test_each_situation_has_its_sentence(facts, told):
    assert message(facts).endswith(told)
    assert bool(message(facts)) == bool(told)


@pytest.mark.parametrize("other", [{"uid": "u0"}, {"attempt": 1}])
def test_what_was_seen_of_another_incarnation_or_attempt_is_not_shown(other):
    foreign = msgspec.structs.replace(SEEN, **other)
    (one,) = shown(Facts(WISH, cluster=is_(cluster.Provisioned), seen=foreign))["clusters"]
    assert (one["nodesReady"], one["acceleratorsReady"], one["message"]) == (0, 0, "waiting for the back end")


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
    assert computed["costUsd"] == 3.0


def test_a_deletion_shows_before_anything_has_gone():
    going = COLONY | {"metadata": COLONY["metadata"] | {"deletionTimestamp": "2026-01-01T12:00:00Z"}}
    assert shown(WHOLE, colony=going)["phase"] == "Deleting"


def test_addons_that_are_not_applied_as_asked_are_waited_for_by_name():
    for one in (put_on(addon.Applying), put_on(addon.Degraded), put_on(addon.Applied, digest="old")):
        computed = shown(replace(WHOLE, addons=(one,)))
        assert conditions(computed)["AddonsApplied"] == ("False", "Waiting", "waiting for a/driver")
    (told,) = shown(replace(WHOLE, addons=(put_on(addon.Degraded),)))["clusters"][0]["addons"]
    assert told == {"name": "driver", "phase": "Degraded", "message": "bad manifest"}


def test_what_cannot_be_followed_while_it_runs_is_refused_but_ready():
    computed = shown(replace(WHOLE, cluster=is_(cluster.Ready, refused="pools stay as they are")))
    assert conditions(computed)["Accepted"] == ("False", "Refused", "pools stay as they are")
    assert conditions(computed)["Ready"][0] == "True"


def test_the_end_is_shown_with_its_time_and_reason():
    gone = replace(WHOLE, cluster=is_(cluster.Released), teardown=is_(teardown.Gone))
    assert shown(gone)["clusters"][0]["teardown"] == {"phase": "Gone", "reason": "Idle", "at": "2026-01-01T11:00:00Z"}
    warned = replace(WHOLE, teardown=is_(teardown.Warned))
    assert shown(warned)["clusters"][0]["teardown"]["at"] == "2026-01-01T12:00:00Z"


def test_a_colony_that_cannot_be_read_says_why():
    computed = refused(COLONY, "spec.clusters is missing", NOW)
    assert (computed["phase"], computed["message"]) == ("Invalid", "spec.clusters is missing")
    assert conditions(computed) == dict.fromkeys(
        ("Accepted", "Ready"), ("False", "Invalid", "spec.clusters is missing")
    )


def test_a_status_is_the_same_however_an_api_server_writes_its_numbers_and_orders_its_fields():
    computed = shown(replace(WHOLE, cluster=is_(cluster.Ready, cost_usd=2.0)))
    assert computed["costUsd"] == 2.0
    stored = json.loads(json.dumps(computed, sort_keys=True).replace("2.0", "2"))
    assert same(computed, stored)
    assert not same(computed, stored | {"phase": "Stalled"})
    assert not same(computed, {})


def test_the_newest_attempts_that_came_to_nothing_are_shown_with_their_reasons():
    failed = [
        msgspec.structs.replace(ATTEMPT, number=n, reason="NoCapacity", message=f"none in az{n}") for n in range(9)
    ]
    waits = is_(cluster.Waiting, tried=tuple(failed))
    going = is_(cluster.Placing, tried=tuple(failed[:-1]), attempt=failed[-1])
    for state in (waits, going):
        (each,) = shown(Facts(WISH, cluster=state))["clusters"]
        told = [(one["number"], one["reason"], one["message"]) for one in each["failedAttempts"]]
        assert told == [(n, "NoCapacity", f"none in az{n}") for n in range(9 - SHOWN, 9)]


def test_what_waits_for_the_market_says_why_and_until_when():
    computed = shown(Facts(WISH, cluster=is_(cluster.Waiting, reason="NoOfferFits")))
    assert computed["message"] == "a: too dear; the market is asked again at 12:00:00Z"
    assert conditions(computed)["Ready"][1] == "NoOfferFits"

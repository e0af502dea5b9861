"""How far a cluster has come is told aspect by aspect, and never more than its owner has proven."""

import json
import re
from collections import defaultdict
from dataclasses import replace
from itertools import product

import msgspec
import pytest

from schemas import addon, cluster, teardown
from schemas.cluster import UnmetDemand
from schemas.infra import InfraSeen
from schemas.inventory import UNREADABLE, Trouble
from schemas.registry import declared
from schemas.wish import AddonRef
from services.gateway.status.colony import cluster_status
from services.gateway.status.conditions import cluster_conditions
from services.gateway.status.facts import Facts
from services.gateway.status.message import message
from services.gateway.status.previous import PreviousConditions
from tests.services.gateway.known import SEEN, WHOLE, WISH, is_, put_on

ASPECTS = (
    "Placed", "Reachable", "Schedulable", "AcceleratorsReady",
    "AddonsApplied", "Resizing", "Upgrading", "Ending", "Ready",
)  # fmt: skip
LADDER = ("Placed", "Reachable", "Schedulable", "AcceleratorsReady", "Ready")
SEENS = (
    None, SEEN, msgspec.structs.replace(SEEN, nodes=0, accelerators=0), msgspec.structs.replace(SEEN, nodes=2),
    WHOLE.seen, msgspec.structs.replace(SEEN, attempt=1),
)  # fmt: skip
INFRAS = (None, InfraSeen(cluster="train-a", uid="u1", attempt=2, message="creating"))
ADDONS = ((), (put_on(addon.Applied),), (put_on(addon.Degraded),))
TEARDOWNS = (None, is_(teardown.Armed), is_(teardown.Warned), is_(teardown.Stuck, message="too long"))
UNGROWN = is_(cluster.Ready, unmet_demand=UnmetDemand(reason="Taken", message="others hold the rest"))
STATES = (None, *(is_(kind) for kind in cluster.LIFECYCLE.states))
EVERYTHING = [
    Facts(WISH, "its name is taken"),
    *(Facts(WISH, "", *each) for each in product(STATES, TEARDOWNS, ADDONS, SEENS, INFRAS)),
]


def told(facts):
    return {kind: verdict.holds for kind, verdict in cluster_conditions(facts).items()}


def short(**fields):
    return replace(WHOLE, cluster=is_(cluster.Provisioned, **fields), seen=SEEN)


def test_every_situation_has_every_aspect_with_a_word_for_programs():
    for facts in EVERYTHING:
        found = cluster_conditions(facts)
        assert tuple(found) == ASPECTS
        assert all(re.fullmatch("[A-Z][A-Za-z]+", verdict.reason) for verdict in found.values())


def test_each_rests_on_the_one_before_it():
    for facts in EVERYTHING:
        ladder = [told(facts)[kind] for kind in LADDER if kind != "AcceleratorsReady"]
        assert ladder == sorted(ladder, reverse=True), facts


def test_what_is_ready_is_everything_and_nothing_else_is_ready():
    for facts in EVERYTHING:
        found = told(facts)
        stays = not isinstance(facts.teardown, teardown.Ending)
        has_all = found["AddonsApplied"] and isinstance(facts.cluster, cluster.Ready)
        assert found["Ready"] is (stays and has_all)
        assert not found["Ready"] or all(found[kind] for kind in LADDER)


def test_they_cost_no_write_of_their_own():
    """Whatever else the status shows decides what they are: only a change that is written anyway changes them."""
    found = defaultdict(set)
    for facts in EVERYTHING:
        shown = cluster_status(facts, PreviousConditions(3)).model_dump(mode="json", by_alias=True, exclude_none=True)
        conditions = json.dumps(shown.pop("conditions"))
        found[type(facts.cluster), json.dumps(shown)].add(conditions)  # another state has another `since`
    assert {len(each) for each in found.values()} == {1}


@pytest.mark.parametrize(
    ("facts", "holding"),
    [
        (Facts(WISH), ()),
        (Facts(WISH, cluster=is_(cluster.Waiting)), ()),
        (Facts(WISH, cluster=is_(cluster.Launching)), ("Placed",)),
        (Facts(WISH, cluster=is_(cluster.Provisioned)), ("Placed", "Reachable")),
        (short(), ("Placed", "Reachable", "AddonsApplied")),
        (
            replace(short(), seen=msgspec.structs.replace(SEEN, nodes=2, accelerators=15)),
            ("Placed", "Reachable", "Schedulable", "AddonsApplied"),
        ),
        (WHOLE, (*LADDER[:4], "AddonsApplied", "Ready")),
        (replace(WHOLE, seen=SEEN), (*LADDER[:4], "AddonsApplied", "Ready")),
        (replace(WHOLE, cluster=is_(cluster.Hibernated)), ("Placed", "Reachable", "AddonsApplied")),
        (Facts(WISH, cluster=is_(cluster.Releasing)), ()),
    ],
)
def test_a_cluster_shows_how_far_it_has_come(facts, holding):
    assert tuple(kind for kind, holds in told(facts).items() if holds) == holding


def test_while_it_is_resized_what_it_keeps_in_any_case_is_enough():
    fewer = cluster.Resizing(nodes=1, accelerators=8, until=is_(cluster.Ready).since)
    assert told(short(resizing=fewer))["AcceleratorsReady"]
    assert not told(short())["AcceleratorsReady"]


def test_one_that_is_not_heard_may_be_reachable_and_keeps_what_was_proven():
    silent = replace(WHOLE, seen=msgspec.structs.replace(WHOLE.seen, known=False))
    assert told(silent) == told(WHOLE) | {"Reachable": None, "Ready": None}
    found = cluster_conditions(silent)
    assert {found[kind].reason for kind in ("Reachable", "Ready")} == {"Unreachable"}


def test_a_cluster_that_cannot_be_read_says_so_instead_of_that_it_cannot_be_heard():
    trouble = Trouble(reason=UNREADABLE, message="odd")
    seen = msgspec.structs.replace(WHOLE.seen, known=False, degraded=(trouble,))
    verdict = cluster_conditions(replace(WHOLE, seen=seen))["Reachable"]
    assert (verdict.holds, verdict.reason, verdict.message) == (
        None,
        "Unreadable",
        "what its API answers cannot be read (odd): its nodes are shown as they were last seen",
    )
    partly = msgspec.structs.replace(seen, known=True)
    assert cluster_conditions(replace(WHOLE, seen=partly))["Reachable"].holds


def test_what_is_missing_says_why_as_the_cluster_does():
    verdict = cluster_conditions(Facts(WISH, cluster=is_(cluster.Waiting, reason="NoOfferFits")))["Placed"]
    assert (verdict.reason, verdict.message[:7]) == ("NoOfferFits", "too dea")
    assert cluster_conditions(short())["Schedulable"].message == "1 of 2 nodes, 8 of 16 accelerators ready"


def test_nodes_that_its_pods_asked_for_in_vain_are_told_with_the_reason():
    facts = replace(WHOLE, cluster=UNGROWN)
    assert told(facts) == told(WHOLE)
    verdict = cluster_conditions(facts)["Resizing"]
    assert (verdict.holds, verdict.reason, verdict.message) == (False, "Taken", "others hold the rest")


def test_addons_that_are_not_applied_as_asked_are_waited_for_by_name():
    for one in (put_on(addon.Applying, message=""), put_on(addon.Applied, digest="old")):
        verdict = cluster_conditions(replace(WHOLE, addons=(one,)))["AddonsApplied"]
        assert (verdict.holds, verdict.reason, verdict.message) == (False, "Waiting", "waiting for driver")


def test_what_people_have_to_mend_for_an_addon_is_told_with_it():
    for one in (put_on(addon.Applying), put_on(addon.Degraded)):
        verdict = cluster_conditions(replace(WHOLE, addons=(one,)))["AddonsApplied"]
        assert (verdict.holds, verdict.message) == (False, "add-on driver: bad manifest")


@pytest.mark.parametrize("kind", [addon.Applying, addon.Degraded])
def test_what_lacks_an_addon_is_not_ready_and_says_which(kind):
    verdict = cluster_conditions(replace(WHOLE, addons=(put_on(kind),)))["Ready"]
    assert (verdict.holds, verdict.reason) == (False, "AddonsNotApplied")
    assert verdict.message == "add-on driver: bad manifest"


OPTIONAL = msgspec.structs.replace(WISH, addons=(AddonRef("driver", "d1", required=False),))
GIVEN = replace(WHOLE, profile_addons=(AddonRef("base.nfd", "d2"),))


@pytest.mark.parametrize("kind", [addon.Applying, addon.Degraded])
def test_a_cluster_is_ready_without_an_addon_that_is_not_required_and_says_that_it_lacks_it(kind):
    facts = replace(WHOLE, wish=OPTIONAL, addons=(put_on(kind),))
    found = cluster_conditions(facts)
    assert found["Ready"].holds
    assert (found["AddonsApplied"].holds, message(facts)) == (False, "add-on driver: bad manifest")


def test_a_cluster_is_not_ready_without_the_required_addons_of_profiles():
    found = cluster_conditions(GIVEN)
    assert (found["Ready"].holds, found["Ready"].reason) == (False, "AddonsNotApplied")
    assert found["Ready"].message == found["AddonsApplied"].message == "waiting for base.nfd"
    applied = (*GIVEN.addons, put_on(addon.Applied, addon="base.nfd", digest="d2"))
    assert cluster_conditions(replace(GIVEN, addons=applied))["Ready"].holds


def test_what_a_cluster_waits_for_is_only_what_is_required():
    wish = msgspec.structs.replace(WISH, addons=(AddonRef("driver", "d1"), AddonRef("extra", "d2", required=False)))
    found = cluster_conditions(replace(WHOLE, wish=wish, addons=()))
    assert (found["Ready"].message, found["AddonsApplied"].message) == (
        "waiting for driver",
        "waiting for driver, extra",
    )


STEPS = (teardown.Draining, teardown.Cleaning, teardown.TeardownReleasing, teardown.Stuck)


@pytest.mark.parametrize("kind", STEPS)
def test_what_ends_is_neither_ready_nor_schedulable_and_says_why(kind):
    found = cluster_conditions(replace(WHOLE, teardown=is_(kind, reason="TimeToLive", addons=())))
    assert (found["Ending"].holds, found["Ending"].reason) == (True, declared(kind).phase)
    assert "(its time to live is over)" in found["Ending"].message
    for aspect in ("Ready", "Schedulable"):
        assert (found[aspect].holds, found[aspect].reason) == (False, declared(kind).phase)


def test_a_lent_cluster_that_is_given_back_takes_pods_as_before():
    lent = replace(WHOLE, teardown=is_(teardown.Draining, lent=True))
    assert told(lent)["Schedulable"]
    assert not told(lent)["Ready"]


def test_what_is_about_to_end_is_ready_and_says_when_it_goes():
    found = cluster_conditions(replace(WHOLE, teardown=is_(teardown.Warned)))
    assert found["Ready"].holds
    assert (found["Ending"].holds, found["Ending"].reason) == (False, "Warned")


def test_what_is_deleted_is_not_ready_even_before_its_end_has_begun():
    going = replace(WHOLE, wish=msgspec.structs.replace(WISH, deleting=True))
    found = cluster_conditions(going)
    assert (found["Ready"].holds, found["Ready"].reason) == (False, "Deleting")
    assert found["Ending"].holds

"""What a Colony shows of one cluster is what is known of that very incarnation and attempt."""

from dataclasses import replace

import msgspec
import pytest

from schemas import cluster, teardown
from schemas.infra import InfraSeen
from services.gateway.status.colony import SHOWN_ATTEMPTS, cluster_status
from services.gateway.status.facts import Facts
from services.gateway.status.previous import PreviousConditions
from tests.services.gateway.known import ATTEMPT, SEEN, WHOLE, WISH, is_


def shown(facts):
    return cluster_status(facts, PreviousConditions(3)).model_dump(mode="json", by_alias=True, exclude_none=True)


@pytest.mark.parametrize(("attempt", "url"), [(2, "https://10.0.0.1:6443"), (1, None)])
def test_the_endpoint_is_that_of_the_attempt_it_is(attempt, url):
    infra = InfraSeen(cluster="train-a", uid="u1", attempt=attempt, endpoint="https://10.0.0.1:6443")
    assert shown(replace(WHOLE, infra=infra)).get("endpoint") == url


@pytest.mark.parametrize("other", [{"uid": "u0"}, {"attempt": 1}])
def test_what_was_seen_of_another_incarnation_or_attempt_is_not_shown(other):
    foreign = msgspec.structs.replace(SEEN, **other)
    one = shown(Facts(WISH, cluster=is_(cluster.Provisioned), seen=foreign))
    assert (one["nodesReady"], one["acceleratorsReady"], one["message"]) == (0, 0, "waiting for the back end")


def test_the_end_is_shown_with_its_time_and_reason():
    gone = replace(WHOLE, cluster=is_(cluster.Released), teardown=is_(teardown.Gone))
    assert shown(gone)["teardown"] == {"phase": "Gone", "reason": "Idle", "at": "2026-01-01T11:00:00Z"}
    warned = replace(WHOLE, teardown=is_(teardown.Warned))
    assert shown(warned)["teardown"]["at"] == "2026-01-01T12:00:00Z"


def test_a_stuck_end_says_what_it_waits_for():
    stuck = is_(teardown.Stuck, message="Verifying has taken longer than 15 minutes", blocked="3 machines left")
    told = shown(replace(WHOLE, cluster=is_(cluster.Released), teardown=stuck))
    assert told["teardown"]["message"] == "Verifying has taken longer than 15 minutes: 3 machines left"


def test_the_newest_attempts_that_came_to_nothing_are_shown_with_their_reasons():
    failed = [
        msgspec.structs.replace(ATTEMPT, number=n, reason="NoCapacity", message=f"none in az{n}") for n in range(9)
    ]
    waits = is_(cluster.Waiting, failed_attempts=tuple(failed))
    going = is_(cluster.Placing, failed_attempts=tuple(failed[:-1]), attempt=failed[-1])
    for state in (waits, going):
        each = shown(Facts(WISH, cluster=state))["failedAttempts"]
        told = [(one["number"], one["reason"], one["message"]) for one in each]
        assert told == [(n, "NoCapacity", f"none in az{n}") for n in range(9 - SHOWN_ATTEMPTS, 9)]
